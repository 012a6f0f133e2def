// Agreement on a plan over MPI: a negotiation that runs in the background, whenever this process
// makes progress. A caller tests whether it is over, or waits for it.
//
// Two conversations run concurrently. In one, the ranks of a component compare what they were asked
// to plan; in the other, they negotiate. Control messages of the negotiation carry a fingerprint of
// the request (ConversationKey::topic). So ranks with different requests never read each other's
// messages. A rank that waits for such a message in vain learns the difference from the comparison,
// and gives the negotiation up.
#pragma once

#include <chrono>
#include <iosfwd>
#include <memory>
#include <optional>

#include "execute/agreed_plan.hpp"
#include "progress/activity.hpp"

namespace vicinal {

/// The input of planning, by value, because the user may free the graph before planning ends.
struct PlanningTask {
  std::shared_ptr<mpi::Communicator> communicator;
  mpi::ConversationKey key;  ///< equal on all participating ranks, used once
  const Planner* planner = nullptr;
  Neighborhood neighborhood;
  Pattern pattern;
  PlanOptions options;
  int channels = 1;
  /// A fault that this rank already has; the other ranks learn of it.
  std::optional<Error> fault;
  /// True: if one rank fails at the end (say, to allocate), no rank gets the plan, and all continue
  /// without it. False: the ranks may skip the last agreement, and learn of the failure in an
  /// execution.
  bool all_or_none = true;
};

class Planning final : public Activity {
 public:
  /// Begins to plan and sends the first control messages. Never waits. Throws nothing after
  /// sending.
  static std::shared_ptr<Planning> begin(PlanningTask task);
  explicit Planning(PlanningTask task);
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  ~Planning() override { leave_dump(); }

  bool advance() noexcept override;
  void describe(std::ostream& out) const override;

  /// Continues a sentence with the ranks that it waits for.
  void name_awaited(std::ostream& out);
  /// Progresses planning and returns whether it is over. over() and plan() need no lock from then
  /// on.
  bool test();
  /// As test(), without progress; for reports.
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// Polls until planning is over; progresses all activities.
  void wait();
  /// Returns the plan. Throws the fault of this rank, or one of kind `elsewhere` for another rank's
  /// fault.
  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan() const;

 private:
  /// A conversation and the driver that delivers its control messages.
  struct Talk {
    Conversation conversation;
    mpi::Driver driver;
    Talk(mpi::Communicator& communicator, mpi::ConversationKey key)
        : driver(communicator, key, conversation) {}
  };

  void begin();
  bool negotiate();
  Task<Plans> conclude();
  [[nodiscard]] DeviceChoice device_choice(const Plan& plan, Index element_bytes) const;
  [[nodiscard]] bool agrees_in_the_end() const;
  Task<Done> divide(Plans& plans, std::optional<Error>& settled);
  Task<Done> agree(const std::optional<Error>& settled);
  void describe_talk(std::ostream& out) const;
  void leave_with(std::exception_ptr fault, int origin) noexcept;

  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  PlanningTask task_;
  AgreedSite site_;
  /// Same kinds of control messages on all ranks of a component, whatever they plan.
  Talk common_;
  Talk particular_;  ///< of the planner
  PlanRequest request_;
  std::optional<Task<bool>> comparing_;
  bool counts_agree_ = false;  ///< as far as the comparison knows
  std::optional<Task<Plans>> negotiating_;
  std::optional<Task<Plans>> concluding_;
  std::shared_ptr<AgreedPlan> plan_;
  std::exception_ptr fault_;
  std::atomic<bool> over_ = false;
};

}  // namespace vicinal
