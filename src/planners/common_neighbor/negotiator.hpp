// One rank's state while the ranks agree on who delivers what. Three supersteps:
//   1. the active ranks of a region tell each other their links to other regions; each then
//      computes the same groups and deliveries;
//   2. members tell those who deliver for them where they hand the items over, and how the links to
//      the delivered neighbours are made of them;
//   3. whoever delivers the link of two ranks tells the receiver where in which message its items
//      come, and the receiver tells the sender how many it expects, so that both ends find out
//      where their counts differ. Each rank expects one letter for each rank that it has edges
//      from, and one for each that it has edges to.
// All numbers of expected letters follow from the graph and from the letters of superstep 1, which
// all members have read; a rank at fault sends its letters marked.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"
#include "planners/common_neighbor/letters.hpp"
#include "planners/common_neighbor/routes.hpp"
#include "planners/planner.hpp"

namespace vicinal::common_neighbor {

class CommonNeighborNegotiator {
 public:
  explicit CommonNeighborNegotiator(PlanRequest& request);

  /// A rank without edges is done at once, and nobody counts on it.
  [[nodiscard]] bool takes_part() const;

  [[nodiscard]] std::vector<Letter> write_links() const;
  [[nodiscard]] Expected expected_links() const;
  void read_links(const std::vector<Letter>& inbox);

  std::vector<Letter> write_supplies();
  [[nodiscard]] Expected expected_supplies() const;
  void read_supplies(const std::vector<Letter>& inbox);

  std::vector<Letter> write_arrivals();
  [[nodiscard]] Expected expected_arrivals() const;
  void read_arrivals(const std::vector<Letter>& inbox);

  /// The routes, or the fault.
  CommonNeighborRoutes finish();

 private:
  /// The link from `origin` to a rank that this rank delivers it to.
  struct Contribution {
    int origin = 0;
    Index count = 0;
    std::vector<Piece> pieces;  ///< in what the origin supplies
  };

  [[nodiscard]] std::set<int> suppliers() const;
  [[nodiscard]] Via via(int other) const;
  [[nodiscard]] bool leaves_region(int peer) const;
  /// A link inside the region whose receiver takes its items from the exhibit.
  [[nodiscard]] bool exhibited(const OutLink& link) const;
  std::int64_t new_tag();
  void exhibit();
  [[nodiscard]] SupplyLetter supply_of(const Passage& passage, Index extent,
                                       const std::vector<int>& destinations,
                                       const std::map<int, std::vector<Piece>>& pieces) const;
  SupplyLetter message_supply(int deliverer, const std::vector<int>& destinations);
  void deliver(int destination, const std::vector<Contribution>& contributions,
               std::vector<Letter>& outbox);
  void read_arrival(int carrier, const ArrivalLetter& arrival);
  Contribution own_contribution(int destination) const;

  PlanRequest& request_;
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  int rank_;
  FaultRecord faults_;
  std::map<int, OutLink> out_links_;
  std::map<int, InLink> in_links_;
  std::vector<Delivery> delivered_;              ///< by this rank
  std::map<int, std::vector<int>> entrusted_;    ///< destinations, by who delivers this rank's link
  bool no_room_ = false;                         ///< for an exhibit: messages serve
  std::map<int, int> readers_;                   ///< of the exhibit: rank -> peer index
  std::map<int, std::vector<Piece>> exhibited_;  ///< by destination
  std::map<int, std::map<int, Contribution>> contributions_;   ///< by destination, by origin
  std::map<int, Supply> supplies_;                             ///< by owner
  std::map<std::pair<int, std::int64_t>, Straight> receives_;  ///< by sender and tag
  CommonNeighborRoutes routes_;
};

}  // namespace vicinal::common_neighbor
