// What the ranks of a halving tell each other beside the selection of agents (agents.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "base/letters.hpp"
#include "planners/faults.hpp"
#include "planners/passage.hpp"

namespace vicinal::halving {

enum class Side : std::int64_t { from_source, from_destination };

/// What one end of the edges between two ranks knows of them.
struct EdgeCounts {
  static constexpr std::string_view name = "edges";
  Status status;
  Side side = Side::from_source;
  int region_leader = 0;  ///< of the writer's region
  std::vector<Index> counts;
};
void fields(auto&& take, Is<EdgeCounts> auto& it) {
  take(it.status, it.side, it.region_leader, it.counts);
}

/// To the agent of a step: what it is to see to.
struct HopLetter {
  static constexpr std::string_view name = "hop";
  struct Load {
    int origin = 0;
    Index count = 0;
    Words destinations;  ///< edge and rank of each in a word, as there may be very many
  };
  Status status;
  Passage passage;  ///< of as many elements as all parcels have
  std::vector<Load> parcels;
};
void fields(auto&& take, Is<HopLetter::Load> auto& it) {
  take(it.origin, it.count, it.destinations);
}
void fields(auto&& take, Is<HopLetter> auto& it) { take(it.status, it.passage, it.parcels); }

/// To the destination of an edge: where it finds its items.
struct DeliveryLetter {
  static constexpr std::string_view name = "edge's delivery";
  Status status;
  Passage passage;  ///< to the carrier's main buffer, or a message
  int origin = 0;
  int edge = 0;
  Index count = 0;
  Index offset = 0;  ///< in there
};
void fields(auto&& take, Is<DeliveryLetter> auto& it) {
  take(it.status, it.passage, it.origin, it.edge, it.count, it.offset);
}

}  // namespace vicinal::halving
