// The exchange that benchmarks share: each rank needs each of every other rank's 64 eight-byte
// values with probability 0.2.
#pragma once

#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

constexpr int values_per_rank = 64;
constexpr double probability = 0.2;

/// Returns the values of `origin` that `reader` needs; equal on all ranks.
inline std::vector<std::int64_t> wanted(int origin, int reader) {
  std::mt19937 random(static_cast<unsigned>(origin * 4099 + reader));
  std::bernoulli_distribution needs(probability);
  std::vector<std::int64_t> items;
  for (std::int64_t item = 0; item < values_per_rank; ++item) {
    if (needs(random)) items.push_back(item);
  }
  return items;
}

inline double value_of(int origin, std::int64_t item) {
  return origin * values_per_rank + static_cast<double>(item);
}

/// One rank's arguments of the collective.
struct Exchange {
  std::vector<int> neighbours;
  std::vector<int> send_counts, send_offsets, receive_counts, receive_offsets;
  std::vector<std::int64_t> items;
  std::vector<double> sent, received, expected;

  explicit Exchange(const World& world) {
    for (int other = 0; other < world.size(); ++other) {
      if (other == world.rank()) continue;
      neighbours.push_back(other);
      send_offsets.push_back(static_cast<int>(sent.size()));
      receive_offsets.push_back(static_cast<int>(expected.size()));
      for (const std::int64_t item : wanted(world.rank(), other)) {
        items.push_back(item);
        sent.push_back(value_of(world.rank(), item));
      }
      for (const std::int64_t item : wanted(other, world.rank())) {
        expected.push_back(value_of(other, item));
      }
      send_counts.push_back(static_cast<int>(sent.size()) - send_offsets.back());
      receive_counts.push_back(static_cast<int>(expected.size()) - receive_offsets.back());
    }
    received.resize(expected.size());
  }

  [[nodiscard]] int degree() const { return static_cast<int>(neighbours.size()); }

  MPI_Comm mpi_graph(const World& world) const {
    MPI_Comm graph = MPI_COMM_NULL;
    MPI_Dist_graph_create_adjacent(world.handle(), degree(), neighbours.data(), MPI_UNWEIGHTED,
                                   degree(), neighbours.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    return graph;
  }
  vicinal_graph graph(const World& world) const {
    vicinal_graph graph = VICINAL_GRAPH_NULL;
    vicinal_graph_create_adjacent(world.handle(), degree(), neighbours.data(), MPI_UNWEIGHTED,
                                  degree(), neighbours.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                  &graph);
    return graph;
  }
  vicinal_request plan(vicinal_graph graph, const std::string& strategy) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "vicinal_strategy", strategy.c_str());
    vicinal_request request = VICINAL_REQUEST_NULL;
    vicinal_neighbor_alltoallv_items_init(sent.data(), send_counts.data(), send_offsets.data(),
                                          items.data(), MPI_DOUBLE, received.data(),
                                          receive_counts.data(), receive_offsets.data(), MPI_DOUBLE,
                                          graph, info, &request);
    MPI_Info_free(&info);
    return request;
  }
};

}  // namespace bench
