// When a contest is over.
#pragma once

#include <algorithm>
#include <vector>

#include "choose/contest.hpp"

namespace vicinal::testing {

/// The execution from which on the verdict of a contest between so many plans holds, at the latest.
inline std::int64_t latest_verdict(const Opening& opening, std::size_t plans) {
  const Heat glance{std::vector<std::size_t>(plans), opening.opens(), opening.in_flight,
                    rounds_of_glance};
  const Heat middle{std::vector<std::size_t>(plans), glance.verdict(), opening.in_flight,
                    rounds_of_middle_heat};
  const Heat last{std::vector<std::size_t>(std::min(plans, most_in_last_heat)), middle.verdict(),
                  opening.in_flight, rounds_of_last_heat};
  return last.verdict();
}

}  // namespace vicinal::testing
