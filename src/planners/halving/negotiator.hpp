// One rank's state while a halving is planned: its edges, the parcels that it has to see to, and
// who takes them off it. Internal to src/planners/halving.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planners/faults.hpp"
#include "planners/halving/halves.hpp"
#include "planners/halving/routes.hpp"
#include "planners/planner.hpp"

namespace vicinal::halving {

/// What an agent is given.
enum class Load {
  whole_buffer,  ///< all that its origin has, as in the paper
  pruned,        ///< what has destinations in the agent's half
};

class HalvingNegotiator {
 public:
  using Letters = std::vector<Letter>;

  HalvingNegotiator(PlanRequest& request, const Halves& halves, Load load);

  /// A rank without edges is done at once, and nobody counts on it.
  [[nodiscard]] bool takes_part() const;

  /// Both ends of each edge say what they know of it.
  Letters write_edges() const;
  [[nodiscard]] Expected expected_edges() const;
  void read_edges(const Letters& inbox);
  /// The region leaders of the sources' regions, by region.
  [[nodiscard]] const std::map<int, int>& region_leaders() const { return region_leaders_; }

  /// Hands over to the agent of a step all destinations that the step parts from this rank.
  Letters write_hop(int step, int agent);
  void read_arrival(const Letter& letter);

  /// Tells each remaining destination where to find its items.
  Letters write_deliveries();
  [[nodiscard]] Expected expected_deliveries() const;
  void read_deliveries(const Letters& inbox);

  /// The routes, or the fault.
  HalvingRoutes finish();

 private:
  /// A parcel, and which of the edges from its origin to some destination takes it.
  struct Entry {
    std::size_t parcel;
    int edge;
  };
  using Entries = std::vector<Entry>;

  [[nodiscard]] bool shares_memory_with(int other) const;
  std::int64_t new_tag();
  /// Nothing where the host has no room left; then messages serve.
  std::optional<std::int64_t> new_slot(int peers);
  void make_parcels(const Pattern& pattern);
  void list_in_edges(const Pattern& pattern);
  void keep_own();
  void keep(std::size_t parcel, int edge);
  const InEdge* serve(int origin, int edge);
  void compare(int from, int to, const std::vector<Index>& sent,
               const std::vector<Index>& expected);
  void add_delivery(int rank, const Entries& entries);
  /// Those with an edge that is not among the served.
  [[nodiscard]] std::vector<int> sources_without(const std::set<std::pair<int, int>>& served) const;
  void find_slot();
  void lay_out();

  PlanRequest& request_;
  const Neighborhood& neighborhood_;
  const Machine& machine_;
  const Halves& halves_;
  Load load_;
  int rank_;
  FaultRecord faults_;
  std::map<int, std::vector<Index>> out_counts_;        ///< by destination: of its edges
  std::map<int, std::vector<Index>> in_counts_;         ///< by source
  std::map<int, std::vector<const InEdge*>> in_edges_;  ///< by source; empty for a rank at fault
  std::set<std::pair<int, int>> served_;                ///< in-edges that have found their carrier
  std::map<int, int> region_leaders_;
  HalvingRoutes routes_;
};

}  // namespace vicinal::halving
