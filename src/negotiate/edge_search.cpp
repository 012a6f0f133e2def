// Each rank reports its edges. An edge is settled where both reports of it meet and agree. Only
// unsettled edges and edges that lead out of the block go further up.
#include "negotiate/edge_search.hpp"

#include <compare>
#include <map>
#include <sstream>
#include <vector>

#include "base/scramble.hpp"

namespace vicinal {

namespace {

/// Number of times that each end has named an edge; -1 before its report.
struct Named {
  std::int64_t by_source = -1;
  std::int64_t by_destination = -1;
};
void fields(auto&& take, Is<Named> auto& it) { take(it.by_source, it.by_destination); }

struct Ends {
  int source = -1;
  int destination = -1;
  friend auto operator<=>(const Ends&, const Ends&) = default;
};
void fields(auto&& take, Is<Ends> auto& it) { take(it.source, it.destination); }

struct NamedEdge {
  Ends ends;
  Named named;
};
void fields(auto&& take, Is<NamedEdge> auto& it) { take(it.ends, it.named); }

/// Unsettled edges of a block.
struct OddEdges {
  static constexpr std::string_view name = "odd edges";
  std::vector<NamedEdge> edges;
};
void fields(auto&& take, Is<OddEdges> auto& it) { take(it.edges); }

/// Unsettled edges with an end in a block, and one edge for every rank.
struct FoundEdges {
  static constexpr std::string_view name = "edges found";
  NamedEdge first;
  std::vector<NamedEdge> edges;
};
void fields(auto&& take, Is<FoundEdges> auto& it) { take(it.first, it.edges); }

constexpr std::size_t most_told = 4;

std::string edges(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " edge" : " edges");
}

class EdgeSearch final : public TreeAllreduce<OddEdges, FoundEdges> {
 public:
  EdgeSearch(const RankTree& tree, std::span<const int> sources, std::span<const int> destinations)
      : blocks_(tree.blocks), rank_(tree.rank) {
    for (const int peer : destinations) count(edges_[{rank_, peer}].by_source);
    for (const int peer : sources) count(edges_[{peer, rank_}].by_destination);
    settle_within();
  }
  void hear(int, OddEdges report) override {
    for (const NamedEdge& edge : report.edges) {
      Named& named = edges_[edge.ends];
      if (edge.named.by_source >= 0) named.by_source = edge.named.by_source;
      if (edge.named.by_destination >= 0) named.by_destination = edge.named.by_destination;
    }
    settle_within();
  }
  OddEdges report() override {
    OddEdges report;
    for (const auto& [ends, named] : edges_) report.edges.push_back({ends, named});
    return report;
  }
  void decide() override {
    for (auto& [ends, named] : edges_) {
      if (named.by_source < 0) named.by_source = 0;
      if (named.by_destination < 0) named.by_destination = 0;
    }
    require(!edges_.empty(), Fault::internal,
            "the sum over all edges is not 0, but both ends of each know it");
    first_ = {edges_.begin()->first, edges_.begin()->second};
  }
  void learn(FoundEdges found) override {
    first_ = found.first;
    edges_.clear();
    for (const NamedEdge& edge : found.edges) edges_[edge.ends] = edge.named;
  }
  FoundEdges instruct(const RankTree::Child& child) override {
    FoundEdges found{first_, {}};
    const std::int64_t end = child.rank + blocks_.size(child.level);
    const auto within = [&](int rank) { return rank >= child.rank && rank < end; };
    for (const auto& [ends, named] : edges_) {
      if (within(ends.source) || within(ends.destination)) found.edges.push_back({ends, named});
    }
    return found;
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    std::size_t told = 0, own = 0;
    for (const auto& [ends, named] : edges_) {
      if (ends.source != rank_ && ends.destination != rank_) continue;
      if (++own > most_told) continue;
      text << (told++ > 0 ? "; " : "") << sentence(ends, named);
    }
    if (own > most_told) text << "; and so with " << own - most_told << " more";
    if (own == 0) text << sentence(first_.ends, first_.named);
    text << "; both ends of a graph's edges must name them, and equally often";
    return text.str();
  }

 private:
  static void count(std::int64_t& named) { named = named < 0 ? 1 : named + 1; }
  static std::string sentence(const Ends& ends, const Named& named) {
    std::ostringstream text;
    const auto [from, to] = ends;
    text << "rank " << from << " has " << edges(named.by_source) << " to rank " << to
         << ", but rank " << to << " has " << edges(named.by_destination) << " from rank " << from;
    return text.str();
  }
  void settle_within() {
    std::erase_if(edges_, [](const auto& edge) {
      return edge.second.by_source == edge.second.by_destination;
    });
  }

  RankBlocks blocks_;
  int rank_;
  std::map<Ends, Named> edges_;
  NamedEdge first_;
};

}  // namespace

std::uint64_t edge_sum(int rank, std::span<const int> sources, std::span<const int> destinations) {
  const auto number = [](int from, int to) {
    return scramble((static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to));
  };
  std::uint64_t sum = 0;
  for (const int peer : destinations) sum += number(rank, peer);
  for (const int peer : sources) sum -= number(peer, rank);
  return sum;
}

Task<Error> find_odd_edges(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                           std::span<const int> sources, std::span<const int> destinations) {
  EdgeSearch search(tree, sources, destinations);
  co_await tree_allreduce(talk, tree, faults, search);
  faults.settle();
  co_return Error(Fault::count, search.text());
}

}  // namespace vicinal
