// Finds edges that only one end knows, or that the two ends do not name equally often. The search
// runs only if such edges are known to exist, so its cost does not matter. Its control messages
// hold the edges that lead out of each block of ranks.
#pragma once

#include <span>
#include <vector>

#include "negotiate/rank_tree.hpp"

namespace vicinal {

/// Returns this rank's term of a sum over all ranks. The sum is 0 if both ends of all edges know
/// them; otherwise it is 0 with a probability of 2^-64.
std::uint64_t edge_sum(int rank, std::span<const int> sources, std::span<const int> destinations);

/// Returns the count fault for each rank of the tree to throw: about its own edges or, if these are
/// right, about another rank's. Collective over the tree.
Task<Error> find_odd_edges(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                           std::span<const int> sources, std::span<const int> destinations);

}  // namespace vicinal
