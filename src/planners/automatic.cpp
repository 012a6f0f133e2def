// automatic: aggregation by several leaders where the cost model expects it to pay, straight edges
// elsewhere, decided for each region pair by its two leaders. Direct and aggregate are its two ends,
// so a pattern with nothing to gain does not pay for aggregation.
//
// Cost: that of `direct` or `split`, pair by pair. Source: the max-rate postal model in cost/relay.
//
// An allgather over all ranks is left to the planners made for it: locality-bruck, which brings each
// block into a region once and in the fewest steps; ring where every region has a single rank and
// blocks are so large that steps do not matter.
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_among_all(PlanRequest request) {
  const Machine& machine = *request.neighborhood.machine;
  const LevelCost& link = request.options.profile.network();
  Index elements = 0;
  for (const InEdge& edge : request.pattern.in) elements += edge.count;
  const double bytes = static_cast<double>(elements * request.options.element_bytes);
  const double block_seconds = bytes / machine.size() * link.seconds_per_byte();
  const bool nobody_near = machine.regions() == machine.size();
  const bool large = block_seconds > link.latency();
  const bool by_ring = nobody_near && large;
  Task<Plans> making =
      by_ring ? plan_ring(std::move(request)) : plan_locality_bruck(std::move(request));
  Plans plans = co_await making;
  plans.reason = std::string(nobody_near ? "every region has a single rank"
                                         : "there are regions of several ranks") +
                 (!nobody_near ? ""
                  : large      ? ", and blocks are large"
                               : ", but blocks are small");
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
