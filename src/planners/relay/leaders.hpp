// What all active ranks of a region work out alike from what each of them has told the others: who leads which region
// pair, and what relaying it would save. Nobody has to be asked or told.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planners/planner.hpp"
#include "planners/relay/letters.hpp"
#include "planners/relay/policy.hpp"

namespace vicinal {

/// A region link with what its members have to do for it.
struct LinkView {
  Index edges = 0;                 ///< that carry anything
  std::uint64_t peers = 0;         ///< as in Summary
  std::uint64_t fingerprint = 0;   ///< equal on both sides when all counts of the pair agree
  std::vector<Index> distinct_of;  ///< distinct items of each member of the link
  std::vector<int>
      leaders;  ///< ranks, by part. Of what comes, part j is taken by leader j modulo their number
  bool by_contributor = false;  ///< of what goes out: each leader has its own items, and no others
  PairTimes times;
};

struct RegionView {
  std::vector<LinkView> out;  ///< by link, in the order of the neighborhood's
  std::vector<LinkView> in;
  Forecast forecast = {};  ///< where the other regions see it in the same way
};

/// `summaries` has one of each active rank. Ranks without neighbours are not active, hence never leaders.
RegionView view_region(const Neighborhood& neighborhood, const RelayPolicy& policy,
                       const PlanOptions& options, const std::map<int, Summary>& summaries);

}  // namespace vicinal
