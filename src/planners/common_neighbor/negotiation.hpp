// How the ranks agree on who delivers what, in three supersteps:
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
#include <utility>
#include <vector>

#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"
#include "planners/common_neighbor/letters.hpp"
#include "planners/ground.hpp"

namespace vicinal::common_neighbor {

class CommonNeighborNegotiation : public Ground {
 public:
  explicit CommonNeighborNegotiation(PlanRequest& request);

  Task<Plans> run();

 private:
  /// The link from `origin` to a rank that this rank delivers it to.
  struct Contribution {
    int origin = 0;
    Index count = 0;
    std::vector<LinkPiece> pieces;  ///< in what the origin supplies
  };

  // The supersteps.
  Task<Done> form_groups();
  Task<Done> supply();
  Task<Done> deliver();

  void divide(std::vector<GroupMember> members);
  /// A link inside the region whose receiver takes its items from the exhibit.
  [[nodiscard]] bool exhibited(const OutLink& link) const;
  void exhibit();
  [[nodiscard]] std::vector<CopyRun> picks_of_reader(int reader) const;
  [[nodiscard]] SupplyLetter supply_of(const Passage& passage, const std::vector<int>& destinations,
                                       const std::map<int, std::vector<LinkPiece>>& pieces) const;
  SupplyLetter message_supply(int deliverer, const std::vector<int>& destinations);
  [[nodiscard]] std::set<int> suppliers() const;
  void accept(int supplier, SupplyLetter letter);
  int exhibit_of(int owner, const Passage& passage, const std::vector<LinkPiece>& pieces);
  void send(int destination, const std::vector<Contribution>& contributions, Letters& outbox);
  void write_arrivals(Letters& outbox);
  [[nodiscard]] Expected expected_arrivals() const;
  void accept(int carrier, const ArrivalLetter& arrival);
  [[nodiscard]] Contribution own_contribution(int destination) const;

  std::vector<Delivery> delivered_;            ///< by this rank
  std::map<int, std::vector<int>> entrusted_;  ///< destinations, by who delivers this rank's link
  bool no_room_ = false;                       ///< for an exhibit: messages serve
  std::map<int, Passage> readers_;             ///< of the exhibit, by rank
  std::map<int, std::vector<LinkPiece>> exhibited_;           ///< by destination
  std::map<int, std::map<int, Contribution>> contributions_;  ///< by destination, by origin
  std::map<int, int> supplied_;                               ///< stores, by whose items they hold
  std::map<int, std::vector<CopyRun>> looked_at_;             ///< of others' exhibits, by owner
  std::map<std::pair<int, std::int64_t>, std::size_t> arriving_;  ///< transfers, by carrier and tag
};

}  // namespace vicinal::common_neighbor
