// A call as an execution of a plan that similar calls share: a plan for blocks of any one size, or
// for particular sizes.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/guarded.hpp"
#include "choose/executions.hpp"
#include "collectives/call.hpp"
#include "collectives/side.hpp"
#include "execute/planning.hpp"

namespace vicinal {

/// The plan that calls of a kind share, and its contest, if it has one.
class KeptPlan {
 public:
  /// `contested`: the task of the contest, if there is to be one.
  explicit KeptPlan(std::optional<PlanningTask> contested, Against against = Against::plans)
      : against_(against), contested_(std::move(contested)) {}
  std::shared_ptr<Planning> planning;
  /// Returns the plan and its contest. Called once the planning is over, from any thread. Throws if
  /// there is no plan.
  [[nodiscard]] Chosen chosen();

 private:
  const Against against_;
  Mutex mutex_;
  std::optional<PlanningTask> contested_ VICINAL_GUARDED_BY(mutex_);
  Chosen chosen_ VICINAL_GUARDED_BY(mutex_);
};

/// A channel of a kept plan. Calls use it one after the other.
struct PlanChannel {
  std::shared_ptr<KeptPlan> kept;
  int channel = 0;
  std::unique_ptr<Executions> executions;  ///< made by the first call that uses it
  std::weak_ptr<const Call> last;          ///< last call that has entered, if it still exists
};

/// The data of a call.
struct Blocks {
  Side send;
  Side receive;
  std::int64_t bytes = 0;  ///< of an element of the plan: a block, if all blocks have one size
};

class PlannedCall final : public Call {
 public:
  /// Without blocks, the call of a rank that has failed.
  PlannedCall(std::shared_ptr<mpi::Communicator> communicator, std::shared_ptr<PlanChannel> channel,
              std::int64_t number, std::optional<Blocks>&& blocks);
  PlannedCall(const PlannedCall&) = delete;
  PlannedCall& operator=(const PlannedCall&) = delete;
  ~PlannedCall() override { leave_dump(); }
  void name_what_is_due(std::ostream& out) const override;

 private:
  bool may_begin() override { return plan_channel_->kept->planning->test(); }
  void begin() override;
  bool poll(Polls polls) override;
  [[nodiscard]] bool wants_progress() const override { return true; }
  [[nodiscard]] Binding bind_buffers();

  std::shared_ptr<mpi::Communicator> communicator_;
  std::shared_ptr<PlanChannel> plan_channel_;
  const std::int64_t number_;     ///< number of its execution
  std::optional<Blocks> blocks_;  ///< none if the call has failed, or moves nothing
  std::exception_ptr refused_;    ///< error, if it failed when it began
};

}  // namespace vicinal
