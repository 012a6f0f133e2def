// What a rank is given to pass on, in parcels.
#pragma once

#include <vector>

#include "base/runs.hpp"
#include "pattern/pattern.hpp"

namespace vicinal::halving {

/// One edge that a parcel serves.
struct Destination {
  int rank = 0;
  int edge = 0;  ///< which of the edges between the parcel's origin and that rank, in edge order
};

/// Items of one origin that stay together, and those of their destinations that this rank has to
/// see to. In an allgather each rank sends one parcel to all of its neighbours.
struct Parcel {
  int origin = 0;
  Index count = 0;
  bool arrived = false;  ///< not this rank's own
  Index offset = -1;     ///< in the main buffer; -1 for an own parcel that is not copied there
  std::vector<CopyRun> source;  ///< own: source buffer -> 0..count-1
  std::vector<Destination> destinations;
};

/// A pattern's out-edges. Edges that carry the same items, where items have identity, share a parcel; every
/// other edge has one of its own. Parcels stand in the order of their first edges.
std::vector<Parcel> make_parcels(const Pattern& pattern, int rank);

}  // namespace vicinal::halving
