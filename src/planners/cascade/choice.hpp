// What the ranks of a cascade find out together, along the tree of their component: who they are, the radix, and where they may
// do otherwise, whether they pass on at all. How much they have to pass on is added up, and what is expected to be the fastest is
// chosen at the root, for all.
#pragma once

#include <cstdint>
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
  Index wanted = 0;   ///< by so many other regions, each parcel, added up
  Index links = 0;    ///< other regions that one region has edges to, or from, at most

  Volume() = default;
  /// Of one rank.
  Volume(const std::vector<halving::Parcel>& parcels, const Neighborhood& neighborhood);
  void add(const Volume& other);
};
void fields(auto&& take, Is<Volume> auto& it) {
  take(it.items, it.copies, it.parcels, it.wanted, it.links);
}

/// What is decided among.
enum class Among : std::uint8_t {
  radices,
  planners,  ///< the cascade of the best radix, and relays of region pairs
};

struct Decision {
  std::vector<int> ranks;  ///< those that take part, ascending
  int radix = 2;
  bool passes_on = true;
  std::string reason;  ///< for people
};

/// Collective over the ranks of a component, with two letters for each. Where a rank brings a fault, every record has it
/// afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Volume volume, Among among);

/// How long passing on is expected to take, in seconds, for so many ranks in so many regions, by a closed form: what is
/// wanted is taken to be spread evenly over regions and distances.
double expected_seconds(const Volume& volume, int ranks, int regions, int radix,
                        const PlanOptions& options);
/// The same of relays, with one message for each region that wants anything, which the region's ranks share out. Those are taken to be
/// as many as have edges, but no more than parcels are wanted.
double relayed_seconds(const Volume& volume, int ranks, int regions, const PlanOptions& options);

}  // namespace vicinal::cascade
