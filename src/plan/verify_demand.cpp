// Computes the requirements of the patterns. Pairs the k-th out-edge between two ranks with the
// k-th in-edge. Positions that hold the same item are joined, so that a plan may read the item from
// any of them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "plan/verify.hpp"

namespace vicinal::detail {

namespace {

struct Arrival {  // an out-edge, as its receiver sees it
  int sender;
  const OutEdge* edge;
};

Index owned_extent(const Plan& plan, const Pattern& pattern) {
  Index extent = plan.buffers[plan.reverse ? Plan::target : Plan::source].extent;
  for (const OutEdge& edge : pattern.out) {
    for (const ItemRun& run : edge.items) {
      require(run.position >= 0, Fault::internal, "rank ", plan.rank, " has an item at position ",
              run.position, " of its buffer; positions must not be negative");
      extent = std::max(extent, run.position + run.count);
    }
  }
  return extent;
}

Index ghost_extent(const Plan& plan, const Pattern& pattern) {
  Index extent = plan.buffers[plan.reverse ? Plan::source : Plan::target].extent;
  for (const InEdge& edge : pattern.in) {
    for (const CopyRun& run : edge.slots) {
      require(run.target >= 0, Fault::internal, "rank ", plan.rank, " has slot ", run.target,
              " of its buffer filled; slots must not be negative");
      extent = std::max(extent, run.target + run.count);
    }
  }
  return extent;
}

/// Maps each position of one rank to the first position that holds the same item.
void join_positions(const Pattern& pattern, Index first, std::vector<Index>& item) {
  const auto root = [&](Index element) {
    while (item[element] != element) element = item[element] = item[item[element]];
    return element;
  };
  std::vector<std::pair<Index, Index>> named;
  for (const OutEdge& edge : pattern.out) {
    for (const ItemRun& run : edge.items) {
      for (Index i = 0; i < run.count; ++i) named.emplace_back(run.identity + i, run.position + i);
    }
  }
  std::sort(named.begin(), named.end());
  for (std::size_t i = 1; i < named.size(); ++i) {
    if (named[i - 1].first != named[i].first) continue;
    const Index a = root(first + named[i - 1].second);
    const Index b = root(first + named[i].second);
    item[std::max(a, b)] = std::min(a, b);
  }
  for (const auto& [identity, position] : named) {
    item[first + position] = root(first + position);
  }
}

/// Reports the first difference between the sorted edges of a rank and those of its peers.
[[noreturn]] void disagree(int rank, int sender, int source) {
  if (sender < source) {
    fail(Fault::internal, "the patterns disagree: rank ", sender, " has an edge to rank ", rank,
         ", which has no edge from it to pair with");
  }
  fail(Fault::internal, "the patterns disagree: rank ", rank, " has an edge from rank ", source,
       ", which has no edge to it to pair with");
}

std::string describe(const char* what, const std::vector<Index>& first, Index element) {
  const auto next = std::upper_bound(first.begin(), first.end(), element);
  return what + std::to_string(element - *(next - 1)) + " of rank " +
         std::to_string(next - first.begin() - 1);
}

}  // namespace

Demand::Demand(const Program& program, std::span<const Pattern> patterns)
    : first_owned{0}, first_ghost{0} {
  const int ranks = program.ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    check(patterns[rank], ranks);
    first_owned.push_back(first_owned.back() + owned_extent(program.plans[rank], patterns[rank]));
    first_ghost.push_back(first_ghost.back() + ghost_extent(program.plans[rank], patterns[rank]));
  }
  item.resize(first_owned.back());
  std::iota(item.begin(), item.end(), Index{0});
  wanted.assign(first_ghost.back(), -1);

  std::vector<std::vector<Arrival>> arrivals(patterns.size());  // by receiver, then by sender
  for (int rank = 0; rank < ranks; ++rank) {
    if (patterns[rank].identity) join_positions(patterns[rank], first_owned[rank], item);
    for (const OutEdge& edge : patterns[rank].out) arrivals[edge.rank].push_back({rank, &edge});
  }

  std::vector<Index> items;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<const InEdge*> edges;
    for (const InEdge& edge : patterns[rank].in) edges.push_back(&edge);
    std::stable_sort(edges.begin(), edges.end(),
                     [](const InEdge* a, const InEdge* b) { return a->rank < b->rank; });
    const auto& arriving = arrivals[rank];
    for (std::size_t i = 0; i < std::max(edges.size(), arriving.size()); ++i) {
      const int sender = i < arriving.size() ? arriving[i].sender : ranks;
      const int source = i < edges.size() ? edges[i]->rank : ranks;
      if (sender != source) disagree(rank, sender, source);
      const InEdge& in = *edges[i];
      items.clear();
      for (const ItemRun& run : arriving[i].edge->items) {
        for (Index k = 0; k < run.count; ++k) {
          items.push_back(item[first_owned[sender] + run.position + k]);
        }
      }
      require(in.count == static_cast<Index>(items.size()), Fault::internal,
              "the patterns disagree: rank ", sender, " sends ", items.size(), " items to rank ",
              rank, ", which expects ", in.count);
      for (const CopyRun& run : in.slots) {
        std::copy_n(items.begin() + run.source, run.count,
                    wanted.begin() + first_ghost[rank] + run.target);
      }
    }
  }
}

std::string Demand::describe_owned(Index element) const {
  return describe("owned element ", first_owned, element);
}

std::string Demand::describe_ghost(Index slot) const {
  return describe("slot ", first_ghost, slot);
}

}  // namespace vicinal::detail
