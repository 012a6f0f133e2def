// The patterns of all ranks at once, from a list of who needs what. A halo formed over MPI asks the
// owners; whoever sees the whole matrix, as `vicinal explain` does, can write the same patterns
// down in one pass.
#pragma once

#include <span>
#include <vector>

#include "pattern/pattern.hpp"

namespace vicinal {

/// The halo patterns of `row_offsets.size() - 1` ranks, of which rank r owns the indices
/// row_offsets[r] to row_offsets[r + 1] - 1. Rank needers[i] needs index indices[i]: pairs in
/// ascending order, none twice, none owned by its needer. As in a halo formed over MPI, identities
/// and positions are positions among the owned indices, ghosts lie in ascending order, and edges
/// are in order of rank. Takes one pass. Throws an argument fault that names the first pair at
/// fault.
std::vector<Pattern> halo_patterns(std::span<const Index> row_offsets, std::span<const int> needers,
                                   std::span<const Index> indices);

}  // namespace vicinal
