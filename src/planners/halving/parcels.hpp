// A pattern's out-edges as parcels.
#pragma once

#include <vector>

#include "pattern/pattern.hpp"
#include "planners/halving/routes.hpp"

namespace vicinal::halving {

/// Edges that carry the same items, where items have identity, share a parcel; every other edge has
/// one of its own. Parcels stand in the order of their first edges.
std::vector<Parcel> make_parcels(const Pattern& pattern, int rank);

}  // namespace vicinal::halving
