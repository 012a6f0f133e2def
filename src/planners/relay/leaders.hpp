// The leaders of each region pair, and the savings of relaying it. All active ranks of a region
// compute the same results from their summaries, without communication.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "negotiate/planner.hpp"
#include "planners/relay/control_messages.hpp"
#include "planners/relay/policy.hpp"

namespace vicinal {

/// A region link with the loads of its members.
struct LinkView {
  Index edges = 0;                 ///< that carry anything
  std::uint64_t peers = 0;         ///< as in Summary
  std::uint64_t fingerprint = 0;   ///< equal on both sides if all counts of the pair agree
  std::vector<Index> distinct_of;  ///< distinct items of each member of the link
  /// Ranks, by part. Part j of incoming data goes to leader j modulo their number.
  std::vector<int> leaders;
  bool by_contributor = false;  ///< outgoing: each leader sends its own items only
  PairTimes times;
};

struct RegionView {
  std::vector<LinkView> out;  ///< by link, in the order of the neighborhood's
  std::vector<LinkView> in;
  Forecast forecast = {};  ///< assumes that the other regions decide alike
};

/// Returns the view of a region. `summaries` has one entry for each active rank; other ranks never
/// lead.
RegionView view_region(const Neighborhood& neighborhood, const RelayPolicy& policy,
                       const PlanOptions& options, const std::map<int, Summary>& summaries);

}  // namespace vicinal
