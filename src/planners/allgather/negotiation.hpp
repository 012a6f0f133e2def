// From a schedule to a plan: the ranks tell each other by what passage each transfer goes.
#pragma once

#include <string_view>

#include "planners/allgather/schedule.hpp"
#include "planners/planner.hpp"

namespace vicinal::allgather {

/// Plans an allgather over all ranks of the machine (PlanOptions::complete) whose schedule
/// `algorithm` writes. One superstep: a letter to each rank that this one gives to.
///
/// Each rank knows the counts of all; that they are the same is compared beside this (plan_alike.hpp).
Task<Plans> plan_allgather(PlanRequest request, std::string_view planner,
                           void (*algorithm)(Schedule&));

}  // namespace vicinal::allgather
