// Turns a list of transfers into a plan. Only this code writes operations and synchronizes slots.
#pragma once

#include <string>
#include <string_view>

#include "negotiate/planner.hpp"
#include "negotiate/transfers.hpp"

namespace vicinal {

/// Returns one rank's plan; local. Operations that other ranks wait for come first: receives, then
/// gives of this rank's own items, then forwarded items. Operations that only this rank waits for
/// come last.
Plan write_plan(Transfers transfers, int rank, int size, std::string_view planner);

/// Returns the plan, and the reverse if it is requested.
Plans write_plans(Transfers transfers, const PlanRequest& request, std::string_view planner,
                  std::string reason = {});

}  // namespace vicinal
