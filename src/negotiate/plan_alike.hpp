// Checks that ranks were asked for the same plan. An info key, for example, may be given on some
// ranks only. Other planners have other supersteps, so that no rank could interpret the control
// messages. Therefore the ranks of a component compare their requests before planning. Where
// control messages of different planners cannot be confused, the ranks compare while planning.
#pragma once

#include <vector>

#include "base/given.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

/// Returns the values that ranks must have in common to plan together: the planner, and the options
/// that change control messages. If all ranks know the counts of all blocks, it adds these, since a
/// planner may depend on them.
std::vector<Given> given_alike(const Planner& planner, const PlanOptions& options,
                               const Pattern& pattern);

/// Checks that all ranks of the component give these alike and that none has failed. Throws as
/// plan_alike().
Task<Done> require_alike(Conversation& talk, const Planner& planner, const PlanRequest& request);
/// As require_alike(); returns whether both ends of each edge give the same count.
Task<bool> compare_counts(Conversation& talk, const Planner& planner, const PlanRequest& request);

/// Plans, if all ranks of the component give the same planner and options. If they differ, throws
/// on all ranks an info fault (for blocks, a count fault) that names two ranks and both values. If
/// a rank reports a fault, throws it there, and a fault that names it on the other ranks. Both are
/// SettledFaults. Costs two control messages per rank. `planner` and the objects that the request
/// refers to must live until the task is done.
Task<Plans> plan_alike(const Planner& planner, PlanRequest request);

}  // namespace vicinal
