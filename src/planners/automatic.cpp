// automatic: each region pair is served straight, by leaders (as many as its bytes deserve), or by each contributor for
// itself, whichever leaves the busiest rank of both regions least to do. Direct, split and two-step are its ends, so a
// pattern with nothing to gain does not pay for aggregation.
//
// Cost: that of `direct`, `split` or `two-step`, pair by pair. Source: the loads in cost/region_loads.
//
// An allgather over all ranks is left to that planner made for it which is the fastest by the profile
// (allgather/choice.hpp).
#include "planners/all.hpp"
#include "planners/allgather/choice.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_among_all(PlanRequest request) {
  allgather::Choice choice = allgather::choose(request);
  Task<Plans> making = find_planner(choice.planner).plan(std::move(request));
  Plans plans = co_await making;
  plans.reason = std::move(choice.reason);
  co_return plans;
}

}  // namespace

Task<Plans> plan_automatic(PlanRequest request) {
  if (request.options.complete && request.options.one_block) {
    return plan_among_all(std::move(request));
  }
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::cheaper;
  policy.division = RelayPolicy::Division::best;
  policy.order = RelayPolicy::Order::rotated;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "automatic");
}

}  // namespace vicinal
