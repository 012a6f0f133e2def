// direct: one message along each edge, as an MPI library's own neighborhood collectives send them.
//
// Wins where nothing can be shared: few edges per region pair, large messages, one rank per region.
// Cost per rank: one message per neighbour, every value as often as it is wanted.
// Source: Collom et al. 2023, algorithms 1 to 3.
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"

namespace vicinal {

namespace {

Task<Plans> plan_direct(PlanRequest request) {
  return plan_with(std::move(request), RelayPolicy{}, "direct");
}

}  // namespace

const PlannerKind kind_of_direct = {"one message per edge", plan_direct};

}  // namespace vicinal
