// The list of what is active, the progress thread, the dump.
#include "execute/activity.hpp"

#include <pthread.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/setting.hpp"
#include "mpi/backoff.hpp"
#include "mpi/chores.hpp"
#include "mpi/communicator.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

/// The active ones. Whoever makes the pass has the list to itself; newcomers wait beside it.
class ActiveList {
 public:
  void add(const std::shared_ptr<Activity>& activity) {
    if (activity->listed_.exchange(true)) return;
    const std::lock_guard lock(mutex_);
    newcomers_.push_back(activity);
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  void pass() {
    if (count() == 0 || passing_.test_and_set(std::memory_order_acquire)) return;
    {
      const std::lock_guard lock(mutex_);
      active_.insert(active_.end(), newcomers_.begin(), newcomers_.end());
      newcomers_.clear();
    }
    for (std::size_t i = 0; i < active_.size();) {
      Activity& activity = *active_[i];
      if (!activity.try_claim()) {
        ++i;
        continue;
      }
      const bool over = activity.advance();
      if (over) activity.listed_.store(false);
      activity.release();
      if (!over) {
        ++i;
        continue;
      }
      count_.fetch_sub(1, std::memory_order_relaxed);
      active_[i].swap(active_.back());
      done_.push_back(std::move(active_.back()));
      active_.pop_back();
    }
    // What they hold may be the last of its kind, and let go of more: not in the middle of the pass.
    done_.clear();
    passing_.clear(std::memory_order_release);
  }

  /// From now on there are no passes; returns when the last one is over.
  void stop() {
    while (passing_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    count_.store(0, std::memory_order_relaxed);
  }

  [[nodiscard]] int count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Activity>> newcomers_;
  std::atomic<int> count_ = 0;
  std::atomic_flag passing_;
  std::vector<std::shared_ptr<Activity>> active_;  ///< these two are of whoever makes the pass
  std::vector<std::shared_ptr<Activity>> done_;
};

/// All that exist, for the dump.
class Everything {
 public:
  void add(Activity* activity) {
    const std::lock_guard lock(mutex_);
    activity->in_dump_ = true;
    activity->next_ = first_;
    if (first_ != nullptr) first_->last_ = activity;
    first_ = activity;
  }
  void remove(Activity* activity) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(activity->in_dump_, false)) return;
    if (activity->next_ != nullptr) activity->next_->last_ = activity->last_;
    (activity->last_ != nullptr ? activity->last_->next_ : first_) = activity->next_;
  }
  void describe(std::ostream& out) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return;
    for (Activity* activity = first_; activity != nullptr; activity = activity->next_) {
      if (const TriedClaim claim(*activity); claim) activity->describe(out);
    }
  }

 private:
  std::mutex mutex_;
  Activity* first_ = nullptr;
};

namespace {

// Both outlive whatever is destroyed at the end.
ActiveList& active() {
  static auto* const list = new ActiveList;
  return *list;
}

Everything& everything() {
  static auto* const all = new Everything;
  return *all;
}

/// Set by the signal that asks for a dump, answered by whoever waits or progresses.
volatile std::sig_atomic_t dump_asked = 0;

void answer_dump_signal() noexcept {
  if (dump_asked == 0) return;
  dump_asked = 0;
  try {
    std::ostringstream text;
    describe_pending(text);
    std::cerr << text.str() << std::flush;
  } catch (const std::exception&) {
    // Without memory for it there is no dump.
  }
}

constexpr const char* dump_signal_key = "vicinal_dump_signal";

/// The signal that asks for a dump, 0 where none was named, -1 where it cannot be caught.
int install_dump_signal() {
  const std::optional<std::string> text = environment_value(dump_signal_key);
  if (!text) return 0;
  const std::int64_t number = read_whole_number(*text).value_or(0);
  const bool caught = number > 0 && number < NSIG &&
                      std::signal(static_cast<int>(number), [](int) { dump_asked = 1; }) != SIG_ERR;
  return caught ? static_cast<int>(number) : -1;
}

/// The optional progress thread. It calls MPI only while something is active, or a dump is
/// asked for.
class ProgressThread {
 public:
  ProgressThread() = default;
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void start() {
    const std::lock_guard lock(mutex_);
    if (stop_ || thread_.joinable()) return;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "vicinal");
  }
  /// For good: returns when it is over.
  void stop() {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (!thread_.joinable()) return;
    // A process that was forked has this object, but not the thread.
    if (mpi::is_forked()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

 private:
  void run() {
    mpi::Backoff backoff;
    while (!stop_) {
      if (active_count() > 0) {
        backoff.reset();
        progress();
        std::this_thread::yield();
      } else {
        answer_dump_signal();
        backoff.pause();
      }
    }
  }

  std::mutex mutex_;  ///< of those who start and stop it
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// It outlives whatever is destroyed at the end, which may end MPI; the thread ends before.
ProgressThread& progress_thread() {
  static auto* const thread = new ProgressThread;
  [[maybe_unused]] static const std::unique_ptr<ProgressThread, void (*)(ProgressThread*)> at_exit(
      thread, [](ProgressThread* ending) { ending->stop(); });
  return *thread;
}

/// With the library, before anything else: the signal must not kill a rank that has not come far.
const int dump_signal = [] {
  mpi::progress_hook = [] { progress(); };
  mpi::long_wait_hook = [] { answer_dump_signal(); };
  mpi::stop_threads_hook = [] { progress_thread().stop(); };
  mpi::end_hook = [] { active().stop(); };
  return install_dump_signal();
}();

}  // namespace

Activity::~Activity() { leave_dump(); }

void Activity::enter_dump() { everything().add(this); }

void Activity::leave_dump() noexcept { everything().remove(this); }

void Activity::claim() {
  while (!try_claim()) std::this_thread::yield();
}

void activate(const std::shared_ptr<Activity>& activity) { active().add(activity); }

void activate_to_the_end(const std::shared_ptr<Activity>& activity) {
  activate(activity);
  mpi::leave_chore([activity] {
    const TriedClaim claim(*activity);
    return claim && activity->advance();
  });
}

void progress() noexcept {
  answer_dump_signal();
  active().pass();
  if (mpi::chores_left() > 0) mpi::do_chores(1);
}

int active_count() { return active().count(); }

void prepare_process() {
  if (dump_signal < 0) {
    refuse(setting(dump_signal_key), variable_of(dump_signal_key), process_value(dump_signal_key));
  }
  if (!has_progress_thread()) return;
  require(mpi::thread_multiple(), Fault::unsupported,
          "VICINAL_PROGRESS_THREAD asks for a progress thread, but MPI was initialized without "
          "MPI_THREAD_MULTIPLE; initialize it with that level, or unset the variable");
  progress_thread().start();
}

bool has_progress_thread() {
  static const bool wanted = is_yes(process_value("vicinal_progress_thread"));
  return wanted;
}

void describe_pending(std::ostream& out) {
  mpi::describe_waits(out);
  everything().describe(out);
  mpi::describe_communicators(out);
}

}  // namespace vicinal
