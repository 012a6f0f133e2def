// How the ranks find their agents: every rank tells its chief, the lowest rank of its region with
// any edge, whom it sends to, and the chiefs of its sources from whom it receives. From that the
// chiefs know which ranks have neighbours in common (matrix A of Sharifian et al., kept once for a
// region rather than by each rank), and agree on agents among themselves (chief.hpp).
#pragma once

#include <map>
#include <vector>

#include "planners/halving/chief.hpp"
#include "planners/halving/halves.hpp"
#include "planners/planner.hpp"

namespace vicinal::halving {

/// For each step of the halving, whom this rank sends to and receives from. Collective over the
/// ranks with edges. `chiefs` holds the chief of each region with a source of this rank, by region.
/// A rank becomes the agent of `most_origins` ranks in a step at most, 1 or 2.
Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> chiefs, int most_origins);

}  // namespace vicinal::halving
