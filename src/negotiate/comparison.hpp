// Whether all ranks of a tree have given the same: settings, mostly. That costs one number beside what
// they consult about anyway; only where they have not, a second consultation finds what differs.
#pragma once

#include <string>
#include <vector>

#include "base/given.hpp"
#include "planners/rank_tree.hpp"

namespace vicinal {

/// The fingerprint of what was given on a rank and those below it.
class Fingerprint {
 public:
  Fingerprint() = default;
  explicit Fingerprint(std::int64_t own) : own_(own) {}
  Fingerprint(std::int64_t own, int other) : own_(own), other_(other) {}
  /// Takes in that of a child. Children come in ascending order.
  void compare(int child, const Fingerprint& fingerprint) {
    if (other_ < 0) other_ = fingerprint.own_ == own_ ? fingerprint.other_ : child;
  }
  [[nodiscard]] std::int64_t own() const { return own_; }
  /// The lowest rank that differs from the first one here; -1: none does.
  [[nodiscard]] int other() const { return other_; }
  friend void fields(auto&& take, Is<Fingerprint> auto& it) { take(it.own_, it.other_); }

 private:
  std::int64_t own_ = 0;
  int other_ = -1;
};

/// Once it is known that rank `other` has given something else than the root of the tree: what differs,
/// as a fault for all ranks of the tree to throw. Collective over the tree.
Task<Error> find_difference(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                            std::vector<Given> given, int other);

/// Whether the ranks of the tree have given the same, and whether none of them is at fault: throws on
/// all of them, with the same conclusion, where that is not so. Collective over the tree. Returns the sum of a number of each.
Task<std::uint64_t> require_same(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                                 std::vector<Given> given, std::uint64_t number = 0);

}  // namespace vicinal
