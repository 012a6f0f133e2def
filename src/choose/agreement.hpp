// Agreements among the ranks of a component, one after the other. Every rank waits for the result,
// and all get the same one. So values that the ranks compute from results alone are equal on all of
// them.
#pragma once

#include "choose/joining.hpp"
#include "mpi/drive.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

class RankAgreement {
 public:
  /// `key`: of a conversation that nobody else uses. The neighborhood must outlive this object; its
  /// rank has edges.
  RankAgreement(mpi::Communicator& communicator, mpi::ConversationKey key,
                const Neighborhood& neighborhood)
      : communicator_(communicator), key_(key), neighborhood_(neighborhood) {}
  RankAgreement(const RankAgreement&) = delete;
  RankAgreement& operator=(const RankAgreement&) = delete;

  // All of these are collective over the component, and wait for it. They throw on all ranks if one
  // has failed, or leaves.

  /// Checks that all ranks plan the same. Uses the control messages of Planning, so that ranks that
  /// start to plan at once detect the difference, too.
  void compare(const Planner& planner, const PlanRequest& request);
  void tree_allreduce(AnyTreeAllreduce& about);
  /// Returns the maximum over all ranks, number by number.
  Numbers largest(Numbers mine);

  /// Returns whether this is the lowest rank, which acts for all.
  [[nodiscard]] bool speaks() const { return neighborhood_.tree.parent < 0; }

 private:
  void run(Task<Done>& task);

  mpi::Communicator& communicator_;
  mpi::ConversationKey key_;
  const Neighborhood& neighborhood_;
  Conversation conversation_;
};

}  // namespace vicinal
