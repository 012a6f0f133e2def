// The agreement of ranks on deliveries, in three supersteps:
//   1. the active ranks of a region tell each other their links to other regions; each rank then
//      computes the same groups and deliveries;
//   2. members tell the ranks that deliver for them where they hand over items, and how these make
//      up the links to the delivered neighbours;
//   3. the rank that delivers a link tells the receiver where in which message its items are.
//      The receiver tells the sender how many it expects, so that both detect differing counts.
//      Each rank expects one control message for each rank that it has edges from, and one for each
//      that it has edges to.
// The numbers of expected control messages follow from the graph and from the control messages of
// superstep 1, which all members have read. A failed rank marks its control messages.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "negotiate/ground.hpp"
#include "planners/common_neighbor/control_messages.hpp"
#include "planners/common_neighbor/groups.hpp"
#include "planners/common_neighbor/layout.hpp"

namespace vicinal::common_neighbor {

class CommonNeighborNegotiation : public Ground {
 public:
  explicit CommonNeighborNegotiation(PlanRequest& request);

  Task<Plans> run();

 private:
  /// The link from `origin` to a destination that this rank delivers to.
  struct Contribution {
    int origin = 0;
    Index count = 0;
    std::vector<LinkPiece> pieces;  ///< in the data that the origin supplies
  };

  // The supersteps.
  Task<Done> form_groups();
  Task<Done> supply();
  Task<Done> deliver();

  void divide(std::vector<GroupMember> members);
  /// Returns whether the receiver of a link inside the region takes its items from the exhibit.
  [[nodiscard]] bool exhibited(const OutLink& link) const;
  void exhibit();
  [[nodiscard]] std::vector<CopyRun> picks_of_reader(int reader) const;
  [[nodiscard]] SupplyMessage supply_of(const Passage& passage,
                                        const std::vector<int>& destinations,
                                        const std::map<int, std::vector<LinkPiece>>& pieces) const;
  SupplyMessage message_supply(int deliverer, const std::vector<int>& destinations);
  [[nodiscard]] std::set<int> suppliers() const;
  void accept(int supplier, SupplyMessage message);
  int exhibit_of(int owner, const Passage& passage, const std::vector<LinkPiece>& pieces);
  void send(int destination, const std::vector<Contribution>& contributions,
            ControlMessages& outbox);
  void write_arrivals(ControlMessages& outbox);
  [[nodiscard]] Expected expected_arrivals() const;
  void accept(int carrier, const ArrivalMessage& arrival);
  [[nodiscard]] Contribution own_contribution(int destination) const;

  std::vector<Delivery> delivered_;                           ///< by this rank
  std::map<int, std::vector<int>> entrusted_;                 ///< destinations, by deliverer
  bool no_room_ = false;                                      ///< for an exhibit: messages are used
  std::map<int, Passage> readers_;                            ///< of the exhibit, by rank
  std::map<int, std::vector<LinkPiece>> exhibited_;           ///< by destination
  std::map<int, std::map<int, Contribution>> contributions_;  ///< by destination, by origin
  std::map<int, int> supplied_;                    ///< stores, by the rank whose items they hold
  std::map<int, std::vector<CopyRun>> looked_at_;  ///< parts of others' exhibits, by owner
  std::map<std::pair<int, std::int64_t>, std::size_t> arriving_;  ///< transfers, by carrier and tag
};

}  // namespace vicinal::common_neighbor
