// The list of active ones.
#include "progress/activity.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/backoff.hpp"
#include "mpi/deferred.hpp"
#include "mpi/environment.hpp"
#include "mpi/own_progress.hpp"
#include "progress/dump.hpp"

namespace vicinal {

namespace {

std::atomic<bool> goes_on_inside_mpi = false;

bool progress_from_mpi();

}  // namespace

/// A linked list of the active ones. The links are members of the activities, so neither activation
/// nor a pass allocates. The thread that makes the pass owns the list; newcomers have a list of
/// their own.
class ActiveList {
 public:
  void add(const std::shared_ptr<Activity>& activity) noexcept {
    if (activity->listed_.exchange(true)) return;
    {
      const Lock lock(mutex_);
      activity->next_active_ = std::exchange(newcomers_, activity);
      mpi::hot.active.fetch_add(1, std::memory_order_relaxed);
    }
    if (goes_on_inside_mpi.load(std::memory_order_relaxed)) {
      mpi::call_from_progress(progress_from_mpi);
    }
  }

  void pass() noexcept {
    if (active_count() == 0 || passing_.test_and_set(std::memory_order_acquire)) return;
    take_newcomers();
    std::shared_ptr<Activity> done;
    for (std::shared_ptr<Activity>* at = &active_; *at != nullptr;) {
      Activity& activity = **at;
      if (!activity.try_lock()) {
        at = &activity.next_active_;
        continue;
      }
      const bool over = activity.advance();
      if (!over) {
        activity.unlock();
        at = &activity.next_active_;
        continue;
      }
      // Removed before another thread may add the activity again.
      std::shared_ptr<Activity> gone = std::exchange(*at, std::move(activity.next_active_));
      activity.listed_.store(false);
      activity.unlock();
      mpi::hot.active.fetch_sub(1, std::memory_order_relaxed);
      gone->next_done_ = std::move(done);
      done = std::move(gone);
    }
    // Outside of the pass: destroying the last reference to an activity may free further objects.
    while (done != nullptr) done = std::move(done->next_done_);
    passing_.clear(std::memory_order_release);
  }

  /// Prevents passes from now on; returns when the last one is over.
  void stop() {
    while (passing_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    mpi::hot.active.store(0, std::memory_order_relaxed);
  }

 private:
  void take_newcomers() noexcept {
    const Lock lock(mutex_);
    while (newcomers_ != nullptr) {
      std::shared_ptr<Activity> first = std::exchange(newcomers_, newcomers_->next_active_);
      first->next_active_ = std::exchange(active_, first);
    }
  }

  Mutex mutex_;
  std::shared_ptr<Activity> newcomers_ VICINAL_GUARDED_BY(mutex_);
  std::atomic_flag passing_;
  std::shared_ptr<Activity> active_;  ///< of the thread that makes the pass
};

namespace {

/// Allocates nothing, because its first user may be out of memory.
ActiveList& active() noexcept {
  static NoDestructor<ActiveList> list;
  return *list;
}

bool progress_from_mpi() {
  if (active_count() == 0) return false;
  if (const mpi::Alone alone; alone) progress();
  return true;
}

[[maybe_unused]] const bool activity_hooked = [] {
  mpi::progress_hook = [] { progress(); };
  mpi::end_hook = [] { active().stop(); };
  return true;
}();

}  // namespace

Activity::~Activity() { leave_dump(); }

void Activity::lock() {
  while (!try_lock()) std::this_thread::yield();
}

bool Activity::try_lock(std::chrono::steady_clock::time_point end) {
  if (try_lock()) return true;
  const auto is_late = [end] { return std::chrono::steady_clock::now() >= end; };
  if (is_late()) return false;
  // Time in which this thread had no core does not count as patience.
  constexpr int least_tries = 50;
  for (int tries = 1; !try_lock(); ++tries) {
    if (tries >= least_tries && is_late()) return false;
    // The owner of the lock may need this core.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

namespace {

thread_local std::optional<std::chrono::steady_clock::time_point> end_of_report;

}  // namespace

Reporting::Reporting() : is_outermost_(!end_of_report) {
  if (is_outermost_) end_of_report = std::chrono::steady_clock::now() + patience;
}

Reporting::~Reporting() {
  if (is_outermost_) end_of_report.reset();
}

std::chrono::steady_clock::time_point Reporting::end() {
  return end_of_report.value_or(std::chrono::steady_clock::time_point::min());
}

void detail::list(const std::shared_ptr<Activity>& activity) noexcept { active().add(activity); }

void activate_to_the_end(const std::shared_ptr<Activity>& activity) noexcept try {
  activate(activity);
  if (activity->set_deferred(true)) return;
  mpi::defer([activity] {
    const ActivityTryLock lock(*activity);
    if (!lock || !activity->advance()) return false;
    activity->set_deferred(false);
    return true;
  });
} catch (const std::exception&) {
  activity->set_deferred(false);
}

void progress() noexcept {
  if (mpi::is_forked()) return;  // the parent owns what the processes share
  answer_dump_signal();
  active().pass();
  if (mpi::deferred_left() > 0) mpi::run_deferred(1);
}

bool progress_inside_mpi() {
  if (!mpi::can_call_from_progress()) return false;
  goes_on_inside_mpi = true;
  return true;
}

}  // namespace vicinal
