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

enum class Verdict : std::int64_t {
  dead,      ///< a rank on either side is at fault
  straight,  ///< every edge of the region pair goes straight
  relayed,
};

/// A contributor's items for one leader, as the leader got them; the occurrences stay encoded.
struct ContributedStream {
  int rank = 0;
  std::int64_t tag = -1;
  Index count = 0;
  std::vector<int> destinations;  ///< ranks of the far region that this contributor has edges to
  Words runs;                     ///< per run: count, occurrences, then (rank, offset) of each
};

/// What one leader said of its side of a region pair.
struct Introduction {
  Status status;
  std::uint64_t fingerprint = 0;
  PairTraffic traffic;       ///< of the sending side
  std::vector<int> leaders;  ///< of the side that introduces itself
};

/// A region pair as one rank sees it.
struct OutPair {
  const RegionLink* link = nullptr;
  LinkLoad load;
  std::vector<int> leaders;       ///< of the own region, by part
  bool contributes = false;       ///< this rank has edges of the pair
  Stream stream;                  ///< this rank's items for the far region
  std::vector<int> destinations;  ///< this rank's links into the far region
  std::vector<std::size_t> led;   ///< parts that this rank leads
  Introduction far;               ///< known to the gate, then to the leaders
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
  std::vector<int> far_leaders;   ///< by part, known to leaders, and after superstep 4 to consumers
  std::vector<int> near_leaders;  ///< likewise
  struct Arriving {
    std::size_t part = 0;
    int peer = 0;
    std::int64_t tag = -1;
    Index count = 0;
    std::vector<ContributedStream> streams;
  };
  std::vector<Arriving> arriving;  ///< parts that this rank receives
};

class Negotiator {
 public:
  Negotiator(PlanRequest& request, const RelayPolicy& policy);

  /// A rank without edges is done at once, and nobody counts on it.
  [[nodiscard]] bool takes_part() const;

  Letters write_summaries() const;
  void read_summaries(const Letters& inbox);

  Letters write_streams_and_introductions();
  [[nodiscard]] std::size_t expected_streams_and_introductions() const;
  void read_streams_and_introductions(const Letters& inbox);

  Letters forward_introductions() const;
  [[nodiscard]] std::size_t expected_introductions() const;
  void read_introductions(const Letters& inbox);

  Letters write_placements_layouts_verdicts();
  [[nodiscard]] std::size_t expected_placements_layouts_verdicts() const;
  void read_placements_layouts_verdicts(const Letters& inbox);

  Letters write_deliveries_and_offers();
  [[nodiscard]] std::size_t expected_deliveries_and_offers() const;
  void read_deliveries_and_offers(const Letters& inbox);

  /// The routes, or the fault.
  Routes finish();

  // Whose letters of a superstep are missing, in words.
  [[nodiscard]] std::string missing_summaries(Arrived arrived) const;
  [[nodiscard]] std::string missing_streams_and_introductions(Arrived arrived) const;
  [[nodiscard]] std::string missing_introductions(Arrived arrived) const;
  [[nodiscard]] std::string missing_placements_layouts_verdicts(Arrived arrived) const;
  [[nodiscard]] std::string missing_deliveries_and_offers(Arrived arrived) const;

 private:
  using Entries = std::map<int, Words>;  ///< by consumer: (origin, offset, position, count)...

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
  void write_own_introduction(Letters& outbox, const OutPair& pair) const;
  void write_own_introduction(Letters& outbox, const InPair& pair) const;
  void ask_for_messages(Relay& relay);
  void place(OutPair& pair, std::size_t part, Letters& outbox);
  void deliver(InPair& pair, InPair::Arriving& arriving, Letters& outbox);
  void add_partners(std::vector<Partner>& partners, const SlotPair& slot, const Entries& entries,
                    Index extent, int own_index, const Words& heading, Letters& outbox);
  void offer_straight(const OutLink& link, bool local, Letters& outbox);
  void offer_links(Letters& outbox);
  void read_placement(Reader& reader);
  void read_tag(Reader& reader);
  void read_layout(Reader& reader);
  void read_verdict(Reader& reader);
  std::optional<Share> read_share(Reader& reader);
  void read_offer(Reader& reader);
  void read_expectation(Reader& reader);
  void check_covered() const;

  PlanRequest& request_;
  const RelayPolicy& policy_;
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  int rank_;
  FaultRecord faults_;
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
