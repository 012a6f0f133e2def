// Waiting without blocking inside MPI. Where ranks outnumber cores, the awaited rank may need the
// core that waits for it, so waiting spins briefly (where they are known to, not at all), then
// yields, then sleeps. Every wait of the library also progresses the active plans, on which another
// rank may depend, and does a chore. And every wait can say what for: a dump asks it, and who waits long
// says so unasked.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <new>
#include <string>
#include <utility>

#include "mpi/hot.hpp"

namespace vicinal::mpi {

class Backoff {
 public:
  /// Whether sleeps become longer where others want the core.
  enum class Naps : std::uint8_t { as_cores_allow, short_ones };
  explicit Backoff(Naps naps = Naps::as_cores_allow) : naps_(naps) {}
  /// Something has happened: start again with spinning.
  void reset() { *this = Backoff(naps_); }
  /// Lets a little time pass, more with each call in a row.
  void pause();
  /// From now on, pauses of this process give the core to others at once: there are more ranks than
  /// cores.
  static void share_cores() { hot.spins.store(0, std::memory_order_relaxed); }
  [[nodiscard]] static bool shares_cores() {
    return hot.spins.load(std::memory_order_relaxed) == 0;
  }
  /// As far as is known by now, each rank has a core.
  static void have_cores() { may_share.store(false, std::memory_order_relaxed); }
  /// Offers the core to others once, where there are more ranks than cores: after a look of those who may look again and
  /// again.
  static void give_way();
  /// Whether the next pause gives the core to others.
  [[nodiscard]] bool yields() const { return pauses_ >= hot.spins.load(std::memory_order_relaxed); }
  /// Whether the next pause sleeps: nothing has happened for long.
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

/// What a wait is for, in words, said only when asked. It refers to the function that it is made of, which
/// must outlive it.
class Reason {
 public:
  /// A text that goes on after "waits for ".
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

/// What the program has called, as long as this lives: waits of the thread say it when they report. Where ranks have called
/// different functions, that tells which.
class Doing {
 public:
  /// Goes on after "in ": "the creation of a graph". `besides` writes what is known of the other ranks, each behind a "; ".
  Doing(const char* what, Reason besides)
      : what_(what), besides_(besides), around_(std::exchange(innermost_, this)) {}
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;
  ~Doing() { innermost_ = around_; }
  /// The call that waits; null for one that has no name.
  [[nodiscard]] static const Doing* innermost() { return innermost_; }
  /// What the program itself has called.
  [[nodiscard]] const char* what() const { return around_ != nullptr ? around_->what() : what_; }
  void describe_others(std::ostream& out) const { besides_.write(out); }

 private:
  static inline thread_local const Doing* innermost_ = nullptr;
  const char* what_;
  Reason besides_;
  const Doing* around_;
};

/// One wait of a thread: pauses that grow, and a voice. It stays out of the way until it sleeps. It takes no memory, and throws
/// nothing: who waits would leave others alone.
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
  /// "vicinal: rank 3 of MPI_COMM_WORLD waits for ..., 31 s".
  void describe(std::ostream& out) const;
  /// Among those that sleep.
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
  const Doing* doing_ = nullptr;  ///< known from when it sleeps
  std::chrono::steady_clock::time_point since_;
};

/// In MPI_COMM_WORLD. In a process of sessions alone, which has none, that in the first communicator that it has set up. 0 outside
/// of MPI.
[[nodiscard]] int world_rank();
/// "rank 3 of MPI_COMM_WORLD", or "rank 3 of its first communicator".
[[nodiscard]] std::string name_of_rank();
/// This process has that rank in a communicator that it sets up.
void note_rank(int rank) noexcept;

/// After how many seconds a wait says so by itself; 0 for never. What cannot be read is refused elsewhere,
/// which ranks may have to wait for.
[[nodiscard]] double patience();

/// Writes what every thread of the process that has waited for more than a moment waits for.
void describe_waits(std::ostream& out);

namespace detail {
inline void no_progress() {}
}  // namespace detail

/// Progresses every active plan of this process. The engine sets it when it is loaded; it is called
/// between polls, holds no lock of this layer, and must not throw.
inline void (*progress_hook)() = detail::no_progress;

/// Called by whoever has waited for more than a moment, now and then: answers a signal that asks for a
/// dump. Set and bound as the one above.
inline void (*long_wait_hook)() = detail::no_progress;

/// Called when MPI is about to end, more than once perhaps: no thread of the library's own runs from then on.
inline void (*stop_threads_hook)() = detail::no_progress;

/// Called once, when MPI ends: nothing is progressed from then on.
inline void (*end_hook)() = detail::no_progress;

/// How often something is polled before the core is given to others: Open MPI looks for what has come
/// over TCP at some of its polls only.
constexpr int polls_in_a_row = 8;

/// Polls until `done()` says so.
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

/// Does a step that takes memory; whether there was enough. What it throws otherwise goes on.
template <class Step>
bool has_memory_for(Step& step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// What goes on while a step waits for memory. Who has a claim must not progress what may want the same claim.
enum class Meanwhile : std::uint8_t { progress, nothing };

/// Does a step that takes memory, and on which others count: again until there is some. What it throws otherwise goes on.
template <class Step>
void with_memory(Step step, Meanwhile meanwhile = Meanwhile::progress) {
  const auto is_done = [&] { return has_memory_for(step); };
  if (is_done()) return;
  constexpr const char* reason =
      "memory for its part in what others wait for; this process has none left";
  if (meanwhile == Meanwhile::progress) return poll_until(is_done, reason);
  for (Wait wait(reason); !is_done();) wait.pause();
}

}  // namespace vicinal::mpi
