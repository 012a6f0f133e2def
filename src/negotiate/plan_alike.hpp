// Planning by ranks that may have been asked for different things: by an info key that was given on some
// ranks only, say. With other planners even the supersteps differ, and nobody could tell what a letter
// means. So the ranks of a component make sure that they plan alike: before anything else, or, where letters
// of ranks that plan differently cannot be taken for each other, while they plan.
#pragma once

#include <vector>

#include "base/given.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// What ranks that plan together must have alike: the planner, the options that change what is said or how much,
/// and where all of them know the counts of all blocks, these: a planner may go by them.
std::vector<Given> given_alike(const Planner& planner, const PlanOptions& options,
                               const Pattern& pattern);

/// Whether all ranks of the component give these alike, and none is at fault. Throws like plan_alike().
Task<Done> require_alike(Conversation& talk, const Planner& planner, const PlanRequest& request);
/// The same, and whether both ends of each edge give the same count.
Task<bool> compare_counts(Conversation& talk, const Planner& planner, const PlanRequest& request);

/// Plans, if all ranks of the component give the same planner and options. Where they do not, throws an info fault (for
/// blocks, a count fault) that names two ranks and both values on all of them, and where a rank brings a fault, that
/// is thrown there and told all others: both as a SettledFault. Costs two letters per rank.
/// `planner` and what the request refers to must live until the task is done.
Task<Plans> plan_alike(const Planner& planner, PlanRequest request);

}  // namespace vicinal
