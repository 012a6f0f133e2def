// ring: in each of p - 1 steps a rank hands the block that it got last to the rank before it. Ranks
// stand in the ring region by region, so that only one of each region sends to another.
//
// Wins for large blocks: each rank sends each block once, to a neighbour, and all of them at once.
// Cost per rank: p - 1 messages and p - 1 blocks; of each region, one rank sends all of them out.
//
// Source: Chan et al. 2007; Bienz et al. 2022, section 2. The order by regions is ours.
#include "planners/all.hpp"
#include "planners/allgather/negotiation.hpp"

namespace vicinal::allgather {

void gather_by_ring(const Team& team, Schedule& schedule) {
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

Task<Plans> plan_ring(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "ring", [](allgather::Schedule& schedule) {
    allgather::gather_by_ring(allgather::by_region(schedule.machine()), schedule);
  });
}

}  // namespace vicinal
