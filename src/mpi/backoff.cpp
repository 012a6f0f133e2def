// How long to spin, yield and sleep. A message between cores takes about a microsecond, so spinning
// longer than a few of them only helps when every rank has a core; a sleep of 50 microseconds is
// short against anything that has not arrived after a thousand yields.
#include "mpi/backoff.hpp"

#include <sched.h>

#include <chrono>
#include <thread>

namespace vicinal::mpi {
namespace {

constexpr int yield_pauses = 1000;
constexpr auto nap = std::chrono::microseconds(50);

}  // namespace

void Backoff::pause() {
  const int spin_pauses = spins.load(std::memory_order_relaxed);
  if (pauses_ < spin_pauses) {
    ++pauses_;
  } else if (pauses_ < spin_pauses + yield_pauses) {
    ++pauses_;
    sched_yield();
  } else {
    std::this_thread::sleep_for(nap);
  }
}

bool Backoff::yields() const { return pauses_ >= spins.load(std::memory_order_relaxed); }

}  // namespace vicinal::mpi
