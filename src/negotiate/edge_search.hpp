// Finding edges that only one of their ends knows, or of which the two ends do not know as many, once
// it is clear that there are some. What it costs does not matter: in letters, the edges that lead out
// of each block of ranks.
#pragma once

#include <span>
#include <vector>

#include "planners/rank_tree.hpp"

namespace vicinal {

/// What a rank adds to a sum over all ranks that is 0 where both ends of all edges know them (and, but
/// for one chance in 2^64, only there).
std::uint64_t edge_sum(int rank, std::span<const int> sources, std::span<const int> destinations);

/// The count fault that each rank of the tree is to throw: about its own edges, or where these are
/// right, about another rank's. Collective over the tree.
Task<Error> find_odd_edges(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                           std::span<const int> sources, std::span<const int> destinations);

}  // namespace vicinal
