// automatic: serves each region pair directly, by leaders (as many as its bytes justify), or by
// each contributor for itself. It takes the alternative that leaves the least work to the busiest
// rank of both regions. `direct`, `split` and `two-step` are its extremes, so a pattern with
// nothing to gain does not pay for aggregation.
//
// Cost: that of `direct`, `split` or `two-step`, pair by pair. Source: the loads in
// cost/region_loads.
//
// Three kinds of exchange go to other planners:
//   - An allgather over all ranks uses the allgather planner that is fastest by the profile
//     (allgather/choice.hpp).
//   - An exchange between all ranks uses `tuna` or `tuna-hierarchical` if storing and forwarding is
//     expected to be clearly faster (tuna/choice.hpp). The ranks decide in a tree allreduce.
//   - A graph of many edges between many small regions uses `cascade` if that is expected to be
//     clearly faster (cascade/choice.hpp). The ranks decide in a tree allreduce.
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

/// Plans with relays. Where ranks share cores, each saved message also saves context switches,
/// which no profile contains. On 4 hosts of 8 ranks with 2 cores in total, the estimate's direct
/// messages took 1.3 to 2.1 times as long.
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

/// Plans with `tuna` or `tuna-hierarchical` if the ranks decide to forward, else with relays. If
/// the decision fails, the relays report `request.fault`.
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

/// Returns whether storing and forwarding is considered. Up to 3 ranks, no block passes an
/// intermediate rank. A partition that becomes ready must not wait for other blocks. Forwarded
/// large blocks take several times as long, so a guessed element size (any_size) excludes
/// forwarding.
bool may_forward(const PlanRequest& request) {
  const PlanOptions& options = request.options;
  return options.complete && !options.partitioned && !options.any_size &&
         request.neighborhood.takes_part() && request.neighborhood.machine->size() > 3;
}

cascade::Volume volume_of(const PlanRequest& request) {
  if (request.fault) return {};
  return {halving::make_parcels(request.pattern, request.neighborhood.rank), request.neighborhood};
}

/// As plan_between_all(), with `cascade` in place of `tuna`.
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

/// Returns whether a cascade may win: some rank has many edges, and there are many regions for each
/// member of one. Other graphs skip the decision, which costs two control messages per rank. All
/// ranks compute the same result from the graph.
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

}  // namespace

const PlannerKind kind_of_automatic = {
    "split, two-step or direct for each region pair, or cascade, by the cost model",
    plan_automatic};

}  // namespace vicinal
