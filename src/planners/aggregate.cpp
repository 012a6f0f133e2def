// aggregate: three-step aggregation. The ranks of a region hand all items for another region to one
// leader. The leader sends them in one message to a leader there, which distributes them. An item
// that several ranks of the far region want travels once. A region pair with a single edge is
// served directly.
//
// Wins where many small messages run between the same regions. Cost between regions: one message
// per region pair, each item once. Cost inside a region: one copy into and one out of shared
// memory. aggregate-plain ignores identities: each edge's elements travel separately.
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

Task<Plans> plan_aggregate(PlanRequest request) {
  return plan_with(std::move(request), three_step(true), "aggregate");
}

Task<Plans> plan_aggregate_plain(PlanRequest request) {
  return plan_with(std::move(request), three_step(false), "aggregate-plain");
}

}  // namespace

const PlannerKind kind_of_aggregate = {"one message per region pair, each item once",
                                       plan_aggregate};
const PlannerKind kind_of_aggregate_plain = {"one message per region pair, items per edge",
                                             plan_aggregate_plain};

}  // namespace vicinal
