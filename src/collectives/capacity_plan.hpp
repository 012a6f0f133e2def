// The plan of calls with counts. It reserves a number of bytes, the capacity, for each edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "choose/contest.hpp"
#include "choose/executions.hpp"

namespace vicinal {

/// A plan with capacities, and the layout of the data that it moves, in words of eight bytes. The
/// first word of each edge's piece is a header with the number of bytes that follow.
struct CapacityPlan {
  /// Buffers and executions of one channel. Calls use it one after the other.
  struct ChannelState {
    std::unique_ptr<Executions> executions;
    std::vector<std::int64_t> source;
    std::vector<std::int64_t> target;
    [[nodiscard]] Binding binding();
  };
  /// Layout of one side.
  struct Rooms {
    std::vector<std::int64_t> capacities;  ///< in bytes, by piece
    std::vector<Index> places;             ///< by piece, in words
    Index words = 0;
    explicit Rooms(std::vector<std::int64_t> all);
    [[nodiscard]] std::size_t piece_of(std::size_t edge) const {
      return std::min(edge, capacities.size() - 1);
    }
    [[nodiscard]] Index size(std::size_t piece) const { return 1 + (capacities[piece] + 7) / 8; }
  };
  Rooms out;           ///< a single piece if all edges carry the same block
  Rooms in;            ///< one piece per edge
  std::int64_t first;  ///< number of the first call that uses it
  Chosen chosen;
  std::vector<ChannelState> channels;

  /// Allocates the memory that later calls need, so that none of them fails to allocate it.
  void make_channels();
  /// Returns whether its contest has found one message per edge to be fastest, as far as this
  /// rank's plan shows.
  [[nodiscard]] bool is_better_direct(const Neighborhood& neighborhood) const;
};

/// Returns whether a plan does more than send each edge's data directly to its receiver.
bool is_more_than_direct(const Plan& plan, const Neighborhood& neighborhood);

}  // namespace vicinal
