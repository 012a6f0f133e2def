// The search of ranks for their agents. Every rank sends its destinations to its region leader, the
// lowest rank of its region with any edge. It sends its sources to the region leaders of all these
// sources. So the region leaders know which ranks have neighbours in common. This is matrix A of
// Sharifian et al., kept once for a region rather than by each rank. The region leaders then agree
// on agents among themselves (region_leader.hpp).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "negotiate/planner.hpp"
#include "planners/halving/halves.hpp"
#include "planners/halving/parcels.hpp"
#include "planners/halving/region_leader.hpp"

namespace vicinal::halving {

/// Returns, for each step of the halving, the ranks that this rank sends to and receives from.
/// Collective over the ranks with edges. `region_leaders` holds, by region, the leaders of the
/// regions with a source of this rank. A rank becomes the agent of at most `most_origins` ranks in
/// a step, 1 or 2.
Task<std::vector<StepPartners>> find_agents(Conversation& conversation,
                                            const Neighborhood& neighborhood, const Halves& halves,
                                            std::map<int, int> region_leaders, int most_origins);

/// Each step hands the data behind its cut to one agent.
class AgentsRoute final : public Route {
 public:
  AgentsRoute(const Halves& halves, std::vector<StepPartners> partners) : halves_(halves) {
    for (StepPartners& it : partners) {
      steps_.push_back({{}, std::move(it.origins)});
      if (it.agent >= 0) steps_.back().agents.push_back(it.agent);
    }
  }

  [[nodiscard]] int steps() const override { return halves_.steps(); }
  [[nodiscard]] int taker(int step, int region) const override {
    const std::vector<int>& agents = takers(step);
    return agents.empty() || halves_.step_to(region) != step ? -1 : agents.front();
  }
  [[nodiscard]] const std::vector<int>& takers(int step) const override {
    return steps_[static_cast<std::size_t>(step)].agents;
  }
  [[nodiscard]] const std::vector<int>& givers(int step) const override {
    return steps_[static_cast<std::size_t>(step)].origins;
  }

 private:
  struct Step {
    std::vector<int> agents;  ///< none or one
    std::vector<int> origins;
  };
  const Halves& halves_;
  std::vector<Step> steps_;
};

}  // namespace vicinal::halving
