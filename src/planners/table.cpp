// The table of planners: one line each.
#include <array>

#include "planners/all.hpp"

namespace vicinal {

namespace {

constexpr std::string_view carries_unwanted =
    "it passes on what nobody behind wants, for which nothing would come back";

/// An allgather over all ranks of a communicator.
constexpr Planner among_all(std::string_view name, std::string_view summary,
                            Task<Plans> (*plan)(PlanRequest)) {
  return {name,
          summary,
          plan,
          "an allgather has no reverse",
          "it moves one block of each rank to all ranks",
          true};
}

/// An exchange between all ranks of a communicator, in which each has something for each.
constexpr Planner between_all(std::string_view name, std::string_view summary,
                              Task<Plans> (*plan)(PlanRequest)) {
  return {name, summary, plan, {}, {}, true};
}

constexpr std::array<Planner, 20> table{{
    {"direct", "one message per edge", plan_direct},
    {"nearest-first", "direct, sent outward from the own rank", plan_nearest_first},
    {"aggregate", "one message per region pair, each item once", plan_aggregate},
    {"aggregate-plain", "one message per region pair, items per edge", plan_aggregate_plain},
    {"two-step", "one message per rank and far region", plan_two_step},
    {"split", "aggregate with several leaders for large region pairs", plan_split},
    {"automatic", "split, two-step or direct for each region pair, or cascade, by the cost model",
     plan_automatic},
    {"distance-halving", "allgather through one agent per halving of the regions",
     plan_distance_halving, carries_unwanted,
     "it passes on all that a rank sends as one block; use distance-halving-pruned"},
    {"distance-halving-pruned", "the same, passing on what is wanted, for all patterns",
     plan_distance_halving_pruned},
    {"cascade", "regions pass on along paths by the digits of their distances", plan_cascade},
    {"common-neighbor", "ranks of a region deliver for each other to the neighbours they share",
     plan_common_neighbor},
    between_all("tuna", "alltoall in log_r p steps, storing and forwarding", plan_tuna),
    between_all("tuna-hierarchical", "the same inside regions, then between them",
                plan_tuna_hierarchical),
    among_all("bruck", "allgather in log2 p steps, to the ranks before", plan_bruck),
    among_all("dissemination", "allgather in log2 p steps, to the ranks after", plan_dissemination),
    among_all("recursive-doubling", "allgather in log2 p steps, by exchanges between two",
              plan_recursive_doubling),
    among_all("ring", "allgather in p - 1 steps, to the next in a ring of regions", plan_ring),
    among_all("hierarchical", "allgather by one leader per region", plan_hierarchical),
    among_all("multi-lane", "allgather by all ranks of a region at once, each for its lane",
              plan_multi_lane),
    among_all("locality-bruck", "allgather in log_n r steps between r regions of n ranks",
              plan_locality_bruck),
}};

}  // namespace

std::span<const Planner> planners() { return table; }

const Planner& find_planner(std::string_view name) {
  for (const Planner& planner : table) {
    if (planner.name == name) return planner;
  }
  std::string names;
  for (const Planner& planner : table) {
    names += names.empty() ? "" : ", ";
    names += planner.name;
  }
  fail(Fault::info, "there is no strategy '", name, "'; choose one of ", names);
}

std::string shortcoming(const Planner& planner, const PlanOptions& options) {
  if (options.with_reverse && !planner.forward_only.empty()) {
    return "cannot serve an exchange with a reverse: " + std::string(planner.forward_only);
  }
  const std::string one_block_only(planner.one_block_only);
  if (!options.one_block && !one_block_only.empty()) {
    return "serves allgathers only: " + one_block_only;
  }
  if (!options.complete && planner.complete_only) {
    if (one_block_only.empty()) {
      return "serves exchanges over a whole communicator only: all ranks pass on what is for "
             "others";
    }
    return "serves allgathers over a whole communicator only: " + one_block_only;
  }
  return {};
}

bool serves(const Planner& planner, const PlanOptions& options) {
  return shortcoming(planner, options).empty();
}

void require_serves(const Planner& planner, const PlanOptions& options) {
  const std::string why_not = shortcoming(planner, options);
  require(why_not.empty(), Fault::info, "the strategy '", planner.name, "' ", why_not);
}

}  // namespace vicinal
