// Compares whether all ranks of a tree were given the same values, mostly settings. The comparison
// adds one number to an allreduce that takes place anyway. A second tree allreduce finds the
// difference, only after a mismatch.
//
// Ranks must also be asked for the same plan. An info key, for example, may be given on some ranks
// only. Other planners have other supersteps, so that no rank could interpret the control messages.
// Therefore the ranks of a component compare their requests before planning. Where control messages
// of different planners cannot be confused, the ranks compare while planning.
#pragma once

#include <string>
#include <vector>

#include "base/given.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/rank_tree.hpp"

namespace vicinal {

/// Fingerprint of the values given on a rank and the ranks below it.
class Fingerprint {
 public:
  Fingerprint() = default;
  explicit Fingerprint(std::int64_t own) : own_(own) {}
  Fingerprint(std::int64_t own, int other) : own_(own), other_(other) {}
  /// Merges the fingerprint of a child. Children must come in ascending order.
  void compare(int child, const Fingerprint& fingerprint) {
    if (other_ < 0) other_ = fingerprint.own_ == own_ ? fingerprint.other_ : child;
  }
  [[nodiscard]] std::int64_t own() const { return own_; }
  /// Returns the lowest rank below this one that differs from it; -1 if none.
  [[nodiscard]] int other() const { return other_; }
  friend void fields(auto&& take, Is<Fingerprint> auto& it) { take(it.own_, it.other_); }

 private:
  std::int64_t own_ = 0;
  int other_ = -1;
};

/// Returns the difference between rank `other` and the root as a fault for all ranks of the tree to
/// throw. Requires that both are known to differ. Collective over the tree.
Task<Error> find_difference(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                            std::vector<Given> given, int other);

/// Checks that the ranks of the tree were given the same values and that none has failed. Otherwise
/// throws on all of them. Collective over the tree. Returns the sum of `number` over all ranks.
Task<std::uint64_t> require_same(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                                 std::vector<Given> given, std::uint64_t number = 0);

/// Returns the values that ranks must have in common to plan together: the planner, and the options
/// that change control messages. If all ranks know the counts of all blocks, it adds these, since a
/// planner may depend on them.
std::vector<Given> given_alike(const Planner& planner, const PlanOptions& options,
                               const Pattern& pattern);

/// Checks that all ranks of the component give these alike and that none has failed. Throws as
/// plan_alike().
Task<Done> require_alike(Conversation& talk, const Planner& planner, const PlanRequest& request);
/// As require_alike(); returns whether both ends of each edge give the same count.
Task<bool> compare_counts(Conversation& talk, const Planner& planner, const PlanRequest& request);

/// Plans, if all ranks of the component give the same planner and options. If they differ, throws
/// on all ranks an info fault (for blocks, a count fault) that names two ranks and both values. If
/// a rank reports a fault, throws it there, and a fault that names it on the other ranks. Both are
/// on all ranks. Costs two control messages per rank. `planner` and the objects that the request
/// refers to must live until the task is done.
Task<Plans> plan_alike(const Planner& planner, PlanRequest request);

}  // namespace vicinal
