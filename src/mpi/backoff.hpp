// Waiting without blocking inside MPI. If ranks outnumber cores, the awaited rank may need the
// waiting rank's core. So a wait spins briefly (not at all if ranks are known to share cores), then
// yields, then sleeps.
//
// Every wait of the library also progresses the active plans, on which another rank may depend, and
// runs a deferred task. Every wait can describe what it waits for: a dump asks for it, and a long
// wait reports it unasked.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <new>
#include <string>
#include <utility>

#include "mpi/deferred.hpp"

namespace vicinal::mpi {

class Backoff {
 public:
  /// Selects whether sleeps become longer if other ranks want the core.
  enum class Naps : std::uint8_t { as_cores_allow, short_ones };
  explicit Backoff(Naps naps = Naps::as_cores_allow) : naps_(naps) {}
  /// Starts again with spinning, after an event.
  void reset() { *this = Backoff(naps_); }
  /// Lets a little time pass, more with each call in a row.
  void pause();
  /// Makes the pauses of this process yield the core at once: there are more ranks than cores.
  static void share_cores() { hot.spins.store(0, std::memory_order_relaxed); }
  [[nodiscard]] static bool shares_cores() {
    return hot.spins.load(std::memory_order_relaxed) == 0;
  }
  /// Records that, as far as known, each rank has a core.
  static void have_cores() { may_share.store(false, std::memory_order_relaxed); }
  /// Yields the core once if there are more ranks than cores. For callers that may test again and
  /// again.
  static void yield_core();
  /// Returns whether the next pause yields the core.
  [[nodiscard]] bool yields() const { return pauses_ >= hot.spins.load(std::memory_order_relaxed); }
  /// Returns whether the next pause sleeps, after a long time without an event.
  [[nodiscard]] bool sleeps() const {
    return pauses_ >= hot.spins.load(std::memory_order_relaxed) + yield_pauses;
  }

 private:
  static constexpr int yield_pauses = 1000;
  static constexpr std::chrono::nanoseconds first_nap = std::chrono::microseconds(50);
  static constexpr std::chrono::nanoseconds longest_nap = std::chrono::milliseconds(1);

  void nap();

  static inline std::atomic<bool> may_share = true;
  Naps naps_;
  int pauses_ = 0;
  std::chrono::nanoseconds nap_ = first_nap;
};

/// Describes what a wait is for, in words that are written only on request. Refers to the function
/// it was constructed from, which must outlive it.
class Reason {
 public:
  /// A text that completes "waits for ".
  Reason(const char* text) : context_(text), write_(write_text) {}
  /// A function that writes such a text to a stream.
  template <std::invocable<std::ostream&> Write>
  Reason(const Write& write)
      : context_(&write), write_([](const void* context, std::ostream& out) {
          (*static_cast<const Write*>(context))(out);
        }) {}
  void write(std::ostream& out) const { write_(context_, out); }

 private:
  static void write_text(const void* context, std::ostream& out);

  const void* context_;
  void (*write_)(const void*, std::ostream&);
};

/// Names the call of the program that this thread is in, as long as the object lives. Reports of
/// waits include it, and so show if ranks have called different functions.
class Doing {
 public:
  /// `what` completes "in ": "the creation of a graph". `besides` writes what is known of the other
  /// ranks, each after a "; ".
  Doing(const char* what, Reason besides)
      : what_(what), besides_(besides), around_(std::exchange(innermost_, this)) {}
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  ~Doing() { innermost_ = around_; }
  /// The call that waits; null for one without a name.
  [[nodiscard]] static const Doing* innermost() { return innermost_; }
  /// Name of the outermost call, which is the program's own.
  [[nodiscard]] const char* what() const { return around_ != nullptr ? around_->what() : what_; }
  void describe_others(std::ostream& out) const { besides_.write(out); }

 private:
  static inline thread_local const Doing* innermost_ = nullptr;
  const char* what_;
  Reason besides_;
  const Doing* around_;
};

/// One wait of a thread: back-off, and a report when it takes long. Costs little until it sleeps.
/// Allocates nothing and throws nothing, so that other ranks are not left waiting.
class Wait {
 public:
  explicit Wait(Reason reason) : reason_(reason) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;
  ~Wait() {
    if (listed_) leave();
  }
  void pause() noexcept {
    if (backoff_.sleeps()) announce();
    backoff_.pause();
  }
  [[nodiscard]] bool yields() const { return backoff_.yields(); }
  /// Writes "vicinal: rank 3 of MPI_COMM_WORLD waits for ..., 31 s".
  void describe(std::ostream& out) const;
  /// Next of the waits that sleep.
  [[nodiscard]] const Wait* next() const { return next_; }

 private:
  void announce() noexcept;
  void report() const;
  void name_awaited(std::ostream& out) const;
  void leave();

  Reason reason_;
  Backoff backoff_;
  bool listed_ = false;
  bool announced_ = false;
  Wait* next_ = nullptr;
  const Doing* doing_ = nullptr;  ///< set when the wait first sleeps
  std::chrono::steady_clock::time_point since_;
};

/// Returns the rank in MPI_COMM_WORLD. A process with sessions only has none: then the rank in the
/// first communicator it has set up. 0 outside of MPI.
[[nodiscard]] int world_rank();
/// Returns "rank 3 of MPI_COMM_WORLD", or "rank 3 of its first communicator".
[[nodiscard]] std::string name_of_rank();
/// Records the rank of this process in a communicator that it sets up.
void note_rank(int rank) noexcept;

/// Returns the seconds after which a wait reports itself; 0 for never. An unreadable setting counts
/// as the default here. The check that rejects it may itself wait for other ranks.
[[nodiscard]] double patience();

/// Writes what each thread of the process waits for, if it has waited for more than a moment.
void describe_waits(std::ostream& out);

namespace detail {
inline void no_progress() {}
}  // namespace detail

/// Progresses every active plan of this process. The engine sets it when it is loaded. It is called
/// between polls, must hold no lock of this layer, and must not throw.
inline void (*progress_hook)() = detail::no_progress;

/// Called now and then during a long wait: answers a signal that asks for a dump. Set by the
/// engine, with the same obligations as progress_hook.
inline void (*long_wait_hook)() = detail::no_progress;

/// Called when MPI is about to end, perhaps more than once: stops the library's own threads.
inline void (*stop_threads_hook)() = detail::no_progress;

/// Called once, when MPI ends: nothing is progressed from then on.
inline void (*end_hook)() = detail::no_progress;

/// Number of polls before a pause. Open MPI looks for messages over TCP only at some of its polls.
constexpr int polls_in_a_row = 8;

/// Polls until `done()` returns true; progresses active plans between polls.
template <class Done>
void poll_until(Done&& done, Reason reason = "the other ranks of its communicator") {
  Wait wait(reason);
  while (true) {
    for (int poll = 0; poll < polls_in_a_row; ++poll) {
      if (done()) return;
    }
    progress_hook();
    wait.pause();
  }
}

}  // namespace vicinal::mpi
