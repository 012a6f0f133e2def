// Compares whether all ranks of a tree were given the same values, mostly settings. The comparison
// adds one number to an allreduce that takes place anyway. A second tree allreduce finds the
// difference, only after a mismatch.
#pragma once

#include <string>
#include <vector>

#include "base/given.hpp"
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

}  // namespace vicinal
