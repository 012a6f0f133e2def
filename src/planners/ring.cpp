// ring: in each of p - 1 steps a rank hands the block that it received last to the rank before it.
// Ranks stand in the ring region by region, so that only one rank of each region sends to another
// region.
//
// Wins for large blocks: each rank sends each block once, to a neighbour, and all ranks send at
// once. Cost per rank: p - 1 messages and p - 1 blocks; one rank of each region sends all of them
// to another region.
//
// Source: Chan et al. 2007; Bienz et al. 2022, section 2. The order by regions is an addition.
#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

void ring(Schedule& schedule) {
  const Team team = by_region(schedule.machine());
  const int size = team.size();
  const int place = team.place_of(schedule.rank());
  const int before = (place - 1 + size) % size;
  const int after = (place + 1) % size;
  for (int step = 0; step + 1 < size; ++step) {
    schedule.give(team.holds[(place + step) % size], {team.ranks[before]});
    schedule.take(team.holds[(after + step) % size], team.ranks[after]);
  }
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_ring(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "ring", allgather::ring);
}

}  // namespace

const PlannerKind kind_of_ring =
    among_all("allgather in p - 1 steps, to the next in a ring of regions", plan_ring);

}  // namespace vicinal
