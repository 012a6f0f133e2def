// The data that a rank forwards, in parcels.
#pragma once

#include <vector>

#include "base/runs.hpp"
#include "pattern/pattern.hpp"

namespace vicinal::halving {

/// One edge that a parcel serves.
struct Destination {
  int rank = 0;
  int edge = 0;  ///< index among the edges from the parcel's origin to that rank, in edge order
};

/// Items of one origin that stay together, and those of their destinations that this rank has to
/// serve. In an allgather each rank sends one parcel to all of its neighbours.
struct Parcel {
  int origin = 0;
  Index count = 0;
  bool arrived = false;  ///< received from another rank
  Index offset = -1;     ///< in the main buffer; -1 for an own parcel that is not copied there
  std::vector<CopyRun> source;  ///< own: source buffer -> 0..count-1
  std::vector<Destination> destinations;
};

/// Returns the parcels of a pattern's out-edges. If items have identity, edges with the same items
/// share a parcel; every other edge has one of its own. Parcels stand in the order of their first
/// edges.
std::vector<Parcel> make_parcels(const Pattern& pattern, int rank);

}  // namespace vicinal::halving
