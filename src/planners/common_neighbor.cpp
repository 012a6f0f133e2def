// common-neighbor: ranks of a region that send to the same ranks of other regions form groups. The
// members hand their items to each other and divide their common neighbours among them. Each sends
// to every neighbour of its share one message, with the items of all members that have that
// neighbour. Neighbours of one member alone are served directly, and so are edges inside the
// region.
//
// Wins where nearby ranks have many neighbours in common and messages are small: dense or regular
// neighborhoods. Unlike in aggregation, the last step is direct, so the receiving side forwards
// nothing. Cost between regions: for a group with the neighbour sets A, B, ... |A u B u ...|
// messages instead of |A| + |B| + ..., and the same bytes. Inside the region each item is handed
// over once, and copied into each message that differs from the others. Groups have at most
// PlanOptions::group_size ranks, or as many as the model in cost/grouping finds cheapest.
//
// Source: Ghazimirsaeed, Mirsadeghi and Afsahi 2019, "An efficient collaborative communication
// mechanism for MPI neighborhood collectives". There, groups of a given size K are formed over the
// whole communicator; here they stay inside a region, so that handing over is cheap.
#include "planners/all.hpp"
#include "planners/common_neighbor/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_common_neighbor(PlanRequest request) {
  common_neighbor::CommonNeighborNegotiation negotiation(request);
  co_return co_await negotiation.run();
}

}  // namespace

const PlannerKind kind_of_common_neighbor = {
    "ranks of a region deliver for each other to the neighbours they share", plan_common_neighbor};

}  // namespace vicinal
