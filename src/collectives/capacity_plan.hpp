// The plan by which calls with counts go, with room for so many bytes on each edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "choose/contest.hpp"
#include "choose/executions.hpp"

namespace vicinal {

/// A plan with capacities, and where the pieces of its edges lie in what it moves: words of eight bytes, of which the
/// first says how many bytes follow.
struct CapacityPlan {
  /// One of its executions in flight; calls use it one after the other.
  struct Turn {
    std::unique_ptr<Executions> executions;
    std::vector<std::int64_t> source;
    std::vector<std::int64_t> target;
    [[nodiscard]] Binding binding();
  };
  /// One side.
  struct Rooms {
    std::vector<std::int64_t> capacities;  ///< bytes, by piece
    std::vector<Index> places;             ///< by piece, in words
    Index words = 0;
    explicit Rooms(std::vector<std::int64_t> all);
    [[nodiscard]] std::size_t piece_of(std::size_t edge) const {
      return std::min(edge, capacities.size() - 1);
    }
    [[nodiscard]] Index size(std::size_t piece) const { return 1 + (capacities[piece] + 7) / 8; }
  };
  Rooms out;           ///< a single piece where all edges carry the same block
  Rooms in;            ///< by edge
  std::int64_t first;  ///< the number of the first call that goes by it
  Chosen chosen;
  std::vector<Turn> turns;

  /// All that later calls may need memory for, so that none of them fails for want of it.
  void make_turns();
  /// Whether its contest has found that one message per edge is the quickest, as far as this rank is concerned.
  [[nodiscard]] bool is_better_direct(const Neighborhood& neighborhood) const;
};

/// Whether a plan does anything else than to send each edge's data straight to where they are needed.
bool is_more_than_direct(const Plan& plan, const Neighborhood& neighborhood);

}  // namespace vicinal
