// Sums, for each node, the CPU sets of its ranks.
#include "locality/core_shares.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

namespace vicinal {

namespace {

struct Node {
  int ranks = 0;
  double told = -1;
  std::set<std::int64_t> sets;
  double cpus = 0;

  void add(const CpuClaim& claim) {
    if (ranks++ == 0) told = claim.told;
    if (sets.insert(claim.set).second) cpus += static_cast<double>(claim.cpus);
  }
  [[nodiscard]] CoreShare share() const {
    const double cores = told >= 0 ? told : cpus;
    return {cores > 0 ? std::min<double>(cores, ranks) : ranks, ranks};
  }
};

}  // namespace

std::vector<CoreShare> core_shares(const std::vector<int>& node_of,
                                   std::span<const CpuClaim> claims) {
  std::map<int, Node> nodes;
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) nodes[node_of[rank]].add(claims[rank]);
  std::vector<CoreShare> shares;
  shares.reserve(node_of.size());
  for (const int node : node_of) shares.push_back(nodes.at(node).share());
  return shares;
}

}  // namespace vicinal
