// aggregate: three-step aggregation. The ranks of a region hand all that is for another region to one
// leader, who sends it in one message to a leader there, who hands it on. Items that several ranks of
// the far region want travel once. Region pairs with a single edge go straight.
//
// Wins where many small messages run between the same regions. Cost between regions: one message per
// region pair, each item once; inside a region, one copy into and one out of shared memory.
// aggregate-plain is the same without looking at identities: each edge's elements travel apart.
// Source: Collom et al. 2023, algorithms 4 to 6 and section 3.3. Unlike algorithm 5, starting never
// waits for the contributors.
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

RelayPolicy three_step(bool identity) {
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::fewer_messages;
  policy.identity = identity;
  policy.share_local = true;
  return policy;
}

}  // namespace

Task<Plans> plan_aggregate(PlanRequest request) {
  return plan_with(std::move(request), three_step(true), "aggregate");
}

Task<Plans> plan_aggregate_plain(PlanRequest request) {
  return plan_with(std::move(request), three_step(false), "aggregate-plain");
}

}  // namespace vicinal
