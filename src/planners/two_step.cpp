// two-step: each rank sends all its items for another region in one message to a counterpart there,
// which distributes them. There is no step inside the sending region.
//
// Wins where messages are too large to pass through one leader. Cost between regions: one message
// per sending rank and far region, each of the rank's items once.
// Source: Bienz, Gropp and Olson 2020 (node-aware two-step communication).
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_two_step(PlanRequest request) {
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::fewer_messages;
  policy.division = RelayPolicy::Division::contributor;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "two-step");
}

}  // namespace

const PlannerKind kind_of_two_step = {"one message per rank and far region", plan_two_step};

}  // namespace vicinal
