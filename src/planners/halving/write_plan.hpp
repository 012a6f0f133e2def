// Routes of a halving, written out as a plan.
#pragma once

#include <string_view>

#include "plan/plan.hpp"
#include "planners/halving/routes.hpp"

namespace vicinal::halving {

Plan write_halving(const HalvingRoutes& routes, int rank, int size, std::string_view planner);

}  // namespace vicinal::halving
