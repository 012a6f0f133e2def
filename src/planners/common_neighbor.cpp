// common-neighbor: ranks of a region that send to the same ranks of other regions form groups. The
// members hand their items to each other, divide their common neighbours among them, and each sends
// to its share of them one message with the items of all members that have that neighbour.
// Neighbours that no other member has are served directly, and so are edges inside the region.
//
// Wins where ranks near to each other have many neighbours in common and messages are small: dense
// or regular neighborhoods. Unlike aggregation it keeps the last step direct, so nothing is handed
// on where it arrives. Cost between regions: for a group with the neighbour sets A, B, ... |A u B u
// ...| messages in place of |A| + |B| + ..., and the same bytes; inside the region each item is
// handed over once, and copied into each message that differs from the others. Groups have at most
// PlanOptions::group_size ranks, or as many as the model in cost/grouping finds cheapest.
//
// Source: Ghazimirsaeed, Mirsadeghi and Afsahi 2019, "An efficient collaborative communication
// mechanism for MPI neighborhood collectives". There, groups of a given size K are formed over the
// whole communicator; here they stay inside a region, so that handing over is cheap.
#include "planners/all.hpp"
#include "planners/common_neighbor/negotiation.hpp"

namespace vicinal {

Task<Plans> plan_common_neighbor(PlanRequest request) {
  common_neighbor::CommonNeighborNegotiation negotiation(request);
  co_return co_await negotiation.run();
}

}  // namespace vicinal
