// Which planner `automatic` leaves an allgather over all ranks to: the fastest by the profile.
//
// Nobody is asked. What the choice follows from all ranks have alike: the machine, the profile, and the counts of all
// blocks. Those of a rank at fault may be others, and its choice with them; but counts are among what ranks compare beside
// the negotiation (plan_alike.hpp), so no letter of one planner is read by another, and all are told.
#pragma once

#include <string>
#include <string_view>

#include "planners/planner.hpp"

namespace vicinal::allgather {

struct Choice {
  std::string_view planner;
  std::string reason;  ///< for people: what each would take
};

[[nodiscard]] Choice choose(const PlanRequest& request);

}  // namespace vicinal::allgather
