// Allgathers over graphs: each rank sends one block of items to all of its neighbors.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "pattern/pattern.hpp"

namespace vicinal::testing {

/// Destinations of each rank, repeated where several edges go to one rank.
using OutEdges = std::vector<std::vector<int>>;

/// Returns the patterns of an allgather over the graph; rank r has `items(r)` items.
template <class Items>
std::vector<Pattern> block_patterns(const OutEdges& graph, Items items) {
  std::vector<Pattern> patterns(graph.size());
  std::vector<Index> filled(graph.size(), 0);
  for (std::size_t from = 0; from < graph.size(); ++from) {
    patterns[from].identity = true;
    const Index count = items(static_cast<int>(from));
    for (const int to : graph[from]) {
      const auto t = static_cast<std::size_t>(to);
      patterns[from].out.push_back({to, {{0, 0, count}}});
      patterns[t].in.push_back({static_cast<int>(from), count, {{0, filled[t], count}}});
      filled[t] += count;
    }
  }
  return patterns;
}

/// Draws an Erdős-Rényi graph: each edge exists with probability `density`.
inline OutEdges random_graph(int ranks, double density, unsigned seed) {
  std::mt19937 generator(seed);
  std::bernoulli_distribution edge(density);
  OutEdges graph(static_cast<std::size_t>(ranks));
  for (auto& destinations : graph) {
    for (int to = 0; to < ranks; ++to) {
      if (edge(generator)) destinations.push_back(to);
    }
  }
  return graph;
}

}  // namespace vicinal::testing
