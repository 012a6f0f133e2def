// Declares what the files of the planners define, for the table. Internal to src/planners.
#pragma once

#include "base/planner_list.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

#define VICINAL_DECLARE(identifier, name) extern const PlannerKind kind_of_##identifier;
VICINAL_PLANNERS(VICINAL_DECLARE)
#undef VICINAL_DECLARE

/// Returns the kind of an allgather over all ranks of a communicator.
constexpr PlannerKind among_all(std::string_view summary, Task<Plans> (*plan)(PlanRequest)) {
  return {summary, plan, "an allgather has no reverse",
          "it moves one block of each rank to all ranks", true};
}

/// Returns the kind of an exchange between all ranks of a communicator, each with data for each
/// other.
constexpr PlannerKind between_all(std::string_view summary, Task<Plans> (*plan)(PlanRequest)) {
  return {summary, plan, {}, {}, true};
}

}  // namespace vicinal
