// Who leads which region pair. Every active rank of a region computes the same assignment from the
// loads that all of them have told each other, so that nobody has to be asked or told.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/relay.hpp"
#include "planners/planner.hpp"
#include "planners/relay/policy.hpp"

namespace vicinal {

/// What a region link carries, summed over the members of the own region.
struct LinkLoad {
  PairTraffic traffic;
  std::uint64_t fingerprint = 0;   ///< equal on both sides when all counts of the pair agree
  std::vector<Index> distinct_of;  ///< out: distinct items of each member of the link
};

struct Leaders {
  std::vector<std::vector<int>> out;  ///< per out-link, the sending leader of each part
  std::vector<std::vector<int>> in;   ///< per in-link, the receiving leaders; part j is taken by
                                      ///< the leader j modulo their number
};

/// The number of leaders that `elements` of a pair deserve, given `available` ranks.
Index parts(const RelayPolicy& policy, const PlanOptions& options, Index elements, Index available);

/// Balances messages and bytes over the active ranks of the region: heaviest link first, each to the
/// rank with the least to do so far. Ranks without neighbours are not active, hence never leaders.
Leaders assign_leaders(const Neighborhood& neighborhood, const RelayPolicy& policy,
                       const PlanOptions& options, const std::vector<LinkLoad>& out,
                       const std::vector<LinkLoad>& in);

}  // namespace vicinal
