// automatic: aggregation by several leaders where the cost model expects it to pay, straight edges
// elsewhere, decided for each region pair by its two leaders. Direct and aggregate are its two ends,
// so a pattern with nothing to gain does not pay for aggregation.
//
// Cost: that of `direct` or `split`, pair by pair. Source: the max-rate postal model in cost/relay.
#include "planners/all.hpp"
#include "planners/relay/write_plan.hpp"

namespace vicinal {

Task<Plans> plan_automatic(PlanRequest request) {
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::cheaper;
  policy.division = RelayPolicy::Division::bytes;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "automatic");
}

}  // namespace vicinal
