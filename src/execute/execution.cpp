// Starting, polling and waiting for the executions of a channel, as their owner.
#include "execute/execution.hpp"

#include <exception>
#include <ostream>
#include <utility>

#include "execute/turns.hpp"
#include "mpi/backoff.hpp"
#include "mpi/chores.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

Execution::Execution(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int channel) try {
  mpi::with_memory([&] { turns_ = Turns::of(plan, reverse, channel); }, mpi::Meanwhile::nothing);
} catch (...) {
  // All have agreed on the plan, and count on this rank.
  abandon_plan(plan, plan->communicator().rank());
}

Execution::~Execution() {
  // In a process that was forked another thread's claim would last for ever.
  if (mpi::is_forked()) return;
  try {
    if (mpi::is_alive()) {
      finish_left();
      if (in_flight()) wait();
    }
  } catch (const std::exception&) {
    // Whoever let go of the execution without waiting does not want to hear of it.
  }
  {
    const Claim claim(*turns_);
    turns_->close_borrowed();
  }
  // The list of what is active shares the plan until it is next gone through.
  if (active_count() > 0) progress();
}

const AgreedPlan& Execution::plan() const { return turns_->plan(); }

void Execution::start(const Binding& binding, Progress progress) {
  require(!in_flight(), Fault::request,
          "a request was started again before its last execution was complete; test or wait first");
  if (left_to_stream_) [[unlikely]] {
    try {
      finish_left();
    } catch (...) {
      start_at_fault();
      throw;
    }
  }
  const Claim claim(*turns_);
  turns_->start(&binding);
  listed_ = progress == Progress::by_all && turns_->wants_progress();
  if (listed_) activate(turns_);
  if (turns_->answered() && turns_->fault()) {
    if (turns_->wants_progress()) activate_to_the_end(turns_);
    std::rethrow_exception(turns_->fault());
  }
  in_flight_.store(true, std::memory_order_relaxed);
}

void Execution::start_at_fault() {
  const Claim claim(*turns_);
  turns_->start(nullptr);
  if (turns_->wants_progress()) activate_to_the_end(turns_);
}

void Execution::name_awaited(std::ostream& out) const {
  out << "an exchange planned by " << plan().forward().planner;
  if (const ReportClaim claim(*turns_); claim) turns_->name_awaited(out);
}

bool Execution::test_idle() {
  const Claim claim(*turns_);
  turns_->advance();
  return turns_->idle();
}

void Execution::wait_idle() {
  mpi::poll_until([this] { return test_idle(); },
                  [this](std::ostream& out) {
                    out << "the others' end of what has failed here: ";
                    name_awaited(out);
                  });
}

bool Execution::advance(Polls polls) {
  if (!in_flight()) return true;
  const Claim claim(*turns_);
  for (int made = 0; made < polls.times && !turns_->answered();) {
    // Messages and notices are looked for as often as if all polls were made.
    const int stands_for = turns_->tests_messages() ? 1 : polls.flags_stand_for;
    turns_->advance(stands_for);
    made += stands_for;
  }
  if (!turns_->answered()) return false;
  in_flight_.store(false, std::memory_order_relaxed);
  if (turns_->fault()) std::rethrow_exception(turns_->fault());
  return true;
}

void Execution::take_events() noexcept {
  if (const TriedClaim claim(*turns_); claim) turns_->take_events();
}

void Execution::check() {
  const TriedClaim claim(*turns_);
  if (claim && in_flight() && turns_->answered() && turns_->fault()) {
    std::rethrow_exception(turns_->fault());
  }
}

bool Execution::advance_or_leave(std::uintptr_t stream, Polls polls) {
  if (advance(polls)) return true;
  const Claim claim(*turns_);
  left_to_stream_ = turns_->leave_to(stream);
  if (!left_to_stream_) return false;
  in_flight_.store(false, std::memory_order_relaxed);
  // Others may wait for slots to be free.
  activate_to_the_end(turns_);
  return true;
}

void Execution::wait_on(std::uintptr_t stream) {
  if (!in_flight()) return;
  const auto is_left = [&](Polls polls) { return advance_or_leave(stream, polls); };
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for(is_left, [this] { return listed_; }, reason);
}

/// Waits for the GPU's part of an execution that was left to a stream. Throws the fault with which it has ended.
void Execution::finish_left() {
  if (!std::exchange(left_to_stream_, false)) return;
  in_flight_.store(true, std::memory_order_relaxed);
  wait();
}

void Execution::wait() {
  if (!in_flight()) return;
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for([this](Polls polls) { return advance(polls); }, [this] { return listed_; }, reason);
}

}  // namespace vicinal
