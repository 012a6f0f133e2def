// cascade: regions forward items for other regions along paths that follow the digits of their
// distances. Each region on a path takes out the items that its ranks want. The ranks of a region
// divide the messages among them.
//
// With r regions of n ranks and the radix k, a rank sends about (k - 1) ceil(log_k r) / n messages.
// Leaders of region pairs send (r - 1) / n. An item travels as often as the distances to its
// destinations end differently. There is at least one transfer for each region that wants it, and
// more if few regions do. Wins for small items in dense graphs of many regions with few ranks each,
// for example one rank per GPU of a node. With one digit (k = r) it sends the messages of
// `aggregate`. The setting vicinal_radix gives the radix; otherwise a closed form chooses it from
// the volume of all ranks.
//
// This is an algorithm of vicinal. Its aim is that of Cascade (Sharifian, Sojoodi and Afsahi,
// CLUSTER 2025), of which only the abstract was available. There, nodes are organized along several
// paths by their distance, and messages are forwarded along them until all neighbours have them.
// The abstract does not say how the paths are formed or what the nodes agree on. The digits are
// those of Bruck et al.'s index algorithm (tuna/route.hpp). The supersteps and the final deliveries
// are those of distance-halving (halving/negotiation.hpp). Distance-halving chooses agents by the
// graph, a cascade by places alone.
#include "planners/all.hpp"
#include "planners/halving/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_cascade(PlanRequest request) {
  return plan_halving(std::move(request), halving::Passing::cascaded, "cascade");
}

}  // namespace

const PlannerKind kind_of_cascade = {"regions pass on along paths by the digits of their distances",
                                     plan_cascade};

}  // namespace vicinal
