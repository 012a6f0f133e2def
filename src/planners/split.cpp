// split: aggregation that divides a large region pair among several leaders, so that no single rank
// has to inject all of it. There is one leader for each PlanOptions::split_bytes, or as many as the
// cost model finds best.
//
// Wins for medium sizes, between aggregate and two-step. Cost between regions: one message per
// region pair and leader, each item once.
// Source: Lockhart et al. 2023 (split node-aware communication); Ghazimirsaeed et al. 2020
// (dividing a leader's load).
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_split(PlanRequest request) {
  RelayPolicy policy;
  policy.decision = RelayPolicy::Decision::fewer_messages;
  policy.division = RelayPolicy::Division::bytes;
  policy.share_local = true;
  return plan_with(std::move(request), policy, "split");
}

}  // namespace

const PlannerKind kind_of_split = {"aggregate with several leaders for large region pairs",
                                   plan_split};

}  // namespace vicinal
