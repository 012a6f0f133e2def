// A call as an execution of a plan that is kept for calls like it: of blocks of one size, or of these very sizes.
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

/// The plan of a kind of calls, and the contest that it may have.
class KeptPlan {
 public:
  /// `contested`: where there is to be a contest.
  explicit KeptPlan(std::optional<PlanningTask> contested, Against against = Against::plans)
      : against_(against), contested_(std::move(contested)) {}
  std::shared_ptr<Planning> planning;
  /// Once the planning is over. From any thread. Throws where there is no plan.
  [[nodiscard]] Chosen chosen();

 private:
  const Against against_;
  Mutex mutex_;
  std::optional<PlanningTask> contested_ VICINAL_GUARDED_BY(mutex_);
  Chosen chosen_ VICINAL_GUARDED_BY(mutex_);
};

/// One of a kept plan's executions; calls use it one after the other.
struct PlanTurn {
  std::shared_ptr<KeptPlan> kept;
  int channel = 0;
  std::unique_ptr<Executions> executions;  ///< made by the first call that uses it
  std::weak_ptr<const Call> last;          ///< that has entered; gone once it is over and forgotten
};

/// What a call moves.
struct Blocks {
  Side send;
  Side receive;
  std::int64_t bytes = 0;  ///< of an element of the plan: a block, where blocks are of one size
};

class PlannedCall final : public Call {
 public:
  /// Without blocks it is the call of a rank at fault.
  PlannedCall(std::shared_ptr<mpi::Communicator> communicator, std::shared_ptr<PlanTurn> turn,
              std::int64_t number, std::optional<Blocks>&& blocks);
  PlannedCall(const PlannedCall&) = delete;
  PlannedCall& operator=(const PlannedCall&) = delete;
  ~PlannedCall() override { leave_dump(); }
  void name_what_is_due(std::ostream& out) const override;

 private:
  bool may_begin() override { return turn_->kept->planning->test(); }
  void begin() override;
  bool poll(Polls polls) override;
  [[nodiscard]] bool wants_progress() const override { return true; }
  [[nodiscard]] Binding bind_buffers();

  std::shared_ptr<mpi::Communicator> communicator_;
  std::shared_ptr<PlanTurn> turn_;
  const std::int64_t number_;     ///< of its execution
  std::optional<Blocks> blocks_;  ///< none where the call is at fault, or moves nothing
  std::exception_ptr refused_;    ///< what it has failed with, where that came late
};

}  // namespace vicinal
