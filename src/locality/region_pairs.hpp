// Which members of two regions lead the traffic between them, where that of each pair of regions goes
// through one rank on either side and nobody is to be asked who that is: it follows from the regions'
// numbers. The pairs of a region are dealt out to its members in turn, and both directions of a pair
// are between the same two ranks. And whether the members of a region can share memory, in which they
// gather what their leaders are to send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "locality/machine.hpp"

namespace vicinal {

/// The place in its region, among so many members, of its leader for another region.
[[nodiscard]] inline int place_of_leader(std::size_t members, int other) {
  return static_cast<int>(static_cast<std::size_t>(other) % members);
}

/// The rank that leads the traffic of `region` with `other`.
[[nodiscard]] inline int leader(const Machine& machine, int region, int other) {
  const std::span<const int> members = machine.members(region);
  return members[static_cast<std::size_t>(place_of_leader(members.size(), other))];
}

/// The rank that speaks for a region where all regions meet.
[[nodiscard]] inline int region_leader(const Machine& machine, int region) {
  return machine.members(region).front();
}

/// Whether all members of a region live on one host.
[[nodiscard]] inline bool share_a_host(const Machine& machine, int region) {
  const std::span<const int> members = machine.members(region);
  return std::all_of(members.begin(), members.end(),
                     [&](int rank) { return machine.same_host(rank, members.front()); });
}

}  // namespace vicinal
