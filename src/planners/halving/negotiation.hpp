// Planning of a halving. Both ends of each edge exchange their counts; then the ranks find their
// agents (agents.hpp). In one superstep for each step of the halving, each rank hands its agent the
// data behind the step's cut. In the last superstep, the rank that carries an edge's items tells
// the destination where they will be.
//
// Data that a rank forwards lies in its main buffer (Sharifian et al.'s main_buf). A message to an
// agent waits for its own contents, not for the previous step. An arriving message is received
// directly into its place; each destination gets one message at the end (algorithm 4, without its
// barriers). Ranks of the host read the main buffer in place; it is then a slot. A slot is handed
// out once in an execution. So agents on the host get one for each step, and need not wait for data
// of later steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/conversation.hpp"
#include "negotiate/faults.hpp"
#include "negotiate/ground.hpp"
#include "negotiate/transfers.hpp"
#include "planners/cascade/choice.hpp"
#include "planners/halving/agents.hpp"
#include "planners/halving/halves.hpp"
#include "planners/halving/parcels.hpp"

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

namespace vicinal {

namespace halving {

/// The data that ranks forward, and to which ranks.
enum class Passing : std::uint8_t {
  whole_buffer,  ///< the whole buffer, to an agent with at most one origin in a step (paper)
  pruned,        ///< data for the agent's half, to an agent with at most two origins
  cascaded,      ///< data for the paths of a cascade, to the next rank on them
};

class HalvingNegotiation : public Ground {
 public:
  HalvingNegotiation(PlanRequest& request, Passing passing);
  /// Plans a cascade that is already decided on.
  HalvingNegotiation(PlanRequest& request, cascade::Decision decision);

  Task<Plans> run(std::string_view planner);

 private:
  /// The data for one rank in a step.
  struct Hop {
    int taker = 0;
    Passage passage;
    std::vector<std::size_t> parcels;  ///< in the order in which they lie in the message
    std::size_t arrivals = 0;          ///< number of arrivals before it
  };
  /// A hop at the rank where it arrives.
  struct Arrival {
    int origin = 0;
    Passage passage;
    Index offset = 0;  ///< in the main buffer
  };
  /// The data that a rank gets from this one after all steps.
  struct Delivery {
    int rank = 0;
    Passage passage;
    std::vector<std::size_t> parcels;
  };
  /// A parcel that this rank carries and is itself a destination of.
  struct Kept {
    std::size_t parcel = 0;
    std::vector<CopyRun> runs;  ///< parcel -> target
  };
  /// A parcel, and which of the edges from its origin to some destination takes it.
  struct Entry {
    std::size_t parcel;
    int edge;
  };

  // The supersteps.
  Task<Done> compare_edges();
  Task<Done> find_route();
  Task<Done> hand_over(int step);
  Task<Done> deliver();

  void take_parcels(const Pattern& pattern);
  void list_in_edges(const Pattern& pattern);
  void keep_own();
  void keep(std::size_t parcel, int edge);
  const InEdge* serve(int origin, int edge);
  void compare(int from, int to, const std::vector<Index>& sent,
               const std::vector<Index>& expected);
  HopMessage load(int step, int taker);
  void accept(int origin, const HopMessage& hop);
  void plan_deliveries(const std::map<int, std::vector<Entry>>& wanted);
  void lay_out();
  void open_main();
  void write_deliveries(const std::map<int, std::vector<Entry>>& wanted,
                        ControlMessages& outbox) const;
  /// Returns the sources with an edge that is not among the served.
  [[nodiscard]] std::vector<int> sources_without(const std::set<std::pair<int, int>>& served) const;
  void accept(int carrier, const DeliveryMessage& message);

  // The transfers, once it is known where parcels lie.
  [[nodiscard]] std::vector<Part> pieces_of(const std::vector<std::size_t>& parcels) const;
  void pass_on();
  [[nodiscard]] Phase phase_to(int peer) const;
  void take(const Arrival& arrival);
  void send(const Hop& hop);
  void send_deliveries();
  void use_kept();

  const Halves halves_;
  Passing passing_;
  std::optional<cascade::Decision> decision_;  ///< of a cascade
  std::unique_ptr<const Route> route_;
  std::string reason_;
  std::map<int, std::vector<Index>> out_counts_;        ///< by destination: counts of its edges
  std::map<int, std::vector<Index>> in_counts_;         ///< by source
  std::map<int, std::vector<const InEdge*>> in_edges_;  ///< by source; empty on a failed rank
  std::set<std::pair<int, int>> served_;                ///< in-edges whose carrier is known
  std::map<int, int> region_leaders_;                   ///< of the sources' regions, by region
  std::vector<Parcel> parcels_;
  std::vector<Hop> hops_;          ///< by step, without empty hops
  std::vector<Arrival> arrivals_;  ///< by step, without empty ones
  std::vector<Delivery> deliveries_;
  std::vector<Kept> kept_;
  int main_ = -1;     ///< the main buffer's store
  Index extent_ = 0;  ///< of the main buffer
  /// Deliveries to this rank, by carrier: the index of the transfer, and the part of a slot that it
  /// reads.
  std::map<int, std::size_t> delivered_;
  std::map<int, std::vector<CopyRun>> looked_at_;
};

}  // namespace halving

/// Collective over the ranks with edges.
Task<Plans> plan_halving(PlanRequest request, halving::Passing passing, std::string_view planner);

}  // namespace vicinal
