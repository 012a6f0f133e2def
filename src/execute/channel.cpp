// Starting, polling and ending the executions of a channel.
#include "execute/channel.hpp"

#include <ostream>

#include "execute/agreed_plan.hpp"
#include "mpi/backoff.hpp"
#include "mpi/environment.hpp"
#include "mpi/generalized_requests.hpp"

namespace vicinal {

namespace {

/// Polls between two checks for notices. A check costs a probe, and short executions need none.
constexpr int polls_between_notices = 1024;

/// Polls of flags between two calls that let MPI progress the program's own messages. Another rank
/// may need these before it does what this rank waits for.
constexpr int polls_between_probes = 512;

}  // namespace

Execution::Execution(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int index) try
    : channel_(plan, &plan->channel(reverse, index)) {
  channel_->enter();
} catch (...) {
  // All ranks have agreed on the plan, and depend on this one.
  abandon_plan(plan, plan->communicator().rank());
}

Channel::Channel(AgreedPlan& plan, const Plan& program,
                 const std::vector<std::shared_ptr<SlotHeader>>& headers, int index,
                 DeviceChoice choice)
    : plan_(plan),
      bound_(plan.shared_communicator(), program, headers, index, choice),
      run_(bound_) {}

std::shared_ptr<Channel> Channel::self() { return {plan_.shared_from_this(), this}; }

void Channel::bind(const Binding& binding) {
  require(!run_.in_flight(), Fault::request, "a plan was bound to other buffers while it executes");
  if (bound_.is_bound_to(binding)) return;
  bound_.choose_graph(binding);
  run_.follow_graph();
  bound_.bind(binding, run_.executions() + 1);
}

void Channel::start(const Binding& binding, Progress progress) {
  require(!in_flight(), Fault::request,
          "a request was started again before its last execution was complete; test or wait first");
  if (left_to_stream_) [[unlikely]] {
    try {
      finish_left();
    } catch (...) {
      start_after_failure();
      throw;
    }
  }
  const ActivityLock lock(*this);
  enqueue(&binding);
  const bool others_wait = wants_progress();
  listed_for_owner_ = others_wait && progress == Progress::by_all;
  if (listed_for_owner_ && !listed()) activate(self());
  if (fault_) [[unlikely]] {
    owners_.store(Owners::none, std::memory_order_relaxed);
    if (others_wait) activate_to_the_end(self());
    std::rethrow_exception(fault_);
  }
}

void Channel::start_after_failure() {
  const ActivityLock lock(*this);
  enqueue(nullptr);
  if (wants_progress()) activate_to_the_end(self());
}

void Channel::enqueue(const Binding* binding) {
  polls_ = 0;
  if (binding != nullptr) {
    owners_.store(Owners::in_progress, std::memory_order_relaxed);
    if (given_up_) return;  // fault_ is set
    if (fault_) fault_ = nullptr;
  }
  if (given_up_) return;
  try {
    if (is_idle()) return begin(binding);
    queue_.push_back(binding != nullptr ? std::optional(*binding) : std::nullopt);
  } catch (...) {
    return give_up(std::current_exception(), bound_.communicator().rank());
  }
  advance();
}

void Channel::begin_next() {
  const std::optional<Binding> binding = std::move(queue_.front());
  queue_.pop_front();
  begin(binding ? &*binding : nullptr);
}

void Channel::begin(const Binding* binding) {
  if (binding == nullptr) return run_.start_after_failure();
  try {
    bind(*binding);
    bound_.await_streams();
  } catch (...) {
    end(std::current_exception());
    return run_.start_after_failure();
  }
  runs_for_owner_ = true;
  run_.start();
}

bool Channel::advance(int polls) noexcept {
  try {
    while (!is_idle()) {
      if (!run_.in_flight()) {
        begin_next();
      } else if (!run_.poll()) {
        const int before = std::exchange(polls_, polls_ + polls);
        if (polls_ / polls_between_probes > before / polls_between_probes) {
          progress_messages_of_the_program();
        }
        if (polls_ < polls_between_notices) return false;
        polls_ = 0;
        look_for_notices();
        if (!given_up_) return false;
      } else if (std::exchange(runs_for_owner_, false)) {
        end(run_.fault() ? std::make_exception_ptr(Error(*run_.fault())) : nullptr);
      }
    }
  } catch (...) {
    give_up(std::current_exception(), bound_.communicator().rank());
  }
  return true;
}

/// Lets MPI progress the program's own messages if this channel calls no MPI function itself.
void Channel::progress_messages_of_the_program() {
  if (!run_.tests_messages()) mpi::progress(bound_.communicator().handle());
}

/// Ends the owner's execution, which may have been left to a stream.
void Channel::end(std::exception_ptr fault) noexcept {
  if (fault || fault_) fault_ = std::move(fault);
  if (in_flight()) owners_.store(Owners::over, std::memory_order_relaxed);
}

/// Gives the plan up: the state of the channel is unknown, or another rank has given it up.
void Channel::give_up(std::exception_ptr fault, int origin) noexcept {
  given_up_ = true;
  runs_for_owner_ = false;
  end(std::move(fault));
  if (run_.in_flight()) run_.abandon();
  abandon_plan(plan_.shared_from_this(), origin);
}

void Channel::look_for_notices() {
  const std::optional<Error> notice = notice_of(plan_);
  if (notice) give_up(std::make_exception_ptr(*notice), notice->origin());
}

bool Channel::take_end() {
  if (owners_.load(std::memory_order_relaxed) != Owners::over) return false;
  owners_.store(Owners::none, std::memory_order_relaxed);
  if (fault_) std::rethrow_exception(fault_);
  return true;
}

bool Channel::test(Polls polls) {
  if (!in_flight()) return true;
  const ActivityLock lock(*this);
  for (int made = 0;
       made < polls.times && owners_.load(std::memory_order_relaxed) != Owners::over;) {
    // Messages and notices are checked as often as if all polls were made.
    const int stands_for = run_.tests_messages() ? 1 : polls.flags_stand_for;
    advance(stands_for);
    made += stands_for;
  }
  return take_end();
}

void Channel::wait() {
  if (!in_flight()) return;
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for([this](Polls polls) { return test(polls); }, [this] { return listed_for_owner_; },
           reason);
}

bool Channel::test_or_leave(std::uintptr_t stream, Polls polls) {
  if (test(polls)) return true;
  const ActivityLock lock(*this);
  left_to_stream_ = runs_for_owner_ && !given_up_ && run_.in_flight() && run_.leave_to(stream);
  if (!left_to_stream_) return false;
  owners_.store(Owners::none, std::memory_order_relaxed);
  // Other ranks may wait for their slots.
  activate_to_the_end(self());
  return true;
}

void Channel::wait_on(std::uintptr_t stream) {
  if (!in_flight()) return;
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for([&](Polls polls) { return test_or_leave(stream, polls); },
           [this] { return listed_for_owner_; }, reason);
}

/// Waits for the end of an execution that was left to a stream. Throws its fault.
void Channel::finish_left() {
  if (!std::exchange(left_to_stream_, false)) return;
  {
    const ActivityLock lock(*this);
    owners_.store(runs_for_owner_ ? Owners::in_progress : Owners::over, std::memory_order_relaxed);
  }
  wait();
}

void Channel::take_events() noexcept {
  const ActivityTryLock lock(*this);
  if (!lock || !runs_for_owner_ || given_up_) return;
  try {
    run_.take_events();
  } catch (...) {
    give_up(std::current_exception(), bound_.communicator().rank());
  }
}

void Channel::check() {
  const ActivityTryLock lock(*this);
  if (lock && owners_.load(std::memory_order_relaxed) == Owners::over && fault_) {
    std::rethrow_exception(fault_);
  }
}

bool Channel::test_idle() {
  const ActivityLock lock(*this);
  advance();
  return is_idle();
}

void Channel::wait_idle() {
  mpi::poll_until([this] { return test_idle(); },
                  [this](std::ostream& out) {
                    out << "the others' end of what has failed here: ";
                    name_awaited(out);
                  });
}

void Channel::leave() noexcept {
  // In a forked process, a lock that another thread held is never released.
  if (mpi::is_forked()) return;
  try {
    if (mpi::is_alive()) {
      finish_left();
      wait();
    }
  } catch (const std::exception&) {
    // An owner that leaves without waiting does not ask for the fault.
  }
  {
    const ActivityLock lock(*this);
    owner_count_.fetch_sub(1, std::memory_order_relaxed);
    // Keeps no memory of another rank's program open, unless more executions follow.
    if (is_idle()) {
      for (FarSlot& slot : bound_.far_slots()) slot.close_borrowed();
    }
  }
  // The list of active ones shares the plan until its next pass.
  if (active_count() > 0) progress();
}

void Channel::let_go() noexcept {
  const ActivityTryLock lock(*this);
  if (!lock || owner_count_.load(std::memory_order_relaxed) > 0 || run_.in_flight()) return;
  bound_.leave_far_slots();
}

void Channel::name_awaited(std::ostream& out) {
  out << "an exchange planned by " << plan_.forward().planner;
  if (const ReportLock lock(*this); lock) run_.name_awaited(out);
}

void Channel::describe(std::ostream& out) const {
  if (given_up_ || !run_.in_flight()) return;
  const Plan& program = run_.program();
  out << "vicinal: rank " << program.rank << ": an execution of a plan by " << program.planner
      << (program.reverse ? " (reverse)" : "") << " waits for\n";
  run_.describe_pending(out);
}

}  // namespace vicinal
