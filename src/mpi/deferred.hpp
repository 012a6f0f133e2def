// What is still to be done when nobody on this rank waits for it: a communicator that cannot be freed
// before all its ranks have let go of theirs, memory that another rank still reads. Whoever waits for
// anything does one chore between two looks, and so does the progress thread while something is active or owed; set-up and
// freeing do several; the end of MPI waits a short while for all of them. A chore that never ends costs a look now and then, and hinders nobody.
//
// Any thread may call any of this. A chore is run by one thread at a time, under no lock, and may itself
// do all that anyone may: wait, leave further chores, let go of what owns others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <utility>

#include "mpi/hot.hpp"

namespace vicinal::mpi {

/// A deferred task that may become due later. Leaving it then takes no memory and calls nobody, as is needed in a callback of MPI's.
class Chore {
 public:
  explicit Chore(std::function<bool()> done) { node_.push_back(std::move(done)); }
  /// Polled from now on until it returns true, then destroyed. Where it throws, it is polled again later. It must not wait
  /// for another rank. Once.
  void leave() noexcept;

 private:
  std::list<std::function<bool()>> node_;
};

/// The same for a task that is due at once.
inline void leave_chore(std::function<bool()> done) { Chore(std::move(done)).leave(); }

/// How many are not done, on this rank.
[[nodiscard]] inline std::size_t chores_left() {
  return hot.chores.load(std::memory_order_relaxed);
}

/// Polls the next ones in turn: each at most once, and at most so many.
void do_chores(std::size_t most);

/// Forgets those that are left, and those to come: MPI ends. Returns when the one being polled is over.
void drop_chores();

/// Polls all until none is left; false where that takes longer than `patience`.
bool finish_chores(std::chrono::milliseconds patience);

}  // namespace vicinal::mpi
