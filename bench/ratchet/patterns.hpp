// The patterns that the ratchet measures: the values that each rank has for each other. All ranks
// know all of them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "random_exchange.hpp"

namespace bench {

/// Returns the identities of one rank's values that another needs, in the order in which they are
/// sent.
using Wanted = std::function<std::vector<std::int64_t>(int origin, int reader)>;

struct Pattern {
  std::string name;
  Wanted wanted;
  /// Values for several ranks have common identities.
  bool identified = false;
};

inline std::vector<std::int64_t> first_values(int count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}

inline Pattern random_values() { return {"D", wanted, true}; }

/// Returns a pattern in which each rank has 64 values for 8 others, near and far.
inline Pattern eight_neighbors(int ranks) {
  return {"N = 8", [ranks](int origin, int reader) {
            int edges = 0;
            for (const int step : {1, 2, 3, 5, 8, 13, 19, 27}) {
              edges += reader != origin && reader == (origin + step) % ranks ? 1 : 0;
            }
            return first_values(64 * edges);
          }};
}

/// Positions of ranks in a three-dimensional grid.
class Grid {
 public:
  explicit Grid(int ranks) { MPI_Dims_create(ranks, 3, sizes_.data()); }
  [[nodiscard]] std::array<int, 3> place(int rank) const {
    return {rank / (sizes_[1] * sizes_[2]), rank / sizes_[2] % sizes_[1], rank % sizes_[2]};
  }
  /// Returns how many values of a cube of `side` touch the neighbor's cube: a face, an edge, a
  /// corner, or 0.
  [[nodiscard]] int touching(int a, int b, int side) const {
    const auto from = place(a), to = place(b);
    int count = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const int step = std::abs(from[i] - to[i]);
      if (step > 1) return 0;
      if (step == 0) count *= side;
    }
    return a == b ? 0 : count;
  }

 private:
  std::array<int, 3> sizes_{};
};

/// Returns the halo of a 27-point stencil on a cube of `side` points per rank.
inline Pattern stencil(int ranks, int side) {
  return {"27 points, side " + std::to_string(side), [grid = Grid(ranks), side](int a, int b) {
            return first_values(grid.touching(a, b, side));
          }};
}

/// Returns the pattern of 1,000 ranks of a shock simulation (26 neighbors, faces of 36 values), in
/// blocks on `ranks` ranks. An edge has at most 1,024 values.
inline Pattern folded(int ranks) {
  static constexpr int virtual_ranks = 1000, side = 6, most = 1024;
  std::vector<int> counts(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks));
  const Grid grid(virtual_ranks);
  for (int a = 0; a < virtual_ranks; ++a) {
    for (int b = 0; b < virtual_ranks; ++b) {
      const int from = a * ranks / virtual_ranks, to = b * ranks / virtual_ranks;
      if (from != to)
        counts[static_cast<std::size_t>(from * ranks + to)] += grid.touching(a, b, side);
    }
  }
  return {"LULESH's, folded", [counts, ranks](int a, int b) {
            return first_values(std::min(most, counts[static_cast<std::size_t>(a * ranks + b)]));
          }};
}

/// One rank's arguments of an exchange by a pattern.
struct Arguments {
  std::vector<int> sources, destinations;
  std::vector<int> send_counts, send_offsets, receive_counts, receive_offsets;
  std::vector<std::int64_t> items;
  std::vector<double> sent, received, expected;

  Arguments(const Pattern& pattern, int rank, int ranks) {
    for (int other = 0; other < ranks; ++other) {
      if (other == rank) continue;
      const auto there = pattern.wanted(rank, other), here = pattern.wanted(other, rank);
      if (!there.empty()) {
        destinations.push_back(other);
        send_offsets.push_back(static_cast<int>(sent.size()));
        send_counts.push_back(static_cast<int>(there.size()));
        for (const std::int64_t item : there) sent.push_back(value_of(rank, item));
        items.insert(items.end(), there.begin(), there.end());
      }
      if (!here.empty()) {
        sources.push_back(other);
        receive_offsets.push_back(static_cast<int>(expected.size()));
        receive_counts.push_back(static_cast<int>(here.size()));
        for (const std::int64_t item : here) expected.push_back(value_of(other, item));
      }
    }
    received.resize(expected.size());
  }

 private:
  static double value_of(int origin, std::int64_t item) {
    return origin * 65536.0 + static_cast<double>(item);
  }
};

}  // namespace bench
