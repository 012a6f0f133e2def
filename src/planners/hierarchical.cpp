// hierarchical: the first rank of each region collects the blocks of its region. These leaders
// exchange them by Bruck's algorithm, and each distributes all blocks in its region.
//
// Wins where a region's link is so slow that nothing else matters, or where few ranks of a region
// may use it. Cost between r regions, for each leader: ceil(log2 r) messages and all blocks but
// those of its own region. The other ranks wait meanwhile.
//
// Source: Träff 2006, "Efficient allgather for regular SMP-clusters"; Bienz et al. 2022, section
// 2.2.
#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

void hierarchical(Schedule& schedule) {
  const Machine& machine = schedule.machine();
  Team leaders, own;
  for (int region = 0; region < machine.regions(); ++region) {
    Team team;
    for (const int rank : machine.members(region)) {
      team.ranks.push_back(rank);
      team.holds.emplace_back(rank);
    }
    leaders.ranks.push_back(team.ranks.front());
    leaders.holds.push_back(team.held_by(0, team.size()));
    if (region == machine.region_of(schedule.rank())) own = std::move(team);
  }
  collect(own, 0, schedule);
  if (own.ranks.front() == schedule.rank()) gather_by_bruck(leaders, schedule);
  hand_out(own, 0, leaders.held_by(0, leaders.size()), schedule);
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_hierarchical(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "hierarchical", allgather::hierarchical);
}

}  // namespace

const PlannerKind kind_of_hierarchical =
    among_all("allgather by one leader per region", plan_hierarchical);

}  // namespace vicinal
