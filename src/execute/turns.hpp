// The executions of one channel of a plan, one after the other. What is under way is shared with the list of what is
// active: it may have to go on after whoever has begun it has lost interest, for the others' sake. Whoever executes in the
// same channel next goes on with the same turns, behind what is left of that.
#pragma once

#include <deque>
#include <exception>
#include <iosfwd>
#include <memory>
#include <optional>
#include <utility>

#include "execute/activity.hpp"
#include "execute/agreed_plan.hpp"

namespace vicinal {

/// All with the claim held, but for what never changes.
class Turns final : public Activity {
 public:
  /// Those of channel `index`: the same for all who execute in it, as long as anything is under way there.
  static std::shared_ptr<Turns> of(const std::shared_ptr<AgreedPlan>& plan, bool reverse,
                                   int index);

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

  /// Begins an execution, with these buffers, once the owner's last is over, or at fault; where one for the others'
  /// sake is still under way, after it.
  void start(const Binding* binding);
  /// As of a run, of the owner's execution.
  bool leave_to(std::uintptr_t stream) {
    return owners_ && !given_up_ && run_.in_flight() && run_.leave_to(stream);
  }
  /// Whether the owner's execution is over.
  [[nodiscard]] bool answered() const { return answered_; }
  [[nodiscard]] bool idle() const { return given_up_ || (!run_.in_flight() && queue_.empty()); }
  /// An owner lets go of it: nothing that was lent stays open, unless more is to be executed.
  void close_borrowed() noexcept {
    if (idle()) channel_.close_borrowed();
  }
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
  void let_mpi_work();
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
  int polls_ = 0;          ///< of an execution, since it last looked for notices
};

}  // namespace vicinal
