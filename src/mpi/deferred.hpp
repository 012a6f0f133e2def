// Work that no thread of this rank waits for. Examples are a communicator that cannot be freed
// before all its ranks have released it, and memory that another rank still reads. Deferred tasks
// are run by:
//
// - every wait, one task between two polls;
// - the progress thread, while anything is active;
// - set-up and freeing, several tasks;
// - the end of MPI, which waits a short while for all of them.
//
// A deferred task that never ends costs a poll now and then, and blocks nothing. All functions are
// thread-safe. One thread at a time runs a task, without a lock held. A task may defer further
// tasks, and destroy owners of other tasks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <utility>

namespace vicinal::mpi {

/// The variables that every poll of a wait reads, in one cache line. A rank that shares its core
/// finds each line cold when it gets the core back.
struct alignas(64) Hot {
  std::atomic<int> active = 0;            ///< what progress() advances
  std::atomic<int> spins = 32;            ///< pauses before the first that yields
  std::atomic<std::size_t> deferred = 0;  ///< tasks not done, on this rank
};
inline constinit Hot hot;

/// A deferred task that may become due later. leave() allocates nothing and calls no MPI function,
/// so an MPI callback may call it.
class DeferredTask {
 public:
  explicit DeferredTask(std::function<bool()> done) { node_.push_back(std::move(done)); }
  /// Polls the task from now on until it returns true, then destroys it. If it throws, it is polled
  /// again later. It must not wait for another rank. Call once.
  void leave() noexcept;

 private:
  std::list<std::function<bool()>> node_;
};

/// Defers a task that is due at once.
inline void defer(std::function<bool()> done) { DeferredTask(std::move(done)).leave(); }

/// Returns the number of unfinished tasks on this rank.
[[nodiscard]] inline std::size_t deferred_left() {
  return hot.deferred.load(std::memory_order_relaxed);
}

/// Polls the next tasks in order: each at most once, and at most `most`.
void run_deferred(std::size_t most);

/// Forgets all present and future tasks, when MPI ends. Returns when the tasks being polled are
/// over.
void drop_deferred();

/// Polls all tasks until none is left; returns false if that takes longer than `patience`.
bool finish_deferred(std::chrono::milliseconds patience);

}  // namespace vicinal::mpi
