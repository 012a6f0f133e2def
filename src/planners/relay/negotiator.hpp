// One rank's state during a negotiation. Internal to src/planners/relay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planners/relay/leaders.hpp"
#include "planners/relay/letters.hpp"
#include "planners/relay/links.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

using Letters = std::vector<Letter>;

/// A region pair as one rank sees it.
struct OutPair {
  const RegionLink* link = nullptr;
  LinkLoad load;
  std::vector<int> leaders;       ///< of the own region, by part
  bool contributes = false;       ///< this rank has edges of the pair
  Stream stream;                  ///< this rank's items for the far region
  std::vector<int> destinations;  ///< this rank's links into the far region
  std::vector<std::size_t> led;   ///< parts that this rank leads
  Introduction far;               ///< known to the contact rank, then to the leaders
  std::map<std::size_t, std::vector<ContributedStream>> contributed;  ///< by led part
  Verdict verdict = Verdict::dead;
  std::map<std::size_t, Stream> sent_part;  ///< this rank's items in each part it contributes to
  std::map<std::size_t, std::int64_t> sent_tag;
};

struct InPair {
  const RegionLink* link = nullptr;
  LinkLoad load;
  std::vector<int> leaders;  ///< of the own region
  bool consumes = false;     ///< this rank has edges of the pair
  Introduction far;
  Verdict verdict = Verdict::dead;
  std::vector<int> far_leaders;  ///< by part, known to leaders, and after superstep 4 to consumers
  struct Arriving {
    int leader = 0;  ///< that sends it
    Layout layout;
  };
  std::vector<Arriving> arriving;  ///< parts that this rank receives
};

class Negotiator {
 public:
  Negotiator(PlanRequest& request, const RelayPolicy& policy);

  /// A rank without edges is done at once, and nobody counts on it.
  [[nodiscard]] bool takes_part() const;

  // The five supersteps: what this rank writes, whose letters it expects, what it makes of them.
  Letters write_summaries() const;
  [[nodiscard]] Expected expected_summaries() const;
  void read_summaries(const Letters& inbox);

  Letters write_streams_and_introductions();
  [[nodiscard]] Expected expected_streams_and_introductions() const;
  void read_streams_and_introductions(const Letters& inbox);

  Letters forward_introductions() const;
  [[nodiscard]] Expected expected_introductions() const;
  void read_introductions(const Letters& inbox);

  Letters write_placements_layouts_verdicts();
  [[nodiscard]] Expected expected_placements_layouts_verdicts() const;
  void read_placements_layouts_verdicts(const Letters& inbox);

  Letters write_deliveries_and_offers();
  [[nodiscard]] Expected expected_deliveries_and_offers() const;
  void read_deliveries_and_offers(const Letters& inbox);

  /// The routes, or the fault.
  Routes finish();

 private:
  using Entries = std::map<int, std::vector<Portion::Entry>>;  ///< by consumer

  [[nodiscard]] bool leads(const std::vector<int>& leaders) const;
  [[nodiscard]] Via via(int other) const;
  [[nodiscard]] bool goes_straight(int peer, bool outgoing) const;
  std::int64_t new_tag();
  /// Nothing where the host has no room left; then messages serve.
  std::optional<SlotPair> new_slots(int peers);
  OutPair& out_pair(int region);
  InPair& in_pair(int region);
  void cut_parts(OutPair& pair);
  Verdict judge(const LinkLoad& own, const Introduction& far, const PairTraffic& traffic,
                Index parts) const;
  [[nodiscard]] Introduction introduction(const OutPair& pair) const;
  [[nodiscard]] Introduction introduction(const InPair& pair) const;
  void learn(Introduction far);
  void ask_for_messages(Relay& relay);
  void place(OutPair& pair, std::size_t part, Letters& outbox);
  void deliver(InPair& pair, InPair::Arriving& arriving, Letters& outbox);
  std::map<int, Portion> add_partners(std::vector<Partner>& partners, const SlotPair& slot,
                                      Entries entries, Index extent, int own_index);
  void offer_straight(const OutLink& link, bool local, Letters& outbox);
  void offer_links(Letters& outbox);
  void read(int leader, const Placement& placement);
  void read(int leader, Layout layout);
  void read(PairVerdict verdict);
  void read(int contributor, const LateTag& late);
  void read(int sender, const Offer& offer);
  std::optional<Share> take(int owner, const Portion& portion);
  void check_covered() const;

  PlanRequest& request_;
  const RelayPolicy& policy_;
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  int rank_;
  FaultRecord faults_;
  Status agreed_;  ///< what all members of the region have heard of faults; verdicts go by it
  std::map<int, OutLink> out_links_;
  std::map<int, InLink> in_links_;
  std::vector<OutPair> out_;
  std::vector<InPair> in_;
  std::map<int, Index> covered_;  ///< by origin: items of the link that have found their way here
  std::map<std::pair<int, std::size_t>, std::size_t> relay_of_;  ///< outbound, by region and part
  std::vector<int> untagged_;  ///< contributors that are to tell their tags
  Letters late_tags_;          ///< of this rank, for leaders that have no slot
  Routes routes_;
};

/// Orders `peers` (ascending) outward from `rank`: the nearest first, then alternately above and
/// below (Shafie Khorassani 2024, algorithms 2 and 3).
std::vector<int> nearest_first(int rank, std::vector<int> peers);

}  // namespace vicinal
