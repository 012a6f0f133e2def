// Routes written out as plans.
#pragma once

#include <string_view>

#include "plan/plan.hpp"
#include "planners/planner.hpp"
#include "planners/relay/policy.hpp"
#include "planners/relay/routes.hpp"

namespace vicinal {

Plan write_forward(const Routes& routes, int rank, int size, std::string_view planner);
Plan write_reverse(const Routes& routes, int rank, int size, std::string_view planner);

/// The whole work of a planner of the relay family: negotiate, then write out.
Task<Plans> plan_with(PlanRequest request, RelayPolicy policy, std::string_view planner);

}  // namespace vicinal
