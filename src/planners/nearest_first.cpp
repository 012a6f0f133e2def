// nearest-first: the messages of `direct`, sent outward from the own rank: the nearest neighbour
// first, then alternately the next above and the next below.
//
// Wins where many ranks send to the same few: in rank order, all of them begin with the lowest
// rank. Cost per rank: as `direct`; only the order differs.
// Source: Shafie Khorassani et al. 2024, algorithms 2 and 3.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

std::vector<int> nearest_first(int rank, std::vector<int> peers) {
  if (peers.empty() || peers.back() <= rank) {  // all below: downward
    std::reverse(peers.begin(), peers.end());
    return peers;
  }
  if (peers.front() >= rank) return peers;  // all above: upward
  const auto above = std::lower_bound(peers.begin(), peers.end(), rank);
  // The nearer of the two neighbours that enclose the own rank; the higher one on a tie.
  const auto nearest = *above - rank <= rank - *(above - 1) ? above : above - 1;
  std::vector<int> order;
  auto up = nearest;
  auto down = std::make_reverse_iterator(nearest);
  while (order.size() < peers.size()) {
    if (up != peers.end()) order.push_back(*up++);
    if (down != peers.rend()) order.push_back(*down++);
  }
  return order;
}

namespace {

Task<Plans> plan_nearest_first(PlanRequest request) {
  RelayPolicy policy;
  policy.order = RelayPolicy::Order::nearest_first;
  return plan_with(std::move(request), policy, "nearest-first");
}

}  // namespace

const PlannerKind kind_of_nearest_first = {"direct, sent outward from the own rank",
                                           plan_nearest_first};

}  // namespace vicinal
