// Durations of spinning, yielding and sleeping. A message between cores takes about a microsecond,
// so longer spinning only helps if every rank has a core. A sleep of 50 microseconds is short
// compared to anything that has not arrived after a thousand yields.
//
// Waking up and polling takes several microseconds. If sixteen ranks of one core did so every 50
// microseconds, the rank they wait for would hardly run. So waiting ranks back off exponentially on
// shared cores: a late wake-up doubles the next sleep, a punctual one shortens it again. Sleeps
// stay short on a free core, because a large message in shared memory advances only when a rank
// polls.
#include "mpi/backoff.hpp"

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <ostream>
#include <thread>
#include <utility>

#include "base/guarded.hpp"
#include "base/log.hpp"
#include "base/no_destructor.hpp"
#include "base/setting.hpp"
#include "mpi/environment.hpp"
#include "mpi/generalized_requests.hpp"

namespace vicinal::mpi {
namespace {

/// A late nap doubles the next one; a punctual nap shortens it by this fraction. So naps grow if
/// more than one in 23 is late.
constexpr int shrink_by = 32;
/// By default, Linux wakes a thread up to 50 microseconds late even on a free core.
constexpr auto late_on_a_taken_core = std::chrono::microseconds(100);

/// Rank in the first communicator that was set up; -1 before.
std::atomic<int> first_rank = -1;

/// The waits that sleep. Never destroyed: the destructor of a static object may wait.
struct Sleepers {
  Mutex mutex;
  Wait* first VICINAL_GUARDED_BY(mutex) = nullptr;
};

Sleepers& sleepers() noexcept {
  static NoDestructor<Sleepers> all;
  return *all;
}

}  // namespace

double patience() {
  constexpr const char* key = "vicinal_report_waits";
  static const double seconds =
      read_amount(process_value(key)).value_or(read_amount(setting(key).standard).value_or(0));
  return seconds;
}

int world_rank() {
  int rank = std::max(first_rank.load(std::memory_order_relaxed), 0);
  if (!is_forked() && has_world()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

std::string name_of_rank() {
  const bool in_world = first_rank.load(std::memory_order_relaxed) < 0 || has_world();
  return "rank " + std::to_string(world_rank()) + " of " +
         (in_world ? "MPI_COMM_WORLD" : "its first communicator");
}

void note_rank(int rank) noexcept {
  int unknown = -1;
  first_rank.compare_exchange_strong(unknown, rank);
}

void Backoff::pause() {
  const int spin_pauses = hot.spins.load(std::memory_order_relaxed);
  if (pauses_ < spin_pauses) {
    ++pauses_;
  } else if (pauses_ < spin_pauses + yield_pauses) {
    ++pauses_;
    sched_yield();
  } else {
    nap();
  }
}

void Backoff::nap() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::this_thread::sleep_for(nap_);
  const bool alone = !shares_cores() && !may_share.load(std::memory_order_relaxed);
  if (naps_ == Naps::short_ones || alone) return;
  const bool is_late = Clock::now() - begin > nap_ + late_on_a_taken_core;
  nap_ = is_late ? std::min(2 * nap_, longest_nap) : std::max(nap_ - nap_ / shrink_by, first_nap);
}

void Backoff::yield_core() {
  if (shares_cores()) sched_yield();
}

void Reason::write_text(const void* context, std::ostream& out) {
  out << static_cast<const char*>(context);
}

void Wait::announce() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (!listed_) {
    since_ = now;
    doing_ = Doing::innermost();
    const Lock lock(sleepers().mutex);
    next_ = std::exchange(sleepers().first, this);
    listed_ = true;
  }
  long_wait_hook();
  try {
    // A wait for flags in shared memory seldom calls MPI, but the program's own messages may need
    // it.
    if (is_alive()) progress();
    const double limit = patience();
    if (announced_ || limit <= 0 || now - since_ < std::chrono::duration<double>(limit)) return;
    report();
    announced_ = true;
  } catch (const std::exception&) {
    // Without memory, a later pause tries again.
  }
}

void Wait::report() const {
  sign_log(world_rank());  // the wait may be for the log to be opened
  log_line(LogLevel::warn, [this](std::ostream& line) {
    name_awaited(line);
    if (doing_ != nullptr) doing_->describe_others(line);
  });
}

void Wait::leave() {
  const Lock lock(sleepers().mutex);
  Wait** link = &sleepers().first;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

void Wait::name_awaited(std::ostream& out) const {
  const auto time = std::chrono::steady_clock::now() - since_;
  out << "waits for ";
  reason_.write(out);
  if (doing_ != nullptr) out << ", in " << doing_->what();
  out << ", " << std::chrono::duration_cast<std::chrono::seconds>(time).count() << " s";
}

void Wait::describe(std::ostream& out) const {
  out << "vicinal: " << name_of_rank() << ' ';
  name_awaited(out);
  out << "\n";
}

void describe_waits(std::ostream& out) {
  // Skips the report if the lock is taken: waiting for it could deadlock.
  if (!sleepers().mutex.try_lock()) return;
  const Lock lock(sleepers().mutex, std::adopt_lock);
  for (const Wait* wait = sleepers().first; wait != nullptr; wait = wait->next()) {
    wait->describe(out);
  }
}

}  // namespace vicinal::mpi
