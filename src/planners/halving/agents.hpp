// How the ranks find their agents: every rank tells its region leader, the lowest rank of its region with
// any edge, whom it sends to, and the region leaders of its sources from whom it receives. From that the
// region leaders know which ranks have neighbours in common (matrix A of Sharifian et al., kept once for a
// region rather than by each rank), and agree on agents among themselves (region_leader.hpp).
#pragma once

#include <map>
#include <vector>

#include "planners/halving/halves.hpp"
#include "planners/halving/region_leader.hpp"
#include "planners/planner.hpp"

namespace vicinal::halving {

/// For each step of the halving, whom this rank sends to and receives from. Collective over the
/// ranks with edges. `region_leaders` holds the region leader of each region with a source of this rank, by region.
/// A rank becomes the agent of `most_origins` ranks in a step at most, 1 or 2.
Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> region_leaders, int most_origins);

}  // namespace vicinal::halving
