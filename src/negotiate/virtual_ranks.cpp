// Plans for all ranks of a communicator in one process: first the graph, then the plans.
#include "negotiate/virtual_ranks.hpp"

#include "negotiate/comparison.hpp"
#include "negotiate/partitioning.hpp"

namespace vicinal {

std::vector<Plans> plan_virtually(const Planner& planner, std::shared_ptr<const Machine> machine,
                                  std::span<const Pattern> patterns, const PlanOptions& options) {
  const int size = machine->size();
  require(static_cast<int>(patterns.size()) == size, Fault::argument, patterns.size(),
          " patterns were given for ", size, " ranks");
  for (const Pattern& pattern : patterns) check(pattern, size);
  require_serves(planner, options);
  const auto neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
    const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
    std::vector<int> sources, destinations;
    for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
    for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
    return make_neighborhood(talk, machine, rank, std::move(sources), std::move(destinations),
                             {.idle_ranks_lead = options.idle_ranks_lead});
  });
  std::vector<VirtualSite> sites(static_cast<std::size_t>(size));
  auto plans = run_virtual<Plans>(size, [&](int rank, Conversation& talk) {
    const auto i = static_cast<std::size_t>(rank);
    return plan_alike(
        planner, PlanRequest{talk, sites[i], neighborhoods[i], patterns[i], options, std::nullopt});
  });
  if (!options.partitioned) return plans;
  const auto partitioned = run_virtual<Plan>(size, [&](int rank, Conversation& talk) {
    const auto i = static_cast<std::size_t>(rank);
    return with_partitions(talk, sites[i], plans[i].forward, patterns[i]);
  });
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].forward = partitioned[i];
  return plans;
}

}  // namespace vicinal
