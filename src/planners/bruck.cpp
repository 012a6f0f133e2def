// bruck: in step i each rank sends all that it has to the rank 2^i before it, and receives as much
// from the rank 2^i after it; the last step moves what is still missing.
//
// Wins for small blocks where all ranks are equally far from each other: no allgather has fewer
// steps. Cost per rank: ceil(log2 p) messages and p - 1 blocks; between regions, on ranks placed in
// blocks, the last rank of a region has all of its messages go out.
//
// Source: Bruck et al. 1997; Bienz et al. 2022, algorithm 1. There the blocks are rotated to their
// places in the end; here each goes there as it arrives.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/negotiation.hpp"

namespace vicinal::allgather {

void gather_by_bruck(const Team& team, Schedule& schedule) {
  const int size = team.size();
  const int place = team.place_of(schedule.rank());
  for (int step = 1; step < size; step *= 2) {
    const int count = std::min(step, size - step);
    const int before = (place - step + size) % size;
    const int after = (place + step) % size;
    schedule.give(team.held_by(place, count), {team.ranks[before]});
    schedule.take(team.held_by(after, count), team.ranks[after]);
  }
}

}  // namespace vicinal::allgather

namespace vicinal {

Task<Plans> plan_bruck(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "bruck", [](allgather::Schedule& schedule) {
    allgather::gather_by_bruck(allgather::everybody(schedule.machine()), schedule);
  });
}

}  // namespace vicinal
