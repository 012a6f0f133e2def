// What is under way in this process, and how it progresses. A relayed message needs its leader, a
// negotiation its ranks, a call in a queue its turn: so every test and every wait in the library, and
// every call to progress(), does what can be done now for everything that others may depend on, at a cost
// that follows what is active. Each activity is advanced by one thread at a time, which holds its claim;
// no thread waits for another's claim unless it wants the same activity, or reports, and then not for long.
//
// Locks are taken in this order: the claim of a call, that of the execution or negotiation that it waits
// for, then who drives a channel, then leaves (a plan's channels, the list of what has become active, the list of what exists). The pass over the
// active ones is made by one thread at a time, and others do not wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <iosfwd>
#include <memory>

#include "mpi/backoff.hpp"
#include "mpi/chores.hpp"

namespace vicinal {

class Activity {
 public:
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity();

  /// Does what can be done now; true once there is nothing more to do. With the claim held; never
  /// waits, and keeps its faults for whoever asks.
  virtual bool advance() noexcept = 0;
  /// Says what it waits for, in whole lines; nothing where it is not under way. With the claim held.
  virtual void describe(std::ostream& out) const = 0;

  /// From now on dumps (dump.hpp) ask it. Once it is whole; again does nothing. By one thread at a time.
  void enter_dump();

  void claim();
  bool try_claim(std::chrono::steady_clock::time_point end);
  bool try_claim() { return !claimed_.test_and_set(std::memory_order_acquire); }
  void release() { claimed_.clear(std::memory_order_release); }
  /// Whether the list of what is active has it still; the next pass lets go of it once it is over.
  [[nodiscard]] bool listed() const { return listed_.load(std::memory_order_relaxed); }
  /// From now on a chore has it (activate_to_the_end), or none has; whether one had it before.
  bool set_chore(bool is_one) { return is_a_chore_.exchange(is_one); }

 protected:
  /// For the beginning of a destructor: from now on no dump asks it anything.
  void leave_dump() noexcept;

 private:
  friend class ActiveList;
  friend class Everything;

  std::atomic_flag claimed_;
  std::atomic<bool> listed_ = false;  ///< among the active ones
  std::shared_ptr<Activity> next_active_;
  std::shared_ptr<Activity> next_done_;  ///< among those that a pass has found to be over
  std::atomic<bool> is_a_chore_ = false;
  bool in_dump_ = false;      ///< of who enters, and of the destructor
  Activity* next_ = nullptr;  ///< among all, under their lock
  Activity* last_ = nullptr;
};

class Claim {
 public:
  explicit Claim(Activity& activity) : activity_(activity) { activity_.claim(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { activity_.release(); }

 private:
  Activity& activity_;
};

/// A claim for whoever can do without: there is none where another thread has it.
class TriedClaim {
 public:
  explicit TriedClaim(Activity& activity) : activity_(activity), held_(activity.try_claim()) {}
  /// Tried again and again until then.
  TriedClaim(Activity& activity, std::chrono::steady_clock::time_point end)
      : activity_(activity), held_(activity.try_claim(end)) {}
  TriedClaim(const TriedClaim&) = delete;
  TriedClaim& operator=(const TriedClaim&) = delete;
  ~TriedClaim() {
    if (held_) activity_.release();
  }
  explicit operator bool() const { return held_; }

 private:
  Activity& activity_;
  bool held_;
};

/// While the outermost of a thread lives, it reports: it tries claims, since the progress thread has one for a moment only, if again
/// and again, but for no longer in all than this, since it may have some itself, or a lock that who has one waits for.
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

/// A claim for whoever reports.
class ReportClaim {
 public:
  explicit ReportClaim(Activity& activity) : claim_(activity, Reporting::end()) {}
  explicit operator bool() const { return bool{claim_}; }

 private:
  const Reporting reporting_;
  const TriedClaim claim_;
};

namespace detail {
void list(const std::shared_ptr<Activity>& activity) noexcept;
}

/// From now on progress() advances it, until it has nothing more to do. With the claim held, or before
/// others know of it. Never throws, nor does the next, since it is under way: what that adds to it is left out where there is
/// no memory for that.
inline void activate(const std::shared_ptr<Activity>& activity) noexcept {
  if (!activity->listed()) detail::list(activity);
}

/// The same, of what nobody waits for on this rank, and others may: the end of MPI gives it some time.
void activate_to_the_end(const std::shared_ptr<Activity>& activity) noexcept;

/// Advances every active one. Never throws.
void progress() noexcept;

/// How many are active: nothing need be progressed but one's own where there is no other.
[[nodiscard]] inline int active_count() { return mpi::hot.active.load(std::memory_order_relaxed); }

/// From now on what is active goes on while the program waits in any function of MPI's, and not in calls of the
/// library alone. False where this MPI has no way to do so. All that enters the library must be `mpi::Inside`, and
/// counted, from before on.
bool progress_inside_mpi();

/// How often whoever waits looks in a row, and for how many of these looks one stands while nothing but flags is looked at.
struct Polls {
  int times = 1;
  int flags_stand_for = 1;
  bool in_wait = false;  ///< the caller does nothing else until it is over
};

/// Polls one activity until `done(polls)`, then yields, then sleeps, progressing whatever else is active. `listed()`:
/// whether it is among the active ones itself.
template <class Done, class Listed>
void wait_for(Done&& done, Listed&& listed, mpi::Reason reason) {
  mpi::Wait wait(reason);
  while (true) {
    // Who has nothing else to progress looks a few times in a row.
    const int others = active_count() - (listed() ? 1 : 0);
    const bool alone = others <= 0;
    const int times = alone ? mpi::polls_in_a_row : 1;
    // Where the core is given to others, flags seldom change before those have run.
    if (done(Polls{times, wait.yields() ? times : 1, true})) return;
    if (!alone || mpi::chores_left() > 0) progress();
    wait.pause();
  }
}

}  // namespace vicinal
