// cascade: regions pass on what they have for others along paths that follow the digits of their distances, and each region
// on the way takes out what its ranks want. The ranks of a region share the messages out.
//
// With r regions of n ranks and the radix k, a rank sends about (k - 1) ceil(log_k r) / n messages, where leaders of region
// pairs send (r - 1) / n; each item travels as often as its distances end differently, over all at least once for each
// region that wants it, and more where few do. It wins for small items in dense graphs of many regions with few ranks each,
// say one rank for each of a node's GPUs; with one digit (k = r) it sends what `aggregate` does. vicinal_radix says which
// radix; else a closed form does, from what all ranks have to pass on.
//
// It is an algorithm of vicinal's. Its aim is that of Cascade (Sharifian, Sojoodi and Afsahi, CLUSTER 2025), of which the
// abstract alone was at hand: nodes are organized along several paths by their distance, and messages are forwarded along
// them until all neighbours have them. How that forms its paths, and what its nodes agree on, it does not say. The digits are
// those of Bruck et al.'s index algorithm (tuna/route.hpp). The supersteps, and how items are delivered in the end, are those
// of distance-halving (halving/negotiation.hpp), which chooses agents by the graph where this goes by places alone.
#include "planners/all.hpp"
#include "planners/halving/negotiation.hpp"

namespace vicinal {

Task<Plans> plan_cascade(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::cascaded, "cascade");
}

}  // namespace vicinal
