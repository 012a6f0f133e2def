// multi-lane: the first ranks of all regions form a lane, the second ranks another one, and so on.
// Each lane exchanges its blocks by Bruck's algorithm, so that all ranks send between regions at
// once. Then the ranks of each region share the blocks from their lanes.
//
// Wins for blocks so large that a region needs many senders to fill its links. Cost per rank, with
// r regions: ceil(log2 r) messages and r - 1 blocks between regions. Inside regions, it is as many
// blocks as there are in other lanes.
//
// There are as many lanes as the largest region has ranks. The members of a smaller region share
// out the surplus lanes: they receive the blocks and add none.
//
// Source: Träff and Hunold 2020, "Decomposing MPI collectives for exploiting multi-lane
// communication"; Bienz et al. 2022, section 2.2. Regions of different sizes are an addition.
#include <algorithm>

#include "planners/all.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

namespace {

/// Returns the members that handle a lane, with their blocks in it.
Team lane_team(const Machine& machine, int lane) {
  Team team;
  for (int region = 0; region < machine.regions(); ++region) {
    const auto members = machine.members(region);
    const int size = static_cast<int>(members.size());
    team.ranks.push_back(members[lane % size]);
    team.holds.push_back(lane < size ? Blocks(members[lane]) : Blocks());
  }
  return team;
}

}  // namespace

void multi_lane(Schedule& schedule) {
  const Machine& machine = schedule.machine();
  const auto members = machine.members(machine.region_of(schedule.rank()));
  const int size = static_cast<int>(members.size());
  int lanes = 0;
  for (int region = 0; region < machine.regions(); ++region) {
    lanes = std::max(lanes, static_cast<int>(machine.members(region).size()));
  }
  Team own;
  own.ranks.assign(members.begin(), members.end());
  own.holds.resize(members.size());
  for (int lane = 0; lane < lanes; ++lane) {
    const Team team = lane_team(machine, lane);
    own.holds[lane % size].add(team.held_by(0, team.size()));
    if (members[lane % size] == schedule.rank()) gather_by_bruck(team, schedule);
  }
  gather_inside(own, schedule);
}

}  // namespace vicinal::allgather

namespace vicinal {

namespace {

Task<Plans> plan_multi_lane(PlanRequest request) {
  return allgather::plan_allgather(std::move(request), "multi-lane", allgather::multi_lane);
}

}  // namespace

const PlannerKind kind_of_multi_lane =
    among_all("allgather by all ranks of a region at once, each for its lane", plan_multi_lane);

}  // namespace vicinal
