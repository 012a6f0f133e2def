// The search of ranks for their agents. Every rank sends its destinations to its region leader, the
// lowest rank of its region with any edge. It sends its sources to the region leaders of all these
// sources. So the region leaders know which ranks have neighbours in common. This is matrix A of
// Sharifian et al., kept once for a region rather than by each rank. The region leaders then agree
// on agents among themselves (region_leader.hpp).
#pragma once

#include <map>
#include <vector>

#include "negotiate/planner.hpp"
#include "planners/halving/halves.hpp"
#include "planners/halving/region_leader.hpp"

namespace vicinal::halving {

/// Returns, for each step of the halving, the ranks that this rank sends to and receives from.
/// Collective over the ranks with edges. `region_leaders` holds, by region, the leaders of the
/// regions with a source of this rank. A rank becomes the agent of at most `most_origins` ranks in
/// a step, 1 or 2.
Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> region_leaders, int most_origins);

}  // namespace vicinal::halving
