// distance-halving: the regions are halved until one is left; in each step a rank hands its data
// and the duty to deliver it in the other half to an agent there, the rank with which it shares
// most neighbours on that side. What a rank then carries, it delivers in one message per
// destination.
//
// Wins in dense or irregular graphs with many regions and small items, where direct sends a message
// per neighbour: with r regions a rank sends at most one message per step, ceil(log2 r) if regions
// are equal, and one to each neighbour that is left, mostly of its own region. The price is bytes:
// the paper forwards the whole buffer, which may double in each step ("distance-halving"); the
// other planner forwards only what is wanted on the other side, and so serves all patterns.
//
// In the paper a rank has one origin in a step at most. Some ranks are then left without an agent,
// the surplus of the larger half among them, and send to each of their neighbours there, for their
// origins too: at 2,000 ranks in 100 regions and a density of 0.3, 27 messages between regions per
// rank on average and 307 at most. Where a rank may take the load of two others when there is
// nobody else, as the pruned planner lets it, it is 7 and 66.
//
// Source: Sharifian et al. 2024, algorithms 1 to 4. Agents are selected differently, by region leaders of
// regions in a fixed number of rounds (halving/region_leader.hpp).
#include "planners/all.hpp"
#include "planners/halving/negotiation.hpp"

namespace vicinal {

Task<Plans> plan_distance_halving(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::whole_buffer, "distance-halving");
}

Task<Plans> plan_distance_halving_pruned(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::pruned, "distance-halving-pruned");
}

}  // namespace vicinal
