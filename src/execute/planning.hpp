// Agreeing on a plan over MPI: a negotiation that goes on in the background, whenever this process
// progresses. Whoever cannot wait looks whether it is over; whoever can, waits.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>

#include "execute/activity.hpp"
#include "execute/agreed_plan.hpp"

namespace vicinal {

/// What is to be planned, by value: it outlives the graph where a person frees that early.
struct PlanningTask {
  std::shared_ptr<mpi::Communicator> communicator;
  mpi::ConversationKey key;  ///< the same on all ranks that take part, used once
  const Planner* planner = nullptr;
  Neighborhood neighborhood;
  Pattern pattern;
  PlanOptions options;
  int channels = 1;
  std::optional<Error>
      fault;  ///< what this rank already knows to be wrong: it is told to the others
};

class Planning final : public Activity {
 public:
  /// Begins: hands out the first letters. Never waits.
  static std::shared_ptr<Planning> begin(PlanningTask task);
  explicit Planning(PlanningTask task);
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  ~Planning() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;

  /// Goes on with a sentence: for whom it waits.
  void name_awaited(std::ostream& out);
  /// Whether it is over; progresses it. From then on the next two may be called without a claim.
  bool test();
  /// Polls until it is over, progressing whatever is active.
  void wait();
  /// The plan. Throws the fault of this rank, or one of kind `elsewhere` where another rank has one.
  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan() const;

 private:
  Task<Plans> negotiate();
  Task<Plans> make_plans();
  Task<Done> agree(const std::optional<Error>& settled);
  Task<Done> conclude(const Plans& plans, const std::optional<Error>& settled);
  void leave_with(std::exception_ptr fault, int origin) noexcept;

  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  PlanningTask task_;
  AgreedSite site_;
  Conversation conversation_;
  mpi::Driver driver_;
  std::optional<Task<Plans>> negotiation_;
  std::shared_ptr<AgreedPlan> plan_;
  std::exception_ptr fault_;
  std::atomic<bool> over_ = false;
};

}  // namespace vicinal
