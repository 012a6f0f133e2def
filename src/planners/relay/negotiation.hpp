// The agreement of ranks on carriers, in five supersteps, three of them inside regions:
//
//   1  every active rank tells its region its traffic with each other region; all members compute
//      the same leaders
//   2  contributors hand their streams to their leaders; each region's first leader introduces
//      itself to the other region's contact, the one rank there that both know
//   3  contacts forward the introductions; the leaders of both sides then know both sides and reach
//      the same decision
//   4  sending leaders tell contributors where to put their items, and receiving leaders the
//      contents of the message; receiving leaders tell consumers the decision
//   5  receiving leaders tell consumers where to find their items; the ends of edges that are sent
//      directly compare counts
//
// A policy that never relays needs only the last one. Until both sides have agreed, the number of
// expected control messages depends on the graph's edges alone. So a failed rank completes all
// supersteps with marked control messages, and no rank waits in vain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cost/transport.hpp"
#include "negotiate/ground.hpp"
#include "planners/relay/control_messages.hpp"
#include "planners/relay/leaders.hpp"

namespace vicinal {

/// Plans with a policy. Collective over the active ranks of the graph. Throws this rank's own
/// fault, or one of kind `elsewhere` that names the failed rank.
Task<Plans> plan_with(PlanRequest request, RelayPolicy policy, std::string_view planner);

/// Returns `peers` (ascending), ordered outward from `rank`: the nearest first, then alternately
/// above and below (Shafie Khorassani 2024, algorithms 2 and 3).
std::vector<int> nearest_first(int rank, std::vector<int> peers);

/// A region pair, as seen by a rank that contributes to it, leads it, or is its contact.
struct OutPair {
  std::size_t number = 0;  ///< of the region's link
  const RegionLink* link = nullptr;
  const LinkView* view = nullptr;  ///< after superstep 1
  bool contributes = false;        ///< this rank has edges of the pair
  Stream stream;                   ///< this rank's items for the far region, until cut_parts()
  std::vector<int> destinations;   ///< this rank's peers in the far region
  std::vector<std::size_t> led;    ///< parts that this rank leads
  Introduction far;                ///< known to the contact rank, then to the leaders
  std::map<std::size_t, std::vector<ContributedStream>> contributed;  ///< by led part
  Verdict verdict = Verdict::dead;
  /// This rank's items in a part.
  struct Contributed {
    std::size_t part = 0;
    Stream stream;
    std::int64_t tag = -1;
  };
  std::vector<Contributed> own;  ///< by part
};

struct InPair {
  std::size_t number = 0;
  const RegionLink* link = nullptr;
  const LinkView* view = nullptr;
  bool consumes = false;  ///< this rank has edges of the pair
  Introduction far;
  Verdict verdict = Verdict::dead;
  std::vector<int> far_leaders;  ///< by part; known to consumers after superstep 4
  bool far_by_contributor = false;
  struct Arriving {
    int leader = 0;  ///< the sender
    Layout layout;
  };
  std::vector<Arriving> arriving;  ///< parts that this rank receives
};

/// One rank's part in a negotiation.
class RelayNegotiation : public Ground {
 public:
  RelayNegotiation(PlanRequest& request, const RelayPolicy& policy);

  Task<Plans> run(std::string_view planner);

 private:
  using Entries = std::map<int, std::vector<Portion::Entry>>;  ///< by consumer

  /// A message between leaders that this rank sends or receives.
  struct Led {
    int peer = 0;
    std::int64_t tag = -1;
    Index count = 0;
    int store = -1;  ///< -1: all of it is this rank's own
  };

  // The supersteps: introduce.cpp (1 to 3), place.cpp (4), settle.cpp (5).
  Task<Done> tell_loads();
  Task<Done> hand_in_streams();
  Task<Done> pass_introductions_on();
  Task<Done> place_contributions();
  Task<Done> deliver();

  [[nodiscard]] bool leads(const std::vector<int>& leaders) const;
  static std::size_t number_of(const std::vector<RegionLink>& links, int region);
  /// Returns this rank's pair of that number, which it adds if it is missing.
  template <class Pair>
  static Pair& pair_of(std::vector<Pair>& pairs, const std::vector<RegionLink>& links,
                       std::size_t number) {
    auto place =
        std::lower_bound(pairs.begin(), pairs.end(), number,
                         [](const Pair& pair, std::size_t value) { return pair.number < value; });
    if (place == pairs.end() || place->number != number) {
      place = pairs.emplace(place);
      place->number = number;
      place->link = &links[number];
    }
    return *place;
  }
  OutPair& out_pair(int region);
  InPair& in_pair(int region);

  [[nodiscard]] Summary summary() const;
  void find_parts();
  void cut_parts(OutPair& pair);
  void introduce(ControlMessages& outbox) const;
  void expect_introductions(Expected& expected) const;
  void learn(Introduction far);
  [[nodiscard]] Verdict reach_verdict(const LinkView& own, const Introduction& far,
                                      bool sends) const;

  void place(OutPair& pair, std::size_t part, ControlMessages& outbox);
  std::vector<Passage> lay_out(Led& message, const std::vector<ContributedStream>& streams,
                               int region, std::size_t part);
  [[nodiscard]] Expected expected_placements() const;
  void contribute(int leader, const Placement& placement);

  [[nodiscard]] bool goes_straight(int peer, bool outgoing) const;
  [[nodiscard]] std::vector<int> in_order(std::vector<int> peers) const;
  void put_in_order_of_arrival(ControlMessages& inbox) const;
  void hand_on(InPair& pair, InPair::Arriving& arriving, ControlMessages& outbox);
  std::map<int, Portion> portions_of(Led& message, Entries entries);
  [[nodiscard]] StraightData straight_data(const OutLink& link) const;
  [[nodiscard]] bool sharing_pays(const OutLink& link) const;
  std::vector<std::int64_t> tags_for(const OutLink& link);
  void offer_straight(const OutLink& link, ControlMessages& outbox);
  void offer_links(ControlMessages& outbox);
  bool publish(const std::vector<const OutLink*>& links, ControlMessages& outbox);
  [[nodiscard]] Expected expected_deliveries() const;
  void take(int carrier, const Portion& portion, Phase phase);
  void accept(int sender, const Offer& offer);
  void send_led();
  void check_covered() const;
  [[nodiscard]] std::string reason() const;

  const RelayPolicy& policy_;
  Status agreed_;  ///< the faults known to all members of the region; decisions depend on it
  std::shared_ptr<const RegionView> view_;
  std::vector<OutPair> out_;  ///< by region
  std::vector<InPair> in_;
  std::map<int, Index> covered_;  ///< by origin: items of the link that have a route
  std::vector<Led> outbound_;
  std::vector<Led> inbound_;
  ControlMessages late_tags_;  ///< for leaders without a slot
  /// Contributions without tags so far: the index of the transfer, by contributor, region and part.
  std::map<std::tuple<int, int, std::size_t>, std::size_t> untagged_;
};

}  // namespace vicinal
