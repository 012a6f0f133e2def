// The ranks of a component find things out together, one after the other, and wait for it: what each of them then
// computes from what it has heard is the same everywhere, as far as it is made of nothing else.
#pragma once

#include "choose/joining.hpp"
#include "mpi/drive.hpp"
#include "planners/planner.hpp"

namespace vicinal {

class Council {
 public:
  /// `key`: of a conversation that nobody else holds. The neighborhood must outlive it; its rank has edges.
  Council(mpi::Communicator& communicator, mpi::ConversationKey key,
          const Neighborhood& neighborhood)
      : communicator_(communicator), key_(key), neighborhood_(neighborhood) {}
  Council(const Council&) = delete;
  Council& operator=(const Council&) = delete;

  // All of these are collective over the component, and wait for it. They throw on all ranks where one is at fault,
  // or leaves.

  /// That all mean to plan the same: what Planning compares, in the same words, so that ranks that begin to plan at
  /// once find out as well.
  void compare(const Planner& planner, const PlanRequest& request);
  void consult(AnyConsultation& about);
  /// Number by number, what all ranks have together.
  Numbers sums(Numbers mine);
  /// Number by number, the most that any rank has.
  Numbers largest(Numbers mine);
  /// No rank comes out of it before all have come in.
  void meet() { sums({}); }

  [[nodiscard]] int rank() const { return neighborhood_.rank; }
  /// The lowest rank, which speaks for all.
  [[nodiscard]] bool speaks() const { return neighborhood_.tree.parent < 0; }

 private:
  void run(Task<Done>& task);

  mpi::Communicator& communicator_;
  mpi::ConversationKey key_;
  const Neighborhood& neighborhood_;
  Conversation conversation_;
};

}  // namespace vicinal
