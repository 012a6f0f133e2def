// The list of executions is an array of entries that only grows, so that polling all of them takes no
// lock: an entry is claimed by a flag of its own.
#include "execute/execution.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <ostream>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/drive.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

struct ProgressEntry {
  std::atomic_flag claimed;
  std::atomic<bool> active = false;  ///< in flight, and others may depend on it
  Channel* channel = nullptr;        ///< guarded by the claim
  bool complete = false;             ///< likewise, as the next two
  std::exception_ptr error;
  const Plan* plan = nullptr;
  ProgressEntry* next_free = nullptr;

  void claim() {
    while (claimed.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  bool try_claim() { return !claimed.test_and_set(std::memory_order_acquire); }
  void release() { claimed.clear(std::memory_order_release); }
};

namespace {

class Claim {
 public:
  explicit Claim(ProgressEntry& entry) : entry_(entry) { entry_.claim(); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { entry_.release(); }

 private:
  ProgressEntry& entry_;
};

class EntryList {
 public:
  ProgressEntry* add() {
    const std::lock_guard lock(mutex_);
    if (free_ == nullptr) grow();
    return std::exchange(free_, free_->next_free);
  }
  void remove(ProgressEntry* entry) {
    const std::lock_guard lock(mutex_);
    entry->next_free = std::exchange(free_, entry);
  }
  template <class Visit>
  void for_each(Visit visit) {
    const std::size_t blocks = blocks_in_use_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < blocks; ++i) {
      for (ProgressEntry& entry : *blocks_[i]) visit(entry);
    }
  }

 private:
  using Block = std::array<ProgressEntry, 64>;

  void grow() {
    const std::size_t number = blocks_in_use_.load();
    require(number < blocks_.size(), Fault::memory, "more than ", blocks_.size() * 64,
            " executions exist at once; free requests that are no longer needed");
    blocks_[number] = std::make_unique<Block>();
    for (ProgressEntry& entry : *blocks_[number]) entry.next_free = std::exchange(free_, &entry);
    blocks_in_use_.store(number + 1, std::memory_order_release);
  }

  std::mutex mutex_;
  ProgressEntry* free_ = nullptr;
  std::array<std::unique_ptr<Block>, 4096> blocks_;
  std::atomic<std::size_t> blocks_in_use_ = 0;
};

EntryList& entries() {
  static auto* const list = new EntryList;  // outlives whatever is destroyed at the end
  return *list;
}

struct Notes {
  std::mutex mutex;
  std::unordered_set<const PendingNote*> live;
};

Notes& notes() {
  static auto* const all = new Notes;  // outlives whatever is destroyed at the end
  return *all;
}

/// How many executions in flight others may depend on.
std::atomic<int> active_executions = 0;

/// Polls under a claim that the caller holds.
void poll(ProgressEntry& entry) {
  if (entry.complete || entry.error) return;
  try {
    entry.complete = entry.channel->poll();
  } catch (...) {
    entry.error = std::current_exception();
  }
}

/// Set by the signal that asks for a dump, heeded by whoever waits.
volatile std::sig_atomic_t dump_asked = 0;

void install_dump_signal() {
  const char* text = std::getenv("VICINAL_DUMP_SIGNAL");
  if (text == nullptr || *text == '\0') return;
  int number = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, number);
  require(error == std::errc() && stopped == end && number > 0 &&
              std::signal(number, [](int) { dump_asked = 1; }) != SIG_ERR,
          Fault::argument, "VICINAL_DUMP_SIGNAL is '", text,
          "', but the number of a signal that can be caught is expected");
}

/// The optional progress thread. It calls MPI only while an execution is in flight.
class ProgressThread {
 public:
  ProgressThread() : thread_([this] { run(); }) {}
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;
  ~ProgressThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  void run() {
    mpi::Backoff backoff;
    while (!stop_) {
      if (active_executions.load(std::memory_order_relaxed) > 0) {
        backoff.reset();
        progress();
        std::this_thread::yield();
      } else {
        backoff.pause();
      }
    }
  }

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace

Execution::Execution(std::shared_ptr<AgreedPlan> plan, bool reverse, int channel)
    : plan_(std::move(plan)), channel_(plan_->channel(reverse, channel)), entry_(entries().add()) {
  const Claim claim(*entry_);
  entry_->channel = &channel_;
  entry_->plan = reverse ? &plan_->reverse() : &plan_->forward();
}

Execution::~Execution() {
  try {
    if (in_flight_ && mpi::is_alive()) wait();
  } catch (const Error&) {
    // Whoever let go of the execution without waiting does not want to hear of it.
  }
  {
    const Claim claim(*entry_);
    if (entry_->active.exchange(false)) --active_executions;
    entry_->channel = nullptr;
    entry_->error = nullptr;
  }
  entries().remove(entry_);
}

void Execution::start(const Binding& binding) {
  require(!in_flight_, Fault::request,
          "a request was started again before its last execution was complete; test or wait first");
  const Claim claim(*entry_);
  channel_.bind(binding);
  entry_->complete = false;
  entry_->error = nullptr;
  channel_.start();
  in_flight_ = true;
  polls_ = 0;
  if (channel_.relays()) {
    entry_->active.store(true, std::memory_order_relaxed);
    active_executions.fetch_add(1, std::memory_order_relaxed);
  }
}

bool Execution::test() {
  if (!in_flight_) return true;
  return poll(1);
}

bool Execution::poll(int times) {
  {
    const Claim claim(*entry_);
    for (int i = 0; i < times && !entry_->complete && !entry_->error; ++i) vicinal::poll(*entry_);
    if (entry_->complete || entry_->error) {
      finish();
      if (entry_->error) std::rethrow_exception(std::exchange(entry_->error, nullptr));
      return true;
    }
  }
  polls_ += times;
  if (polls_ >= polls_between_notices) heed();
  return false;
}

void Execution::wait() {
  if (!in_flight_) return;
  mpi::Backoff backoff;
  const int own = channel_.relays() ? 1 : 0;
  while (true) {
    // Who has nothing else to progress keeps its claim for a few polls.
    const bool alone = active_executions.load(std::memory_order_relaxed) <= own;
    if (poll(alone ? mpi::polls_in_a_row : 1)) return;
    if (!alone) progress();
    backoff.pause();
  }
}

void Execution::heed() {
  polls_ = 0;
  try {
    heed_notices(plan_);
  } catch (const mpi::FaultElsewhere&) {
    const Claim claim(*entry_);
    finish();
    channel_.abandon();
    throw;
  }
}

void Execution::finish() {
  in_flight_ = false;
  if (channel_.relays()) {
    entry_->active.store(false, std::memory_order_relaxed);
    active_executions.fetch_sub(1, std::memory_order_relaxed);
  }
}

void heed_notices(const std::shared_ptr<AgreedPlan>& plan) {
  if (dump_asked != 0) {
    dump_asked = 0;
    describe_pending(std::cerr);
  }
  // A rank that failed after this one had its plan will never start; it has said so.
  plan->communicator().mailbox().collect();
  try {
    for (const mpi::Notice notice : {mpi::notice_left, mpi::notice_ended}) {
      mpi::heed_notices(plan->communicator(), plan->key(), notice);
    }
  } catch (const mpi::FaultElsewhere& error) {
    // Whoever waits for what this rank would have relayed waits in vain as well.
    mpi::give_notice(plan->communicator(), plan->key(), mpi::notice_ended, error.origin(),
                     plan->company());
    // Messages may still arrive: their memory must outlive the program's interest in them.
    new std::shared_ptr<AgreedPlan>(plan);
    throw;
  }
}

void progress() noexcept {
  entries().for_each([](ProgressEntry& entry) {
    if (!entry.active.load(std::memory_order_relaxed) || !entry.try_claim()) return;
    if (entry.channel != nullptr && entry.active.load(std::memory_order_relaxed)) poll(entry);
    entry.release();
  });
}

void prepare_process() {
  static const bool asked = [] {
    mpi::progress_hook = [] {
      if (active_executions.load(std::memory_order_relaxed) > 0) progress();
    };
    install_dump_signal();
    const char* text = std::getenv("VICINAL_PROGRESS_THREAD");
    return text != nullptr && std::string_view(text) != "" && std::string_view(text) != "0";
  }();
  if (!asked) return;
  require(mpi::thread_multiple(), Fault::unsupported,
          "VICINAL_PROGRESS_THREAD asks for a progress thread, but MPI was initialized without "
          "MPI_THREAD_MULTIPLE; initialize it with that level, or unset the variable");
  static ProgressThread thread;
}

PendingNote::PendingNote(std::function<void(std::ostream&)> describe)
    : describe_(std::move(describe)) {
  const std::lock_guard lock(notes().mutex);
  notes().live.insert(this);
}

PendingNote::~PendingNote() {
  const std::lock_guard lock(notes().mutex);
  notes().live.erase(this);
}

void describe_pending(std::ostream& out) {
  entries().for_each([&](ProgressEntry& entry) {
    if (!entry.try_claim()) return;
    if (entry.channel != nullptr && entry.channel->in_flight()) {
      out << "vicinal: rank " << entry.plan->rank << ": an execution of a plan by "
          << entry.plan->planner << (entry.plan->reverse ? " (reverse)" : "") << " waits for\n";
      entry.channel->describe_pending(out);
    }
    entry.release();
  });
  mpi::describe_communicators(out);
  const std::lock_guard lock(notes().mutex);
  for (const PendingNote* note : notes().live) note->describe(out);
}

}  // namespace vicinal
