// From a list of transfers to a plan. This is the one place that writes operations and knows how slots are kept safe.
#pragma once

#include <string>
#include <string_view>

#include "planners/planner.hpp"
#include "planners/transfers.hpp"

namespace vicinal {

/// One rank's plan; local. What others wait for stands first: receives, then what this rank has to give of its own,
/// then what it passes on; what only this rank waits for stands last.
Plan write_plan(Transfers transfers, int rank, int size, std::string_view planner);

/// The plan, and the reverse where one is asked for.
Plans write_plans(Transfers transfers, const PlanRequest& request, std::string_view planner,
                  std::string reason = {});

}  // namespace vicinal
