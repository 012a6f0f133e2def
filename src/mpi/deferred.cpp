// A queue: who polls a chore takes it out, and puts it back at the end unless it is done. Neither takes memory, so none is
// lost.
#include "mpi/chores.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <list>
#include <thread>
#include <utility>

#include "base/guarded.hpp"
#include "base/no_destructor.hpp"
#include "mpi/backoff.hpp"

namespace vicinal::mpi {
namespace {

struct Queue {
  Mutex mutex;
  std::list<std::function<bool()>> waiting VICINAL_GUARDED_BY(mutex);
  int polled VICINAL_GUARDED_BY(mutex) = 0;       ///< how many are out, being polled
  bool closed VICINAL_GUARDED_BY(mutex) = false;  ///< what comes is kept, and never polled
};

/// What is left at the end of the process may own what must not be destroyed then.
Queue& queue() {
  static NoDestructor<Queue> instance;
  return *instance;
}

/// False where there was none to be had.
bool do_next_chore() {
  std::list<std::function<bool()>> chore;
  {
    const Lock lock(queue().mutex);
    if (queue().closed || queue().waiting.empty()) return false;
    chore.splice(chore.end(), queue().waiting, queue().waiting.begin());
    ++queue().polled;
  }
  bool done = false;
  try {
    done = chore.front()();
  } catch (const std::exception&) {
    // Without memory, it is tried again.
  }
  if (done) chore.clear();
  const Lock lock(queue().mutex);
  --queue().polled;
  if (!done) {
    queue().waiting.splice(queue().waiting.end(), chore);
  } else if (!queue().closed) {
    hot.chores.fetch_sub(1, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace

void Chore::leave() noexcept {
  const Lock lock(queue().mutex);
  queue().waiting.splice(queue().waiting.end(), node_);
  if (!queue().closed) hot.chores.fetch_add(1, std::memory_order_relaxed);
}

void do_chores(std::size_t most) {
  const std::size_t rounds = std::min(most, chores_left());
  for (std::size_t i = 0; i < rounds && do_next_chore(); ++i) {
  }
}

bool finish_chores(std::chrono::milliseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  Backoff backoff;
  while (chores_left() > 0) {
    if (std::chrono::steady_clock::now() - begin > patience) return false;
    do_chores(std::numeric_limits<std::size_t>::max());
    progress_hook();
    backoff.pause();
  }
  return true;
}

void drop_chores() {
  bool all_in = false;
  while (!all_in) {
    {
      const Lock lock(queue().mutex);
      queue().closed = true;
      hot.chores.store(0, std::memory_order_relaxed);
      all_in = queue().polled == 0;
    }
    if (!all_in) std::this_thread::yield();
  }
}

}  // namespace vicinal::mpi
