// How it is decided by which planner something goes that is left to `automatic`: the setting vicinal_choice.
#pragma once

#include <cstdint>
#include <string_view>

namespace vicinal {

enum class Choice : std::uint8_t {
  adaptive,  ///< at first by a cost model; where executions repeat, by timing them
  estimate,  ///< by a cost model, while planning
  measure,   ///< by timing the likely ones before the first execution
};

std::string_view name(Choice choice);
/// An internal fault for a text that is no name.
Choice choice_of(std::string_view text);

}  // namespace vicinal
