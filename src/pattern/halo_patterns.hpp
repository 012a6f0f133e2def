// Halo patterns of all ranks at once, from a list of needed indices. A halo formed over MPI asks
// the owners. A caller that sees the whole matrix, such as `vicinal explain`, can build the same
// patterns in one pass.
#pragma once

#include <span>
#include <vector>

#include "pattern/pattern.hpp"

namespace vicinal {

/// Returns the halo patterns of `row_offsets.size() - 1` ranks. Rank r owns the indices
/// row_offsets[r] to row_offsets[r + 1] - 1. Rank needers[i] needs index indices[i]. Pairs are in
/// ascending order and unique, and no rank needs an index that it owns. As in a halo formed over
/// MPI, identities and positions are places among the owned indices. Ghosts are in ascending order,
/// and edges in rank order. Throws an argument fault that names the first invalid pair.
std::vector<Pattern> halo_patterns(std::span<const Index> row_offsets, std::span<const int> needers,
                                   std::span<const Index> indices);

}  // namespace vicinal
