// Turns a schedule into a plan: the ranks tell each other the passage of each transfer.
#pragma once

#include <string_view>

#include "negotiate/planner.hpp"
#include "planners/allgather/schedule.hpp"

namespace vicinal::allgather {

/// Plans an allgather over all ranks of the machine (PlanOptions::complete) whose schedule
/// `algorithm` writes. Takes one superstep: a control message to each rank that this one gives to.
///
/// Each rank knows the counts of all; the ranks compare them separately (plan_alike.hpp).
Task<Plans> plan_allgather(PlanRequest request, std::string_view planner,
                           void (*algorithm)(Schedule&));

}  // namespace vicinal::allgather
