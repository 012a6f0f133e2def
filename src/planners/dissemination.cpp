// dissemination: in step i each rank sends all blocks that it has to the rank 2^i after it. The
// last step moves the blocks that are still missing.
//
// Wins where Bruck's algorithm does, at the same cost: ceil(log2 p) messages and p - 1 blocks per
// rank. It runs in the opposite direction, so that a rank's blocks grow downwards from its own.
//
// Source: Benson et al. 2003, on Hensgen, Finkel and Manber's barrier; Bienz et al. 2022, section
// 2.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

/// Runs Bruck's algorithm on the reversed team, so that it sends in the other direction.
void dissemination(Schedule& schedule) {
  Team reversed = everybody(schedule.machine());
  std::reverse(reversed.ranks.begin(), reversed.ranks.end());
  std::reverse(reversed.holds.begin(), reversed.holds.end());
  gather_by_bruck(reversed, schedule);
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_dissemination(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "dissemination", allgather::dissemination);
}

}  // namespace

const PlannerKind kind_of_dissemination =
    among_all("allgather in log2 p steps, to the ranks after", plan_dissemination);

}  // namespace vicinal
