// A queue: a thread takes a task out to poll it, and puts it back at the end unless it is done.
// Neither step allocates, so no task is lost.
#include "mpi/deferred.hpp"

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
  int polled VICINAL_GUARDED_BY(mutex) = 0;       ///< tasks being polled
  bool closed VICINAL_GUARDED_BY(mutex) = false;  ///< new tasks are kept, and never polled
};

/// Never destroyed: tasks left at the end of the process may own objects that must not be destroyed
/// then.
Queue& queue() {
  static NoDestructor<Queue> instance;
  return *instance;
}

/// Returns false if there was no task.
bool run_next_deferred() {
  std::list<std::function<bool()>> task;
  {
    const Lock lock(queue().mutex);
    if (queue().closed || queue().waiting.empty()) return false;
    task.splice(task.end(), queue().waiting, queue().waiting.begin());
    ++queue().polled;
  }
  bool done = false;
  try {
    done = task.front()();
  } catch (const std::exception&) {
    // Without memory, a later poll tries again.
  }
  if (done) task.clear();
  const Lock lock(queue().mutex);
  --queue().polled;
  if (!done) {
    queue().waiting.splice(queue().waiting.end(), task);
  } else if (!queue().closed) {
    hot.deferred.fetch_sub(1, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace

void DeferredTask::leave() noexcept {
  const Lock lock(queue().mutex);
  queue().waiting.splice(queue().waiting.end(), node_);
  if (!queue().closed) hot.deferred.fetch_add(1, std::memory_order_relaxed);
}

void run_deferred(std::size_t most) {
  const std::size_t rounds = std::min(most, deferred_left());
  for (std::size_t i = 0; i < rounds && run_next_deferred(); ++i) {
  }
}

bool finish_deferred(std::chrono::milliseconds patience) {
  const auto begin = std::chrono::steady_clock::now();
  Backoff backoff;
  while (deferred_left() > 0) {
    if (std::chrono::steady_clock::now() - begin > patience) return false;
    run_deferred(std::numeric_limits<std::size_t>::max());
    progress_hook();
    backoff.pause();
  }
  return true;
}

void drop_deferred() {
  bool all_in = false;
  while (!all_in) {
    {
      const Lock lock(queue().mutex);
      queue().closed = true;
      hot.deferred.store(0, std::memory_order_relaxed);
      all_in = queue().polled == 0;
    }
    if (!all_in) std::this_thread::yield();
  }
}

}  // namespace vicinal::mpi
