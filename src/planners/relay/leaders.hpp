// The leaders of each region pair, and the savings of relaying it. A policy has the differences
// between the planners of the relay family. All active ranks of a region compute the same results
// from their summaries, without communication.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cost/region_loads.hpp"
#include "negotiate/planner.hpp"
#include "planners/relay/control_messages.hpp"

namespace vicinal {

/// The differences between the planners of the relay family.
struct RelayPolicy {
  using Division = RelayRules::Division;
  /// The condition for relaying a region pair.
  enum class Decision : std::uint8_t {
    never,
    fewer_messages,  ///< whenever relaying saves messages
    cheaper,         ///< whenever the busiest rank on either side is expected to gain
  };
  /// The order in which direct messages are sent.
  enum class Order : std::uint8_t {
    ascending,
    nearest_first,
    rotated,  ///< begins with the next higher rank, so that no destination is first for all
  };

  Decision decision = Decision::never;
  Division division = Division::whole;
  Order order = Order::ascending;
  bool identity = true;      ///< send items of equal identity once
  bool share_local = false;  ///< edges inside the region go through shared memory
};

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
