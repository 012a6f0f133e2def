// How a halving is planned: both ends of each edge say what they know of it; the ranks find their agents (agents.hpp);
// then, one superstep for each step of the halving, each rank hands its agent what lies behind the step's cut; in the
// last superstep whoever carries an edge's items tells its destination where they will be.
//
// All that a rank is given to pass on lies in its main buffer (Sharifian et al.'s main_buf). What goes to an agent waits
// for what it consists of, not for the step before; what arrives is received straight into its place; each destination
// gets one message at the end (algorithm 4, without its barriers). Ranks of a host read the main buffer where it is: it
// is then a slot. The agents of a host get a slot for each step, since a slot is handed out once in an execution and they
// must not wait for what comes in later steps.
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

#include "planners/cascade/choice.hpp"
#include "planners/ground.hpp"
#include "planners/halving/agents.hpp"
#include "planners/halving/halves.hpp"
#include "planners/halving/letters.hpp"
#include "planners/halving/parcels.hpp"
#include "planners/halving/way.hpp"

namespace vicinal {

namespace halving {

/// What ranks pass on, and to whom.
enum class Passing : std::uint8_t {
  whole_buffer,  ///< to the agent of one rank in a step at most, all that its origin has, as in the paper
  pruned,        ///< to the agent of two at most, what has destinations in its half
  cascaded,  ///< to the next on the paths of a cascade, what has destinations there
};

class HalvingNegotiation : public Ground {
 public:
  HalvingNegotiation(PlanRequest& request, Passing passing);
  /// A cascade that has been decided on.
  HalvingNegotiation(PlanRequest& request, cascade::Decision decision);

  Task<Plans> run(std::string_view planner);

 private:
  /// What goes to somebody in a step.
  struct Hop {
    int taker = 0;
    Passage passage;
    std::vector<std::size_t> parcels;  ///< in the order in which they lie in the message
    std::size_t arrivals = 0;          ///< how many there were before
  };
  /// The same where it arrives.
  struct Arrival {
    int origin = 0;
    Passage passage;
    Index offset = 0;  ///< in the main buffer
  };
  /// What a rank gets from this one when all steps are done.
  struct Delivery {
    int rank = 0;
    Passage passage;
    std::vector<std::size_t> parcels;
  };
  /// What this rank carries and is itself a destination of.
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
  Task<Done> find_way();
  Task<Done> hand_over(int step);
  Task<Done> deliver();

  void take_parcels(const Pattern& pattern);
  void list_in_edges(const Pattern& pattern);
  void keep_own();
  void keep(std::size_t parcel, int edge);
  const InEdge* serve(int origin, int edge);
  void compare(int from, int to, const std::vector<Index>& sent,
               const std::vector<Index>& expected);
  HopLetter load(int step, int taker);
  void accept(int origin, const HopLetter& hop);
  void plan_deliveries(const std::map<int, std::vector<Entry>>& wanted);
  void lay_out();
  void open_main();
  void write_deliveries(const std::map<int, std::vector<Entry>>& wanted, Letters& outbox) const;
  /// Those with an edge that is not among the served.
  [[nodiscard]] std::vector<int> sources_without(const std::set<std::pair<int, int>>& served) const;
  void accept(int carrier, const DeliveryLetter& letter);

  // The transfers, when it is known where parcels lie.
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
  std::unique_ptr<const Way> way_;
  std::string reason_;
  std::map<int, std::vector<Index>> out_counts_;        ///< by destination: of its edges
  std::map<int, std::vector<Index>> in_counts_;         ///< by source
  std::map<int, std::vector<const InEdge*>> in_edges_;  ///< by source; empty for a rank at fault
  std::set<std::pair<int, int>> served_;                ///< in-edges that have found their carrier
  std::map<int, int> region_leaders_;                   ///< of the sources' regions, by region
  std::vector<Parcel> parcels_;
  std::vector<Hop> hops_;          ///< by step, without those that move nothing
  std::vector<Arrival> arrivals_;  ///< likewise
  std::vector<Delivery> deliveries_;
  std::vector<Kept> kept_;
  int main_ = -1;     ///< the store
  Index extent_ = 0;  ///< of it
  /// What this rank is delivered, by carrier: the place of the transfer, and which part of a slot it wants.
  std::map<int, std::size_t> delivered_;
  std::map<int, std::vector<CopyRun>> looked_at_;
};

}  // namespace halving

/// Collective over the ranks with edges.
Task<Plans> plan_halving(PlanRequest request, halving::Passing passing, std::string_view planner);

}  // namespace vicinal
