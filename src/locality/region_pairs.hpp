// Leaders of region pairs: the traffic between two regions passes through one rank of each. The
// leader follows from the region numbers, so no rank needs to ask. Leadership of a region's pairs
// is distributed round-robin over its members. Both directions of a pair use the same two ranks.
// The members of a region that share a host can gather in shared memory what their leaders send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "locality/machine.hpp"

namespace vicinal {

/// Returns the index of a region's leader for region `other`, among the region's `members` ranks.
[[nodiscard]] inline int place_of_leader(std::size_t members, int other) {
  return static_cast<int>(static_cast<std::size_t>(other) % members);
}

/// Returns the rank that leads the traffic of `region` with `other`.
[[nodiscard]] inline int leader(const Machine& machine, int region, int other) {
  const std::span<const int> members = machine.members(region);
  return members[static_cast<std::size_t>(place_of_leader(members.size(), other))];
}

/// Returns the rank that represents a region in exchanges among all regions.
[[nodiscard]] inline int region_leader(const Machine& machine, int region) {
  return machine.members(region).front();
}

/// Returns whether all members of a region live on one host.
[[nodiscard]] inline bool share_a_host(const Machine& machine, int region) {
  const std::span<const int> members = machine.members(region);
  return std::all_of(members.begin(), members.end(),
                     [&](int rank) { return machine.same_host(rank, members.front()); });
}

}  // namespace vicinal
