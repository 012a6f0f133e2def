// The ranks to which a rank forwards data, step by step. They are the agents of a halving, or the
// next ranks on the paths of a cascade. All ranks count the same steps.
#pragma once

#include <utility>
#include <vector>

#include "planners/halving/halves.hpp"
#include "planners/halving/region_leader.hpp"

namespace vicinal::halving {

class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  [[nodiscard]] virtual int steps() const = 0;
  /// Returns the rank that gets this rank's data for a region in a step; -1: the data stays here.
  [[nodiscard]] virtual int taker(int step, int region) const = 0;
  /// Returns the ranks that may get data (givers(): that may give some). Control messages are sent
  /// even without data.
  [[nodiscard]] virtual const std::vector<int>& takers(int step) const = 0;
  [[nodiscard]] virtual const std::vector<int>& givers(int step) const = 0;
};

/// Each step hands the data behind its cut to one agent.
class AgentsWay final : public Way {
 public:
  AgentsWay(const Halves& halves, std::vector<StepPartners> partners) : halves_(halves) {
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
