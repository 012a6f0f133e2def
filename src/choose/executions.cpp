// The plan of a start, and the time that its caller spends.
#include "choose/executions.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point begun) {
  const auto spent = std::chrono::steady_clock::now() - begun;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count();
}

}  // namespace

Executions::Executions(const Chosen& chosen, bool reverse, int channel, Progress progress)
    : contest_(reverse ? nullptr : chosen.contest), channel_(channel), progress_(progress) {
  const bool is_settled = contest_ != nullptr && contest_->has_settled_next();
  const auto plan = is_settled ? contest_->winner() : chosen.plan;
  each_.push_back(std::make_unique<Execution>(plan, reverse, channel));
  now_ = &**each_.front();
  if (is_settled) contest_.reset();
  if (contest_ == nullptr) return;
  const ActivityLock lock(*contest_);
  contest_->enter(*this);
}

Channel& Executions::channel_by(std::size_t plan) {
  if (each_.size() <= plan) each_.resize(plan + 1);
  auto& execution = each_[plan];
  if (!execution) execution = std::make_unique<Execution>(contest_->plan(plan), false, channel_);
  return **execution;
}

Executions::~Executions() {
  if (contest_ == nullptr || mpi::is_forked()) return;
  try {
    if (mpi::is_alive()) {
      await_decision();
      if (in_flight()) wait();
    }
  } catch (const std::exception&) {
    // An owner that leaves without waiting does not ask for the fault.
  }
  const ActivityLock lock(*contest_);
  contest_->leave(*this);
}

void Executions::start(const Binding* binding, std::optional<std::int64_t> number) {
  if (contest_ != nullptr && begin(binding, number)) return;
  if (contest_ != nullptr) {
    // All later executions use this plan, so the others are released.
    std::erase_if(each_, [this](const auto& it) { return it == nullptr || &**it != &now(); });
    contest_.reset();
  }
  if (binding != nullptr) {
    now().start(*binding, progress_);
  } else {
    now().start_after_failure();
  }
}

/// Returns false if the contest is over, and all later executions use the present plan.
bool Executions::begin(const Binding* binding, std::optional<std::int64_t> given) {
  const ActivityLock lock(*contest_);
  if (given) contest_->start(*given);
  const std::int64_t number = given ? *given : contest_->next();
  const auto plan = contest_->plan_for(number);
  if (!plan) {
    waiting_.push_back({number, binding != nullptr ? std::optional(*binding) : std::nullopt});
    if (binding != nullptr) late_.store(Late::postponed, std::memory_order_release);
    return true;
  }
  Channel& channel = channel_by(*plan);
  now_.store(&channel, std::memory_order_release);
  if (contest_->is_settled(number)) {
    contest_->leave(*this);
    return false;
  }
  if (binding == nullptr) {
    channel.start_after_failure();
    contest_->note(number, untimed);
    return true;
  }
  const auto begun = std::chrono::steady_clock::now();
  try {
    channel.start(*binding, progress_);
  } catch (...) {
    contest_->note(number, untimed);
    throw;
  }
  number_ = contest_->is_measured(number) ? number : -1;
  spent_ns_ = nanoseconds_since(begun);
  waiting_since_.reset();
  return true;
}

void Executions::begin_postponed() noexcept {
  while (!waiting_.empty()) {
    const auto& [number, binding] = waiting_.front();
    const auto plan = contest_->plan_for(number);
    if (!plan) return;
    std::exception_ptr fault;
    try {
      Channel& channel = channel_by(*plan);
      now_.store(&channel, std::memory_order_release);
      if (binding) {
        channel.start(*binding, progress_);
      } else {
        channel.start_after_failure();
      }
    } catch (...) {
      fault = std::current_exception();
    }
    // The time of a postponed start says nothing about the plan.
    contest_->note(number, untimed);
    if (binding) end_late(fault);
    waiting_.pop_front();
  }
}

void Executions::give_up(const std::exception_ptr& fault) noexcept {
  waiting_.clear();
  end_late(fault);
}

/// Ends the postponement of the owner's start, if any: it has taken place, or failed.
void Executions::end_late(const std::exception_ptr& fault) noexcept {
  if (late_.load(std::memory_order_relaxed) != Late::postponed) return;
  late_fault_ = fault;
  late_.store(fault ? Late::failed : Late::none, std::memory_order_release);
}

void Executions::throw_late_fault() {
  if (late_.load(std::memory_order_acquire) != Late::failed) return;
  late_.store(Late::none, std::memory_order_relaxed);
  std::rethrow_exception(std::exchange(late_fault_, nullptr));
}

bool Executions::is_postponed() {
  if (late_.load(std::memory_order_acquire) != Late::postponed) return false;
  contest_->test();
  return late_.load(std::memory_order_acquire) == Late::postponed;
}

bool Executions::advance(Polls polls) {
  if (contest_ == nullptr) return now().test(polls);
  if (is_postponed()) return false;
  throw_late_fault();
  if (number_ < 0) return now().test(polls);
  // The time between polls counts, too, if the caller waits.
  if (waiting_since_) spent_ns_ += nanoseconds_since(*waiting_since_);
  const bool over = timed([&] { return now().test(polls); });
  waiting_since_.reset();
  if (polls.in_wait) waiting_since_ = std::chrono::steady_clock::now();
  return over;
}

void Executions::check() {
  if (late_.load(std::memory_order_acquire) == Late::failed) std::rethrow_exception(late_fault_);
  now().check();
}

void Executions::wait() {
  if (contest_ == nullptr) return now().wait();
  await_decision();
  throw_late_fault();
  timed([this] { return now().wait(), true; });
}

void Executions::wait_on(std::uintptr_t stream) {
  await_decision();
  if (late_.load(std::memory_order_acquire) == Late::failed || number_ >= 0) return wait();
  now().wait_on(stream);
}

/// Adds the duration of `act` to the execution's time. Reports that time to the contest once `act`
/// returns true or throws.
template <class Act>
bool Executions::timed(Act act) {
  if (number_ < 0) return act();
  const auto begun = std::chrono::steady_clock::now();
  const auto note = [this](std::int64_t time) {
    const ActivityLock lock(*contest_);
    contest_->note(std::exchange(number_, -1), time);
  };
  try {
    const bool over = act();
    spent_ns_ += nanoseconds_since(begun);
    if (over) note(spent_ns_);
    return over;
  } catch (...) {
    note(untimed);
    throw;
  }
}

/// Progresses the contest; returns whether no start waits for a decision.
bool Executions::have_all_begun() {
  if (contest_ == nullptr) return true;
  const ActivityLock lock(*contest_);
  contest_->advance();
  return waiting_.empty();
}

void Executions::await_decision() {
  if (contest_ == nullptr) return;
  mpi::poll_until([this] { return have_all_begun(); },
                  [this](std::ostream& out) { name_awaited(out); });
}

bool Executions::test_idle() {
  if (!have_all_begun()) return false;
  return std::ranges::all_of(
      each_, [](const auto& execution) { return !execution || (*execution)->test_idle(); });
}

void Executions::wait_idle() {
  await_decision();
  for (const auto& execution : each_) {
    if (execution) (*execution)->wait_idle();
  }
}

void Executions::name_awaited(std::ostream& out) const {
  if (late_.load(std::memory_order_acquire) == Late::postponed) {
    contest_->name_awaited(out);
  } else {
    now().name_awaited(out);
  }
}

}  // namespace vicinal
