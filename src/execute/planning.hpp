// Agreeing on a plan over MPI: a negotiation that goes on in the background, whenever this process
// progresses. Whoever cannot wait looks whether it is over; whoever can, waits.
//
// Two conversations go on at the same time. In one the ranks of a component find out whether all have been asked for
// the same; in the other they negotiate. The letters of the latter carry the fingerprint of what was asked for
// (ConversationKey::topic), so that ranks which were asked for different things never read each other's.
// Whoever waits for such a letter in vain is told by the former, and the negotiation is given up.
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
  /// Where a rank fails for itself in the end, for want of memory say, none is to have the plan: they go on without. Elsewhere
  /// the others may hear of it in an execution only, and nobody waits to know that none has.
  bool all_or_none = true;
};

class Planning final : public Activity {
 public:
  /// Begins: hands out the first letters. Never waits, and throws nothing once it has done so.
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
  /// The same, without progress: for reports.
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// Polls until it is over, progressing whatever is active.
  void wait();
  /// The plan. Throws the fault of this rank, or one of kind `elsewhere` where another rank has one.
  [[nodiscard]] const std::shared_ptr<AgreedPlan>& plan() const;

 private:
  /// One conversation, and who delivers its letters.
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
  Talk common_;  ///< in which all of a component say the same kinds of things, whatever they plan
  Talk particular_;  ///< the planner's
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
