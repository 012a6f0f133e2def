// Control messages of a halving, except for the selection of agents (agents.cpp).
#pragma once

#include <string_view>
#include <vector>

#include "base/control_messages.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/passage.hpp"

namespace vicinal::halving {

enum class Side : std::int64_t { from_source, from_destination };

/// One end's knowledge of the edges between two ranks.
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

/// To the agent of a step: the parcels that it takes over.
struct HopMessage {
  static constexpr std::string_view name = "hop";
  struct Load {
    int origin = 0;
    Index count = 0;
    Words destinations;  ///< edge and rank of each in one word, as there may be very many
  };
  Status status;
  Passage passage;  ///< as long as all parcels together
  std::vector<Load> parcels;
};
void fields(auto&& take, Is<HopMessage::Load> auto& it) {
  take(it.origin, it.count, it.destinations);
}
void fields(auto&& take, Is<HopMessage> auto& it) { take(it.status, it.passage, it.parcels); }

/// To the destination of an edge: where it finds its items.
struct DeliveryMessage {
  static constexpr std::string_view name = "edge's delivery";
  Status status;
  Passage passage;  ///< to the carrier's main buffer, or a message
  int origin = 0;
  int edge = 0;
  Index count = 0;
  Index offset = 0;  ///< in that buffer or message
};
void fields(auto&& take, Is<DeliveryMessage> auto& it) {
  take(it.status, it.passage, it.origin, it.edge, it.count, it.offset);
}

}  // namespace vicinal::halving
