// automatic: each region pair is served straight, by leaders (as many as its bytes deserve), or by each contributor for
// itself, whichever leaves the busiest rank of both regions least to do. Direct, split and two-step are its ends, so a
// pattern with nothing to gain does not pay for aggregation.
//
// Cost: that of `direct`, `split` or `two-step`, pair by pair. Source: the loads in cost/region_loads.
//
// An allgather over all ranks is left to that planner made for it which is the fastest by the profile
// (allgather/choice.hpp). So is an exchange between all ranks to `tuna` or `tuna-hierarchical`, where storing and forwarding
// is expected to be clearly faster (tuna/choice.hpp); that the ranks have to consult about.
#include "planners/all.hpp"
#include "planners/allgather/choice.hpp"
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

Task<Plans> plan_by_relays(PlanRequest request) {
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::cheaper;
  policy.division = RelayPolicy::Division::best;
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

}  // namespace

Task<Plans> plan_automatic(PlanRequest request) {
  if (request.options.complete && request.options.one_block) {
    return plan_among_all(std::move(request));
  }
  if (may_forward(request)) return plan_between_all(std::move(request));
  return plan_by_relays(std::move(request));
}

}  // namespace vicinal
