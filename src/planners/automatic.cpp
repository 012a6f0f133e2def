// automatic: each region pair is served straight, by leaders (as many as its bytes deserve), or by each contributor for
// itself, whichever leaves the busiest rank of both regions least to do. Direct, split and two-step are its ends, so a
// pattern with nothing to gain does not pay for aggregation.
//
// Cost: that of `direct`, `split` or `two-step`, pair by pair. Source: the loads in cost/region_loads.
//
// An allgather over all ranks is left to that planner made for it which is the fastest by the profile
// (allgather/choice.hpp). So is an exchange between all ranks to `tuna` or `tuna-hierarchical`, where storing and forwarding
// is expected to be clearly faster (tuna/choice.hpp); that the ranks have to consult about. And so is, to `cascade`, a graph of many
// edges between many small regions, at that planner's cost (cascade/choice.hpp).
#include "cost/cores.hpp"
#include "planners/all.hpp"
#include "planners/allgather/choice.hpp"
#include "planners/cascade/choice.hpp"
#include "planners/halving/negotiation.hpp"
#include "planners/relay/negotiation.hpp"
#include "planners/tuna/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_among_all(PlanRequest request) {
  allgather::Choice choice = allgather::choose(request);
  Task<Plans> making = find_planner(choice.planner).plan(std::move(request));
  Plans plans = co_await making;
  plans.reason = std::move(choice.reason);
  co_return plans;
}

/// Where ranks share cores, each message less spares changes of rank, which no profile knows of: on 4 hosts of 8 ranks with 2
/// cores in all, what the estimate would send straight took 1.3 to 2.1 times as long as by leaders.
Task<Plans> plan_by_relays(PlanRequest request) {
  const bool is_crowded = shares_cores(*request.neighborhood.machine, request.options.profile);
  RelayPolicy policy;
  policy.decision =
      is_crowded ? RelayPolicy::Decision::fewer_messages : RelayPolicy::Decision::cheaper;
  policy.division = is_crowded ? RelayPolicy::Division::bytes : RelayPolicy::Division::best;
  policy.order = RelayPolicy::Order::rotated;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "automatic");
}

/// Where the ranks cannot decide, relays are told why.
Task<Plans> plan_between_all(PlanRequest request) {
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<tuna::Decision> deciding = tuna::decide(request, faults, tuna::Among::planners);
  tuna::Decision decision = co_await deciding;
  if (!faults.good() || !decision.forwards) {
    Task<Plans> making = plan_by_relays(std::move(request));
    co_return co_await making;
  }
  tuna::TunaNegotiation negotiation(request);
  Task<Plans> making =
      negotiation.run(decision.scheme, decision.scheme.by_region ? "tuna-hierarchical" : "tuna",
                      std::move(decision.reason));
  co_return co_await making;
}

/// Of so few ranks no block can pass another one. One that is heard of in partitions is not to wait for others. Large blocks
/// take several times as long where they are forwarded, so that is not done on a guess.
bool may_forward(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  return options.complete && !options.partitioned && !options.any_size &&
         request.neighborhood.takes_part() && request.neighborhood.machine->size() > 3;
}

cascade::Volume volume_of(const PlanRequest& request) {
  if (request.fault) return {};
  return {halving::make_parcels(request.pattern, request.neighborhood.rank), request.neighborhood};
}

/// The same of a cascade: relays are told of a fault before.
Task<Plans> plan_between_regions(PlanRequest request) {
  FaultRecord faults(request.neighborhood.rank, request.options.unit);
  if (request.fault) faults.blame(*request.fault);
  Task<cascade::Decision> deciding =
      cascade::decide(request, faults, volume_of(request), cascade::Among::planners);
  cascade::Decision decision = co_await deciding;
  if (!faults.good() || !decision.passes_on) {
    Task<Plans> making = plan_by_relays(std::move(request));
    co_return co_await making;
  }
  halving::HalvingNegotiation negotiation(request, std::move(decision));
  Task<Plans> making = negotiation.run("cascade");
  co_return co_await making;
}

/// Consulting costs two letters for each rank, so it is done only where a cascade may have something to gain: where a rank may have
/// many messages, since it has many edges and there are many regions for each rank of one. All ranks know this of the graph.
bool may_pass_on(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  const Neighborhood& neighborhood = request.neighborhood;
  const std::int64_t regions = neighborhood.machine->regions();
  const std::int64_t ranks = neighborhood.machine->size();
  constexpr std::int64_t many_edges = 12, many_regions_for_each = 8;
  return neighborhood.takes_part() && neighborhood.most_edges >= many_edges &&
         regions * regions >= many_regions_for_each * ranks && !options.partitioned &&
         !options.any_size;
}

}  // namespace

Task<Plans> plan_automatic(PlanRequest request) {
  if (request.options.complete && request.options.one_block) {
    return plan_among_all(std::move(request));
  }
  if (may_forward(request)) return plan_between_all(std::move(request));
  if (!request.options.complete && may_pass_on(request)) {
    return plan_between_regions(std::move(request));
  }
  return plan_by_relays(std::move(request));
}

}  // namespace vicinal
