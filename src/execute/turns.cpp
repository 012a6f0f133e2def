// Beginning and ending the executions of a channel.
#include "execute/turns.hpp"

#include <ostream>

#include "mpi/collectives.hpp"
#include "mpi/drive.hpp"

namespace vicinal {

namespace {

/// How often whoever waits for an execution looks for notices: once in so many polls of it, since the look costs a probe, and
/// nobody has given up a plan whose executions end soon.
constexpr int polls_between_notices = 1024;

/// Where flags alone are polled, MPI is let work on the program's own messages once in so many. Another rank may wait for
/// these before it does what this one waits for; then this one waits for long.
constexpr int polls_between_probes = 512;

}  // namespace

std::shared_ptr<Turns> Turns::of(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int index) {
  return plan->channel(reverse, index).turns([&] {
    auto turns = std::make_shared<Turns>(plan, reverse, index);
    turns->enter_dump();
    return turns;
  });
}

void Turns::let_mpi_work() {
  if (!run_.tests_messages()) mpi::progress(plan_->communicator().handle());
}

void Turns::start(const Binding* binding) {
  if (given_up_) return;  // answered already, with the fault that it was given up for
  polls_ = 0;
  if (binding != nullptr) {
    require(answered_, Fault::internal, "two owners execute in one channel at once");
    answered_ = false;
    if (fault_) fault_ = nullptr;
  }
  try {
    if (idle()) return begin(binding);
    queue_.push_back(binding != nullptr ? std::optional(*binding) : std::nullopt);
  } catch (...) {
    return give_up(std::current_exception());
  }
  advance();
}

bool Turns::advance(int polls) noexcept {
  try {
    while (!idle()) {
      if (!run_.in_flight()) {
        begin_next();
      } else if (!run_.poll()) {
        const int before = std::exchange(polls_, polls_ + polls);
        if (polls_ / polls_between_probes > before / polls_between_probes) let_mpi_work();
        if (polls_ < polls_between_notices) return false;
        polls_ = 0;
        look_for_notices();
        if (!given_up_) return false;
      } else if (std::exchange(owners_, false)) {
        answered_ = true;
        if (run_.fault()) fault_ = std::make_exception_ptr(Error(*run_.fault()));
      }
    }
  } catch (...) {
    give_up(std::current_exception());
  }
  return true;
}

void Turns::take_events() noexcept {
  if (!owners_ || given_up_) return;
  try {
    run_.take_events();
  } catch (...) {
    give_up(std::current_exception());
  }
}

void Turns::begin_next() {
  const std::optional<Binding> binding = std::move(queue_.front());
  queue_.pop_front();
  begin(binding ? &*binding : nullptr);
}

void Turns::begin(const Binding* binding) {
  try {
    if (binding != nullptr) channel_.prepare(*binding);
  } catch (...) {
    answer(std::current_exception());
    run_.start_at_fault();
    return;
  }
  owners_ = binding != nullptr;
  if (owners_) {
    run_.start();
  } else {
    run_.start_at_fault();
  }
}

void Turns::answer(std::exception_ptr fault) {
  answered_ = true;
  fault_ = std::move(fault);
}

/// Something below has failed that leaves the channel in no known state: the plan is lost.
void Turns::give_up(std::exception_ptr fault) noexcept {
  given_up_ = true;
  answer(std::move(fault));
  if (run_.in_flight()) run_.abandon();
  abandon_plan(plan_, plan_->communicator().rank());
}

void Turns::look_for_notices() {
  const std::optional<mpi::FaultElsewhere> notice = notice_of(*plan_);
  if (!notice) return;
  run_.abandon();
  given_up_ = true;
  answer(std::make_exception_ptr(*notice));
  abandon_plan(plan_, notice->origin());
}

void Turns::describe(std::ostream& out) const {
  if (!run_.in_flight()) return;
  out << "vicinal: rank " << program_.rank << ": an execution of a plan by " << program_.planner
      << (program_.reverse ? " (reverse)" : "") << " waits for\n";
  run_.describe_pending(out);
}

}  // namespace vicinal
