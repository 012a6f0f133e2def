// dissemination: in step i each rank sends all that it has to the rank 2^i after it; the last step
// moves what is still missing.
//
// Wins where Bruck's algorithm does, with the same cost: ceil(log2 p) messages and p - 1 blocks per
// rank. It runs the other way round, so that a rank's blocks grow downwards from its own.
//
// Source: Benson et al. 2003, on Hensgen, Finkel and Manber's barrier; Bienz et al. 2022, section 2.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/negotiation.hpp"

namespace vicinal::allgather {

/// With the ranks in the opposite order, Bruck's algorithm sends the other way.
void gather_by_dissemination(const Team& team, Schedule& schedule) {
  Team reversed = team;
  std::reverse(reversed.ranks.begin(), reversed.ranks.end());
  std::reverse(reversed.holds.begin(), reversed.holds.end());
  gather_by_bruck(reversed, schedule);
}

}  // namespace vicinal::allgather

namespace vicinal {

Task<Plans> plan_dissemination(PlanRequest request) {
  return allgather::plan_allgather(
      std::move(request), "dissemination", [](allgather::Schedule& schedule) {
        allgather::gather_by_dissemination(allgather::everybody(schedule.machine()), schedule);
      });
}

}  // namespace vicinal
