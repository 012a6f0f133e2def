// How the ranks agree on routes, in five supersteps, three of them inside regions:
//
//   1  every active rank tells its region what it sends to and gets from each other region; all
//      members compute the same leaders
//   2  contributors hand their streams to their leaders; each region's first leader introduces itself
//      to the other region's contact, the one rank there that both regions know beforehand
//   3  contacts pass the introductions on; now both leaders know both sides, and reach the same verdict
//   4  sending leaders tell contributors where to put their items, and receiving leaders what the
//      message will hold; receiving leaders tell consumers the verdict
//   5  receiving leaders tell consumers where to find their items; ranks at the ends of edges that go
//      straight compare counts
//
// A policy that never relays needs only the last one. How many letters a rank expects depends on the
// graph's edges alone until both sides have agreed, so a rank with a fault can go through all of it,
// marking its letters, and nobody waits in vain.
#pragma once

#include "planners/planner.hpp"
#include "planners/relay/policy.hpp"
#include "planners/relay/routes.hpp"

namespace vicinal {

/// Collective over the active ranks of the graph. Throws the own fault, or one of kind `elsewhere`
/// that names the rank at fault.
Task<Routes> negotiate(PlanRequest request, RelayPolicy policy);

}  // namespace vicinal
