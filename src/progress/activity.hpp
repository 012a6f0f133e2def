// Activities in progress in this process. A relayed message needs its leader, a negotiation its
// ranks, and a queued call its predecessors. So every test, every wait and every call to progress()
// advances all activities on which other ranks may depend. The cost follows the number of active
// ones.
//
// One thread at a time advances an activity, and holds its lock. A thread waits for a lock only if
// it needs that activity, or for a short time if it reports.
//
// Locks have this order: call queue; call; contest or replan; execution (channel) or negotiation;
// leaves. Leaves are a plan's channels, the list of new active ones, and the list of all
// activities. One thread at a time makes the pass over the active ones; other threads do not wait
// for it.
#pragma once

#include <atomic>
#include <chrono>
#include <iosfwd>
#include <memory>

#include "mpi/backoff.hpp"
#include "mpi/deferred.hpp"

namespace vicinal {

class Activity {
 public:
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity();

  /// Does what can be done now; returns true if nothing is left to do. Requires the lock. Never
  /// waits; keeps its faults for the owner.
  virtual bool advance() noexcept = 0;
  /// Writes what it waits for, in whole lines; nothing if it is not in progress. Requires the lock.
  virtual void describe(std::ostream& out) const = 0;

  /// Adds a complete object to dumps (dump.hpp), if it is not there. By one thread at a time.
  void enter_dump();

  void lock();
  bool try_lock(std::chrono::steady_clock::time_point end);
  bool try_lock() { return !locked_.test_and_set(std::memory_order_acquire); }
  void unlock() { locked_.clear(std::memory_order_release); }
  /// Returns whether it is in the list of active ones; the next pass removes it once it is over.
  [[nodiscard]] bool listed() const { return listed_.load(std::memory_order_relaxed); }
  /// Records whether a deferred task holds it (activate_to_the_end()); returns the previous value.
  bool set_deferred(bool is_one) { return is_deferred_.exchange(is_one); }

 protected:
  /// Removes it from dumps. Call at the beginning of a destructor.
  void leave_dump() noexcept;

 private:
  friend class ActiveList;
  friend class Everything;

  std::atomic_flag locked_;
  std::atomic<bool> listed_ = false;  ///< in the list of active ones
  std::shared_ptr<Activity> next_active_;
  std::shared_ptr<Activity> next_done_;  ///< found to be over in a pass
  std::atomic<bool> is_deferred_ = false;
  bool in_dump_ = false;      ///< by the thread that enters, and by the destructor
  Activity* next_ = nullptr;  ///< list of all activities, under its lock
  Activity* last_ = nullptr;
};

class ActivityLock {
 public:
  explicit ActivityLock(Activity& activity) : activity_(activity) { activity_.lock(); }
  ActivityLock(const ActivityLock&) = delete;
  ActivityLock& operator=(const ActivityLock&) = delete;
  ~ActivityLock() { activity_.unlock(); }

 private:
  Activity& activity_;
};

/// Holds the lock if no other thread does.
class ActivityTryLock {
 public:
  explicit ActivityTryLock(Activity& activity) : activity_(activity), held_(activity.try_lock()) {}
  /// Tries again and again until `end`.
  ActivityTryLock(Activity& activity, std::chrono::steady_clock::time_point end)
      : activity_(activity), held_(activity.try_lock(end)) {}
  ActivityTryLock(const ActivityTryLock&) = delete;
  ActivityTryLock& operator=(const ActivityTryLock&) = delete;
  ~ActivityTryLock() {
    if (held_) activity_.unlock();
  }
  explicit operator bool() const { return held_; }

 private:
  Activity& activity_;
  bool held_;
};

/// Marks the thread as reporting while its outermost Reporting lives. A report retries locks, since
/// the progress thread holds one only briefly. It stops after `patience` in all, because the thread
/// may hold a lock itself, or another lock's owner may wait for it.
class Reporting {
 public:
  static constexpr std::chrono::milliseconds patience{200};

  Reporting();
  Reporting(const Reporting&) = delete;
  Reporting& operator=(const Reporting&) = delete;
  ~Reporting();
  [[nodiscard]] static std::chrono::steady_clock::time_point end();

 private:
  const bool is_outermost_;
};

/// A lock for reports.
class ReportLock {
 public:
  explicit ReportLock(Activity& activity) : lock_(activity, Reporting::end()) {}
  explicit operator bool() const { return bool{lock_}; }

 private:
  const Reporting reporting_;
  const ActivityTryLock lock_;
};

namespace detail {
void list(const std::shared_ptr<Activity>& activity) noexcept;
}

/// Makes progress() advance the activity until nothing is left to do. Call it with the lock held,
/// or before other threads know the activity.
inline void activate(const std::shared_ptr<Activity>& activity) noexcept {
  if (!activity->listed()) detail::list(activity);
}

/// As activate(), for an activity that only other ranks may wait for. A deferred task holds it,
/// too, so that the end of MPI gives it time. Does without that task if it fails to allocate.
void activate_to_the_end(const std::shared_ptr<Activity>& activity) noexcept;

/// Advances every active one.
void progress() noexcept;

/// Returns the number of active ones. With no other one, a caller need progress only its own.
[[nodiscard]] inline int active_count() { return mpi::hot.active.load(std::memory_order_relaxed); }

/// Lets active ones progress also while the program waits in any function of MPI. Returns false if
/// this MPI cannot. Every entry into the library must hold a counted `mpi::Inside` from before this
/// call on.
bool progress_inside_mpi();

/// Number of polls in a row in a wait. While only flags are polled, one poll counts as
/// `flags_stand_for` polls.
struct Polls {
  int times = 1;
  int flags_stand_for = 1;
  bool in_wait = false;  ///< the caller does nothing else until the end
};

/// Polls one activity until `done(polls)` returns true, then yields, then sleeps; progresses all
/// other active ones. `listed()`: returns whether the activity is in the list of active ones.
template <class Done, class Listed>
void wait_for(Done&& done, Listed&& listed, mpi::Reason reason) {
  mpi::Wait wait(reason);
  while (true) {
    // With nothing else to progress, it polls a few times in a row.
    const int others = active_count() - (listed() ? 1 : 0);
    const bool alone = others <= 0;
    const int times = alone ? mpi::polls_in_a_row : 1;
    // Once the wait yields, flags seldom change before other ranks have had the core.
    if (done(Polls{times, wait.yields() ? times : 1, true})) return;
    if (!alone || mpi::deferred_left() > 0) progress();
    wait.pause();
  }
}

}  // namespace vicinal
