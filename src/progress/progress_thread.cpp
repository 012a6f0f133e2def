// Starting and stopping the progress thread.
#include "progress/progress_thread.hpp"

#include <pthread.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "mpi/own_progress.hpp"
#include "progress/activity.hpp"
#include "progress/dump.hpp"

namespace vicinal {

namespace {

/// Calls MPI only if something is active.
class ProgressThread {
 public:
  ProgressThread() = default;
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void start() {
    const Lock lock(mutex_);
    if (stop_ || thread_.joinable()) return;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "vicinal");
  }
  /// Stops the thread and waits for its end. Set-up in a later session starts another one.
  void stop() {
    const Lock lock(mutex_);
    stop_ = true;
    if (!thread_.joinable()) return;
    // A forked process has this object, but not the thread.
    if (mpi::is_forked()) {
      thread_.detach();
    } else {
      thread_.join();
    }
    stop_ = false;
  }

 private:
  void run() {
    // Short sleeps: its polls are short, and a program may depend on it soon.
    mpi::Backoff backoff(mpi::Backoff::Naps::short_ones);
    while (!stop_) {
      if (active_count() == 0) {
        answer_dump_signal();
        backoff.pause();
      } else {
        const mpi::Inside inside;
        progress();
        backoff.reset();
        std::this_thread::yield();
      }
    }
  }

  Mutex mutex_;  ///< for starting and stopping
  std::atomic<bool> stop_ = false;
  std::thread thread_ VICINAL_GUARDED_BY(mutex_);
};

/// Stops the thread before MPI may end.
ProgressThread& progress_thread() {
  static NoDestructor<ProgressThread> thread;
  [[maybe_unused]] static const std::unique_ptr<ProgressThread, void (*)(ProgressThread*)> at_exit(
      &*thread, [](ProgressThread* ending) { ending->stop(); });
  return *thread;
}

std::atomic<bool> needed = false;  ///< independent of the environment

[[maybe_unused]] const bool thread_hooked = [] {
  mpi::stop_threads_hook = [] { progress_thread().stop(); };
  return true;
}();

}  // namespace

void prepare_process() {
  check_dump_signal();
  if (!has_progress_thread()) return;
  require(mpi::thread_multiple(), Fault::unsupported,
          "VICINAL_PROGRESS_THREAD asks for a progress thread, but MPI was initialized without "
          "MPI_THREAD_MULTIPLE; initialize it with that level, or unset the variable");
  progress_thread().start();
}

bool has_progress_thread() {
  static const bool asked_for = is_yes(process_value("vicinal_progress_thread"));
  return asked_for || needed;
}

void need_progress_thread(bool is_needed) { needed = is_needed; }

}  // namespace vicinal
