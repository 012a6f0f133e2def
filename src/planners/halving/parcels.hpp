// The data that a rank forwards, in parcels, and the ranks to which it forwards them, step by step.
// They are the agents of a halving, or the next ranks on the paths of a cascade. All ranks count
// the same steps.
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

/// The ranks to which a rank forwards data.
class Route {
 public:
  Route() = default;
  Route(const Route&) = delete;
  Route& operator=(const Route&) = delete;
  virtual ~Route() = default;

  [[nodiscard]] virtual int steps() const = 0;
  /// Returns the rank that gets this rank's data for a region in a step; -1: the data stays here.
  [[nodiscard]] virtual int taker(int step, int region) const = 0;
  /// Returns the ranks that may get data (givers(): that may give some). Control messages are sent
  /// even without data.
  [[nodiscard]] virtual const std::vector<int>& takers(int step) const = 0;
  [[nodiscard]] virtual const std::vector<int>& givers(int step) const = 0;
};

}  // namespace vicinal::halving
