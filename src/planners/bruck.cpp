// bruck: in step i each rank sends all its blocks to the rank 2^i before it. It receives as many
// from the rank 2^i after it. The last step moves the blocks that are still missing.
//
// Wins for small blocks where all ranks are equally far from each other: no allgather has fewer
// steps. Cost per rank: ceil(log2 p) messages and p - 1 blocks. If ranks are placed region by
// region, the first rank of a region sends all of its messages to other regions.
//
// Source: Bruck et al. 1997; Bienz et al. 2022, algorithm 1. There, the blocks are rotated to their
// places at the end; here each block is placed as it arrives.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

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

void bruck(Schedule& schedule) { gather_by_bruck(everybody(schedule.machine()), schedule); }

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_bruck(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "bruck", allgather::bruck);
}

}  // namespace

const PlannerKind kind_of_bruck =
    among_all("allgather in log2 p steps, to the ranks before", plan_bruck);

}  // namespace vicinal
