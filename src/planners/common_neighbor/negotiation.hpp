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
#include <string_view>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/ground.hpp"
#include "negotiate/transfers.hpp"
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
