// Waiting without blocking inside MPI. Where ranks outnumber cores, the awaited rank may need the
// core that waits for it, so waiting spins briefly (where they are known to, not at all), then
// yields, then sleeps. Every wait of the library also progresses the active plans, on which another
// rank may depend, and does a chore.
#pragma once

#include <atomic>

#include "mpi/chores.hpp"

namespace vicinal::mpi {

class Backoff {
 public:
  /// Something has happened: start again with spinning.
  void reset() { pauses_ = 0; }
  /// Lets a little time pass, more with each call in a row.
  void pause();
  /// From now on, pauses of this process give the core to others at once: there are more ranks than
  /// cores.
  static void share_cores() { spins.store(0, std::memory_order_relaxed); }
  /// Whether the next pause gives the core to others.
  [[nodiscard]] bool yields() const;

 private:
  static inline std::atomic<int> spins = 32;  ///< pauses before the first that yields
  int pauses_ = 0;
};

namespace detail {
inline void no_progress() {}
}  // namespace detail

/// Progresses every active plan of this process. The engine sets it when it is loaded; it is called
/// between polls, holds no lock of this layer, and must not throw.
inline void (*progress_hook)() = detail::no_progress;

/// How often something is polled before the core is given to others: Open MPI looks for what has come
/// over TCP at some of its polls only.
constexpr int polls_in_a_row = 8;

/// Polls until `done()` says so.
template <class Done>
void poll_until(Done&& done) {
  Backoff backoff;
  while (true) {
    for (int poll = 0; poll < polls_in_a_row; ++poll) {
      if (done()) return;
    }
    progress_hook();
    if (chores_left() > 0) do_chores(1);
    backoff.pause();
  }
}

}  // namespace vicinal::mpi
