// distance-halving: the regions are halved until one is left. In each step a rank hands its data,
// and the duty to deliver it in the other half, to an agent there. The agent is the rank with which
// it shares most neighbours on that side. At the end a rank delivers the data that it carries in
// one message per destination.
//
// Wins in dense or irregular graphs with many regions and small items, where direct sends a message
// per neighbour. With r regions a rank sends at most one message per step, in ceil(log2 r) steps if
// regions are equal. It also sends one message to each remaining neighbour, mostly of its own
// region. The price is bytes: the paper forwards the whole buffer, which may double in each step
// ("distance-halving"). The pruned planner forwards only data that is wanted on the other side, and
// so serves all patterns.
//
// In the paper a rank has at most one origin in a step. Some ranks then have no agent, among them
// the surplus of the larger half. They send to each of their neighbours there, also for their
// origins. At 2,000 ranks in 100 regions and a density of 0.3, a rank sends on average 27 messages
// between regions, at most 307. The pruned planner lets a rank serve two origins if no other rank
// is free: 7 on average and 66 at most.
//
// Source: Sharifian et al. 2024, algorithms 1 to 4. Agents are selected differently, by region
// leaders in a fixed number of rounds (halving/region_leader.hpp).
#include "planners/all.hpp"
#include "planners/halving/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_distance_halving(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::whole_buffer, "distance-halving");
}

Task<Plans> plan_distance_halving_pruned(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::pruned, "distance-halving-pruned");
}

}  // namespace

const PlannerKind kind_of_distance_halving = {
    "allgather through one agent per halving of the regions", plan_distance_halving,
    "it passes on what nobody behind wants, for which nothing would come back",
    "it passes on all that a rank sends as one block; use distance-halving-pruned"};
const PlannerKind kind_of_distance_halving_pruned = {
    "the same, passing on what is wanted, for all patterns", plan_distance_halving_pruned};

}  // namespace vicinal
