// The setting vicinal_choice: how `automatic` selects a planner.
#pragma once

#include <cstdint>
#include <string_view>

namespace vicinal {

enum class Choice : std::uint8_t {
  adaptive,  ///< by a cost model at first; by timing once executions repeat
  estimate,  ///< by a cost model, while planning
  measure,   ///< by timing the likely planners before the first execution
};

std::string_view name(Choice choice);
/// Returns the choice of that name; throws an internal fault if there is none.
Choice choice_of(std::string_view text);

}  // namespace vicinal
