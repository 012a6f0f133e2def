// What the ranks of a cascade find out together, along the tree of their component: who they are, and the radix. How much
// they have to pass on is added up, and the radix that is expected to be the fastest is chosen at the root, for all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planners/halving/parcels.hpp"
#include "planners/planner.hpp"

namespace vicinal::cascade {

/// What some ranks have for other regions.
struct Volume {
  Index items = 0;    ///< elements, each once
  Index copies = 0;   ///< as often as there are regions that want them
  Index parcels = 0;  ///< that some other region wants
  void add(const halving::Parcel& parcel, const Neighborhood& neighborhood);
};
void fields(auto&& take, Is<Volume> auto& it) { take(it.items, it.copies, it.parcels); }

struct Decision {
  std::vector<int> ranks;  ///< those that take part, ascending
  int radix = 2;
  std::string reason;  ///< for people
};

/// Collective over the ranks of a component, with two letters for each. Where a rank brings a fault, every record has it
/// afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Volume volume);

/// How long passing on is expected to take, in seconds, for so many ranks in so many regions, by a closed form: what is
/// wanted is taken to be spread evenly over regions and distances.
double expected_seconds(const Volume& volume, int ranks, int regions, int radix,
                        const PlanOptions& options);

}  // namespace vicinal::cascade
