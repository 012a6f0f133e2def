// Number of the execution by which a contest is over.
#pragma once

#include <algorithm>
#include <vector>

#include "choose/contest.hpp"

namespace vicinal::testing {

/// Returns the latest execution from which the decision of a contest between `plans` plans holds.
inline std::int64_t latest_decision(const Opening& opening, std::size_t plans) {
  const Heat glance{std::vector<std::size_t>(plans), opening.opens(), opening.in_flight,
                    rounds_of_glance};
  const Heat middle{std::vector<std::size_t>(plans), glance.decision(), opening.in_flight,
                    rounds_of_middle_heat};
  const Heat last{std::vector<std::size_t>(std::min(plans, most_in_last_heat)), middle.decision(),
                  opening.in_flight, rounds_of_last_heat};
  return last.decision();
}

}  // namespace vicinal::testing
