// The choice of a planner for an allgather over all ranks by `automatic`: the fastest by the
// profile.
//
// The choice needs no communication. It follows from data that all ranks have in common: the
// machine, the profile, and the counts of all blocks. A failed rank may have other counts, and thus
// choose another planner. But the ranks compare these counts, too (plan_alike.hpp). So no planner
// reads a control message of another, and all ranks learn of the fault.
#pragma once

#include <string>
#include <string_view>

#include "negotiate/planner.hpp"

namespace vicinal::allgather {

struct Choice {
  std::string_view planner;
  std::string reason;  ///< the time of each planner, for users
};

[[nodiscard]] Choice choose(const PlanRequest& request);

}  // namespace vicinal::allgather
