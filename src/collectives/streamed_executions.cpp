#include "collectives/streamed_executions.hpp"

#include <ostream>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// Polls of an execution from one look at the clock to the next.
constexpr int polls_between_looks = 4096;

}  // namespace

StreamedExecutions::StreamedExecutions(StreamedOwner& owner, std::unique_ptr<StreamGate> gate)
    : owner_(&owner), gate_(std::move(gate)) {
  enter_dump();
}

void StreamedExecutions::begin_from(std::uintptr_t stream) {
  const auto is_near = [this, stream](Polls) {
    const Claim claim(*this);
    advance();
    // What begins at fault opens the gate for none of a graph's.
    return due_ - begun_ < most_ahead && (not_asked_.none() || !gate_->is_capturing(stream));
  };
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  if (!is_captured()) wait_for(is_near, [this] { return listed(); }, reason);
  // Without the claim, here and below: a stream that is full has its caller wait, perhaps for a gate to be opened.
  gate_->ask_from(stream);
  const Claim claim(*this);
  captured_ = gate_->is_captured();
  if (!captured_) ++due_;
  awaits_end_ = true;
  note_state();
}

void StreamedExecutions::begin_at_fault() {
  const Claim claim(*this);
  not_asked_.set(++due_ % most_ahead);
  note_state();
}

bool StreamedExecutions::take_over(std::uintptr_t stream) {
  if (!gate_->hold(stream, due_ + 1)) return false;
  const Claim claim(*this);
  begun_ = ++due_;
  running_ = true;
  note_state();
  return true;
}

bool StreamedExecutions::end_on(std::uintptr_t stream) {
  if (!gate_->hold(stream, due_)) return false;
  const Claim claim(*this);
  awaits_end_ = false;
  note_state();
  return true;
}

std::exception_ptr StreamedExecutions::take_fault() {
  const Claim claim(*this);
  const std::exception_ptr fault = std::exchange(fault_, nullptr);
  note_state();
  return fault;
}

bool StreamedExecutions::test() {
  const Claim claim(*this);
  if (owner_ != nullptr) advance();
  require(
      !captured_ || !awaits_end_, Fault::request,
      "the beginning of an exchange is part of a graph, and its end is waited for by the process; "
      "vicinal_wait_on_stream makes that part of the graph, too");
  if (running_ || (!captured_ && begun_ != due_)) return false;
  awaits_end_ = false;
  const std::exception_ptr fault = std::exchange(fault_, nullptr);
  note_state();
  if (fault) std::rethrow_exception(fault);
  return true;
}

void StreamedExecutions::finish() {
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for([this](Polls) { return test(); }, [this] { return listed(); }, reason);
}

void StreamedExecutions::end() noexcept {
  try {
    if (mpi::is_alive()) finish();
  } catch (const std::exception&) {
    // Whoever lets go of it does not want to hear of it.
  }
  // What a stream waits for it is not to wait for in vain. Gone with this thread, and not with the list of what is active, for
  // which nobody is to wait.
  std::unique_ptr<StreamGate> gate;
  const Claim claim(*this);
  const bool was_running = std::exchange(running_, false);
  if (captured_ && was_running) gate_->open();
  for (; !captured_ && opened_ != due_; ++opened_) gate_->open();
  owner_ = nullptr;
  watch_.reset();
  beside_.reset();
  gate = std::move(gate_);
}

bool StreamedExecutions::advance() noexcept {
  if (owner_ == nullptr) return true;
  try {
    if (!running_) begin_next();
    if (running_ && owner_->advance_execution()) conclude();
  } catch (...) {
    note(std::current_exception());
    conclude();
  }
  if (running_) report_long_wait();
  return !goes_on();
}

/// Begins what a stream has asked for, if any has, or never will.
void StreamedExecutions::begin_next() {
  if (!captured_ && begun_ == due_) return;
  const std::size_t next = (begun_ + 1) % most_ahead;
  const bool was_not_left = !captured_ && not_asked_.test(next);
  std::exception_ptr lost;
  try {
    if (!was_not_left && !gate_->was_asked()) return;
  } catch (const std::exception&) {
    lost = std::current_exception();
  }
  if (was_not_left) not_asked_.reset(next);
  ++begun_;
  running_ = true;
  note_state();
  if (!was_not_left && !lost) return owner_->begin_execution();
  owner_->begin_execution_at_fault();
  if (lost) std::rethrow_exception(lost);
  conclude();  // the user has been told
}

/// Well or not: no stream is to wait for what will not come.
void StreamedExecutions::conclude() {
  running_ = false;
  polls_ = 0;
  reported_ = false;
  gate_->open();
  if (!captured_) ++opened_;
  note_state();
}

void StreamedExecutions::note_state() {
  const bool going_on = goes_on();
  busy_ = going_on || awaits_end_ || fault_ != nullptr;
  has_fault_ = fault_ != nullptr;
  in_flight_ = awaits_end_ || (captured_ && (running_ || fault_ != nullptr));
  const auto count = [](auto& counted, bool is_so) {
    if (!is_so) {
      counted.reset();
    } else if (!counted) {
      counted.emplace();
    }
  };
  count(beside_, going_on);
  count(watch_, going_on && !running_);
}

void StreamedExecutions::note(const std::exception_ptr& fault) noexcept {
  if (!fault_) fault_ = fault;
  try {
    std::rethrow_exception(fault);
  } catch (const std::exception& error) {
    log_line(LogLevel::warn, [&](std::ostream& line) {
      line
          << "an exchange that a stream of a GPU has begun or waits for has failed, and the stream "
             "goes on without its data: "
          << error.what();
    });
  }
}

void StreamedExecutions::report_long_wait() {
  if (++polls_ % polls_between_looks != 0 || reported_) return;
  const auto now = std::chrono::steady_clock::now();
  if (polls_ == polls_between_looks) since_ = now;
  const double limit = mpi::patience();
  if (limit <= 0 || now - since_ < std::chrono::duration<double>(limit)) return;
  reported_ = true;
  log_line(LogLevel::warn, [&](std::ostream& line) {
    line << "a stream of a GPU waits for ";
    owner_->name_awaited_by_execution(line);
    line << ", " << static_cast<long>(limit) << " s";
  });
}

void StreamedExecutions::write_awaited(std::ostream& out) const {
  if (running_ && owner_ != nullptr) return owner_->name_awaited_by_execution(out);
  out << "a stream of a GPU to get to the beginning of an exchange";
}

void StreamedExecutions::name_awaited(std::ostream& out) {
  if (const ReportClaim claim(*this); claim) {
    write_awaited(out);
  } else {
    out << "an exchange that a stream of a GPU begins";
  }
}

void StreamedExecutions::describe(std::ostream& out) const {
  if (owner_ == nullptr || (!running_ && (captured_ || begun_ == due_))) return;
  out << "vicinal: a stream of a GPU waits for ";
  write_awaited(out);
  out << "\n";
}

}  // namespace vicinal
