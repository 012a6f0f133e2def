// Clocks, waits and short messages.
#include "calibrate/measuring.hpp"

#include <time.h>

#include <algorithm>
#include <thread>

#include "mpi/backoff.hpp"

namespace vicinal::measuring {

double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Keeping::Keeping(On cpu) {
  if (sched_getaffinity(0, sizeof before_, &before_) != 0) CPU_ZERO(&before_);
  int kept = -1;
  for (int each = 0; each < CPU_SETSIZE; ++each) {
    if (CPU_ISSET(each, &before_) && (kept < 0 || cpu == On::last)) kept = each;
  }
  if (kept < 0) return;  // there are more CPUs than fit into the set
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(kept, &one);
  sched_setaffinity(0, sizeof one, &one);
}

Keeping::~Keeping() {
  if (CPU_COUNT(&before_) > 0) sched_setaffinity(0, sizeof before_, &before_);
}

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void finish(std::span<mpi::PendingOperation> operations) {
  mpi::poll_until([&] { return mpi::test_all(operations); },
                  "another rank that measures with this one");
}

void finish_asleep(std::span<mpi::PendingOperation> operations) {
  constexpr double nap = 2e-4;  // waking up takes a hundredth of it
  while (!mpi::test_all(operations)) sleep(nap);
}

void Line::tell(std::int64_t number) const {
  mpi::PendingOperation sent = send(std::as_bytes(std::span(&number, 1)), tag_order);
  finish(sent);
}

std::int64_t Line::hear() const {
  std::int64_t number = 0;
  mpi::PendingOperation came = receive(std::as_writable_bytes(std::span(&number, 1)), tag_order);
  finish(came);
  return number;
}

double median(std::span<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::int64_t iterations_for(double seconds, double of_one) {
  constexpr double most = 100000;
  return static_cast<std::int64_t>(std::clamp(seconds / std::max(of_one, 1e-9), 1.0, most));
}

}  // namespace vicinal::measuring
