// Starting, polling and ending the executions of a channel. What is under way is shared with the list of
// what is active: it may have to go on after its owner has lost interest, for the others' sake.
#include "execute/execution.hpp"

#include <deque>
#include <exception>
#include <ostream>
#include <utility>

#include "mpi/backoff.hpp"
#include "mpi/chores.hpp"
#include "mpi/collectives.hpp"
#include "mpi/drive.hpp"
#include "mpi/environment.hpp"

namespace vicinal {

namespace {

/// How often whoever waits looks for notices: once in so many polls, since the look costs a probe.
constexpr int polls_between_notices = 512;

/// Where flags alone are polled, MPI is let work on the program's own messages once in so many.
constexpr int polls_between_probes = 128;

}  // namespace

/// The executions of one channel, one after the other. All with the claim held, but for what never changes.
class Execution::Turns final : public Activity {
 public:
  Turns(std::shared_ptr<AgreedPlan> plan, bool reverse, int channel)
      : plan_(std::move(plan)),
        program_(reverse ? plan_->reverse() : plan_->forward()),
        channel_(plan_->channel(reverse, channel)),
        run_(channel_.run()) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() override { leave_dump(); }

  [[nodiscard]] const AgreedPlan& plan() const { return *plan_; }

  bool advance() noexcept override { return advance(1); }
  /// With a poll that stands for so many, which would find no more.
  bool advance(int polls) noexcept;
  void take_events() noexcept;
  void describe(std::ostream& out) const override;
  void name_awaited(std::ostream& out) const { run_.name_awaited(out); }

  /// Begins an execution, with these buffers or at fault; where one for the others' sake is still under
  /// way, after it.
  void start(const Binding* binding);
  /// Whether the owner's execution is over.
  [[nodiscard]] bool answered() const { return answered_; }
  [[nodiscard]] bool idle() const { return given_up_ || (!run_.in_flight() && queue_.empty()); }
  /// Whether others may depend on its being advanced.
  [[nodiscard]] bool wants_progress() const {
    return !idle() && (run_.relays() || run_.at_fault() || !queue_.empty());
  }
  /// Whether the next advance looks for messages; else for flags alone.
  [[nodiscard]] bool tests_messages() const { return run_.tests_messages(); }
  /// What the owner's execution has ended with, if not well.
  [[nodiscard]] std::exception_ptr fault() const { return fault_; }

 private:
  /// Where MPI is not called otherwise, the program's own messages still need it now and then.
  void let_mpi_work() {
    if (!run_.tests_messages()) mpi::progress(plan_->communicator().handle());
  }
  void begin_next();
  void begin(const Binding* binding);
  void answer(std::exception_ptr fault);
  void give_up(std::exception_ptr fault) noexcept;
  /// Looks whether another rank has given up the plan, which ends all of its executions.
  void look_for_notices();

  std::shared_ptr<AgreedPlan> plan_;
  const Plan& program_;
  Channel& channel_;
  Run& run_;
  std::deque<std::optional<Binding>> queue_;  ///< to begin, in order; at fault where there is none
  bool owners_ = false;                       ///< the channel executes for its owner
  bool answered_ = true;
  std::exception_ptr fault_;
  bool given_up_ = false;  ///< the channel will never be free again
  int polls_ = 0;          ///< since it last looked for notices
};

void Execution::Turns::start(const Binding* binding) {
  if (given_up_) return;  // answered already, with the fault that it was given up for
  if (binding != nullptr) {
    answered_ = false;
    fault_ = nullptr;
  }
  if (!idle()) {
    queue_.push_back(binding != nullptr ? std::optional(*binding) : std::nullopt);
    advance();
    return;
  }
  try {
    begin(binding);
  } catch (...) {
    give_up(std::current_exception());
  }
}

bool Execution::Turns::advance(int polls) noexcept {
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
        answer(run_.fault() ? std::make_exception_ptr(Error(*run_.fault())) : nullptr);
      }
    }
  } catch (...) {
    give_up(std::current_exception());
  }
  return true;
}

void Execution::Turns::take_events() noexcept {
  if (!owners_ || given_up_) return;
  try {
    run_.take_events();
  } catch (...) {
    give_up(std::current_exception());
  }
}

void Execution::Turns::begin_next() {
  const std::optional<Binding> binding = std::move(queue_.front());
  queue_.pop_front();
  begin(binding ? &*binding : nullptr);
}

void Execution::Turns::begin(const Binding* binding) {
  try {
    if (binding != nullptr) channel_.bind(*binding);
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

void Execution::Turns::answer(std::exception_ptr fault) {
  answered_ = true;
  fault_ = std::move(fault);
}

/// Something below has failed that leaves the channel in no known state: the plan is lost.
void Execution::Turns::give_up(std::exception_ptr fault) noexcept {
  given_up_ = true;
  answer(std::move(fault));
  abandon_plan(plan_, plan_->communicator().rank());
}

void Execution::Turns::look_for_notices() {
  const std::optional<mpi::FaultElsewhere> notice = notice_of(*plan_);
  if (!notice) return;
  run_.abandon();
  given_up_ = true;
  answer(std::make_exception_ptr(*notice));
  abandon_plan(plan_, notice->origin());
}

void Execution::Turns::describe(std::ostream& out) const {
  if (!run_.in_flight()) return;
  out << "vicinal: rank " << program_.rank << ": an execution of a plan by " << program_.planner
      << (program_.reverse ? " (reverse)" : "") << " waits for\n";
  run_.describe_pending(out);
}

Execution::Execution(const std::shared_ptr<AgreedPlan>& plan, bool reverse, int channel) try
    : turns_(std::make_shared<Turns>(plan, reverse, channel)) {
  turns_->enter_dump();
} catch (...) {
  // All have agreed on the plan, and count on this rank.
  abandon_plan(plan, plan->communicator().rank());
}

Execution::~Execution() {
  // In a process that was forked another thread's claim would last for ever.
  if (mpi::is_forked()) return;
  try {
    if (in_flight() && mpi::is_alive()) wait();
  } catch (const std::exception&) {
    // Whoever let go of the execution without waiting does not want to hear of it.
  }
  // The list of what is active shares the plan until it is next gone through.
  if (active_count() > 0) progress();
}

const AgreedPlan& Execution::plan() const { return turns_->plan(); }

void Execution::start(const Binding& binding, Progress progress) {
  require(!in_flight(), Fault::request,
          "a request was started again before its last execution was complete; test or wait first");
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
  if (const TriedClaim claim(*turns_); claim) turns_->name_awaited(out);
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
    const int stands_for = turns_->tests_messages() ? 1 : polls.times / polls.times_for_flags;
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

void Execution::wait() {
  if (!in_flight()) return;
  const auto reason = [this](std::ostream& out) { name_awaited(out); };
  wait_for([this](Polls polls) { return advance(polls); }, [this] { return listed_; }, reason);
}

}  // namespace vicinal
