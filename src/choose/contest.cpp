// Counting, reporting, and the verdict.
#include "choose/contest.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include "choose/executions.hpp"
#include "choose/outcome.hpp"
#include "choose/trial.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

Contest::Contest(const PlanningTask& task, mpi::ConversationKey key, Lineup lineup)
    : communicator_(task.communicator),
      plan_key_(task.key),
      key_(key),
      tree_(task.neighborhood.tree),
      dependents_(task.neighborhood.dependents()),
      bias_(task.options.bias),
      wisdom_(task.options.wisdom),
      lineup_(std::move(lineup)),
      schedule_{lineup_.plans.size(), task.channels},
      times_(static_cast<std::size_t>(schedule_.measured()), untimed),
      driver_(*communicator_, key_, conversation_),
      faults_(tree_.rank, "figures", "choosing a planner") {
  conversation_.set_purpose("choosing a planner by the first executions");
  enter_dump();
}

Contest::Turn Contest::next() {
  const std::int64_t number = started_.fetch_add(1, std::memory_order_relaxed);
  if (number < schedule_.settled()) return {number, schedule_.plan(number)};
  const int verdict = verdict_.load(std::memory_order_relaxed);
  if (verdict == lost) std::rethrow_exception(fault_);
  if (verdict == unknown) return {number, std::nullopt};
  return {number, static_cast<std::size_t>(verdict)};
}

void Contest::note(std::int64_t number, std::int64_t nanoseconds) {
  if (!is_measured(number)) return;
  times_[static_cast<std::size_t>(number)] = nanoseconds;
  if (++noted_ == schedule_.measured()) report();
}

void Contest::report() {
  noted_ = schedule_.measured();
  joining_.emplace(std::move(times_), Joining::larger);
  consulting_.emplace(consult(conversation_, tree_, faults_, *joining_));
  if (!advance()) activate(shared_from_this());
}

bool Contest::advance() noexcept {
  if (!consulting_) return verdict_ != unknown;
  try {
    if (!driver_.advance(*consulting_)) return false;
    consulting_->result();
    faults_.settle();
    settle(joining_->take());
  } catch (const mpi::FaultElsewhere& error) {
    lose(std::current_exception(), error.origin());
  } catch (...) {
    lose(std::current_exception(), tree_.rank);
  }
  consulting_.reset();
  begin_what_was_put_off();
  return true;
}

void Contest::settle(Numbers times) {
  std::vector<Numbers> of_plan(schedule_.plans);
  for (std::int64_t number = 0; number < schedule_.measured(); ++number) {
    if (!schedule_.counts(number)) continue;
    of_plan[schedule_.plan(number)].push_back(times[static_cast<std::size_t>(number)]);
  }
  Numbers medians;
  for (Numbers& each : of_plan) {
    // A plan that was lost on the way is none to stay with, however quick it was.
    const bool good = each.back() != untimed;
    medians.push_back(good ? median_of(std::move(each)) : untimed);
  }
  const std::size_t best = winner(lineup_.names, medians, bias_);
  log_outcome(plan_key_, "was measured running", lineup_.names, medians, best);
  verdict_.store(static_cast<int>(best), std::memory_order_release);
  if (!lineup_.wisdom_key.empty()) {
    remember_outcome(wisdom_, lineup_.wisdom_key, lineup_.names, medians);
  }
}

/// The others may have a verdict that this rank does not know, so none of the plans can go on.
void Contest::lose(std::exception_ptr fault, int origin) noexcept {
  fault_ = std::move(fault);
  verdict_.store(lost, std::memory_order_release);
  mpi::give_notice(*communicator_, key_, origin, dependents_);
  for (const auto& plan : lineup_.plans) abandon_plan(plan, origin);
}

void Contest::begin_what_was_put_off() noexcept {
  const int verdict = verdict_.load(std::memory_order_relaxed);
  for (Executions* const member : members_) {
    if (verdict == lost) {
      member->give_up(fault_);
    } else {
      member->begin_what_was_put_off(static_cast<std::size_t>(verdict));
    }
  }
}

void Contest::enter(Executions& executions) { members_.push_back(&executions); }

void Contest::leave(Executions& executions) noexcept {
  std::erase(members_, &executions);
  if (!members_.empty()) return;
  try {
    if (noted_ < schedule_.measured() && mpi::is_alive()) report();
  } catch (...) {
    lose(std::current_exception(), tree_.rank);
  }
  lineup_.plans.clear();
}

void Contest::test() {
  if (verdict_.load(std::memory_order_acquire) != unknown) return;
  const Claim claim(*this);
  advance();
}

std::optional<std::size_t> Contest::outcome() const {
  const int verdict = verdict_.load(std::memory_order_acquire);
  const bool all_started = started_.load(std::memory_order_relaxed) >= schedule_.settled();
  if (verdict < 0 || !all_started) return std::nullopt;
  return static_cast<std::size_t>(verdict);
}

void Contest::name_awaited(std::ostream& out) {
  out << "the ranks' verdict on the quickest plan";
  const ReportClaim claim(*this);
  if (!claim || !consulting_) return;
  out << ", which waits for ";
  driver_.describe(out);
}

void Contest::describe(std::ostream& out) const {
  if (!consulting_) return;
  out << "vicinal: rank " << tree_.rank << " waits for ";
  driver_.describe(out);
  out << "\n";
}

}  // namespace vicinal
