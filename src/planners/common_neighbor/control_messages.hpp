// What is said in the three supersteps of negotiation.hpp.
#pragma once

#include <string_view>
#include <vector>

#include "base/letters.hpp"
#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"
#include "planners/faults.hpp"
#include "planners/passage.hpp"

namespace vicinal::common_neighbor {

/// Superstep 1, to the region: this rank's links to other regions.
struct Links {
  static constexpr std::string_view name = "links of a member";
  Status status;
  Index distinct = 0;  ///< elements of all of them, each item once
  std::vector<OutgoingLink> out;
};
void fields(auto&& take, Is<Links> auto& it) { take(it.status, it.distinct, it.out); }

/// Superstep 2, to who delivers for this rank: where it finds the items.
struct SupplyLetter {
  static constexpr std::string_view name = "supply";
  struct Link {
    int destination = 0;
    Index count = 0;
    std::vector<LinkPiece> pieces;  ///< in what is supplied
  };
  Status status;
  Passage passage;
  std::vector<Link> links;
};
void fields(auto&& take, Is<SupplyLetter::Link> auto& it) {
  take(it.destination, it.count, it.pieces);
}
void fields(auto&& take, Is<SupplyLetter> auto& it) { take(it.status, it.passage, it.links); }

/// Superstep 3, to the destination of a link: where it finds the items.
struct ArrivalLetter {
  static constexpr std::string_view name = "arrival";
  Status status;
  int origin = 0;  ///< whose link it is
  Index count = 0;
  Passage passage;
  std::vector<LinkPiece> pieces;
};
void fields(auto&& take, Is<ArrivalLetter> auto& it) {
  take(it.status, it.origin, it.count, it.passage, it.pieces);
}

}  // namespace vicinal::common_neighbor
