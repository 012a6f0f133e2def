// The control messages of the three supersteps of negotiation.hpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/control_messages.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/passage.hpp"
#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"

namespace vicinal::common_neighbor {

/// Superstep 1, to the region: this rank's links to other regions.
struct Links {
  static constexpr std::string_view name = "links of a member";
  Status status;
  Index distinct = 0;  ///< elements of all links, each item once
  std::vector<OutgoingLink> out;
};
void fields(auto&& take, Is<Links> auto& it) { take(it.status, it.distinct, it.out); }

/// Superstep 2, to the rank that delivers for this rank: where it finds the items.
struct SupplyMessage {
  static constexpr std::string_view name = "supply";
  struct Link {
    int destination = 0;
    Index count = 0;
    std::vector<LinkPiece> pieces;  ///< in the supplied data
  };
  Status status;
  Passage passage;
  std::vector<Link> links;
};
void fields(auto&& take, Is<SupplyMessage::Link> auto& it) {
  take(it.destination, it.count, it.pieces);
}
void fields(auto&& take, Is<SupplyMessage> auto& it) { take(it.status, it.passage, it.links); }

/// Superstep 3, to the destination of a link: where it finds the items.
struct ArrivalMessage {
  static constexpr std::string_view name = "arrival";
  Status status;
  int origin = 0;  ///< the rank whose link it is
  Index count = 0;
  Passage passage;
  std::vector<LinkPiece> pieces;
};
void fields(auto&& take, Is<ArrivalMessage> auto& it) {
  take(it.status, it.origin, it.count, it.passage, it.pieces);
}

}  // namespace vicinal::common_neighbor
