// Sets of ranks in control messages: one word for each rank, or one bit for each rank of the
// communicator, whichever is shorter.
#pragma once

#include <span>
#include <vector>

#include "base/records.hpp"

namespace vicinal::halving {

/// A set of ranks; one of the two members is empty.
struct RankSet {
  std::vector<int> listed;
  Words bits;
};
void fields(auto&& take, Is<RankSet> auto& it) { take(it.listed, it.bits); }

/// Returns the set of `ranks`, which ascend, each below `size`.
RankSet set_of(std::span<const int> ranks, int size);

/// Returns the ranks, ascending.
std::vector<int> ranks_of(const RankSet& set);

}  // namespace vicinal::halving
