// The agreement of a cascade's ranks, along the tree of their component. They agree on the
// participants, the radix and, if there is an alternative, whether to forward at all. The root adds
// up the volume of all ranks and chooses for all, by the least expected time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "negotiate/planner.hpp"
#include "planners/halving/parcels.hpp"

namespace vicinal::cascade {

/// The items that some ranks have for other regions.
struct Volume {
  Index items = 0;    ///< elements, each once
  Index copies = 0;   ///< elements, once for each region that wants them
  Index parcels = 0;  ///< parcels that some other region wants
  Index wanted = 0;   ///< other regions that want a parcel, summed over parcels
  Index links = 0;    ///< most other regions that one region has edges to, or from

  Volume() = default;
  /// Computes the volume of one rank.
  Volume(const std::vector<halving::Parcel>& parcels, const Neighborhood& neighborhood);
  void add(const Volume& other);
};
void fields(auto&& take, Is<Volume> auto& it) {
  take(it.items, it.copies, it.parcels, it.wanted, it.links);
}

/// The alternatives of a decision.
enum class Among : std::uint8_t {
  radices,
  planners,  ///< the cascade of the best radix, and relays of region pairs
};

struct Decision {
  std::vector<int> ranks;  ///< participating ranks, ascending
  int radix = 2;
  bool passes_on = true;
  std::string reason;  ///< for users
};

/// Decides. Collective over the ranks of a component, with two control messages for each. If a rank
/// reports a fault, every record has it afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Volume volume, Among among);

/// Returns the expected seconds of forwarding, for `ranks` ranks in `regions` regions, by a closed
/// form. It assumes that wanted items are spread evenly over regions and distances.
double expected_seconds(const Volume& volume, int ranks, int regions, int radix,
                        const PlanOptions& options);
/// As expected_seconds(), for relays: the ranks of a region share one message for each region that
/// wants anything. The number of messages is assumed to be that of the linked regions, but at most
/// that of the wanted parcels.
double relayed_seconds(const Volume& volume, int ranks, int regions, const PlanOptions& options);

}  // namespace vicinal::cascade
