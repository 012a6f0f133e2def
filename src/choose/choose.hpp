// The choice of a planner for `automatic`, by more than its estimate: by earlier measurements
// (wisdom.hpp), or by new ones.
//
// The choice is one conversation of the ranks of a component, which wait for each other as for a
// plan. They compare their requests and sum their patterns up. The lowest rank looks the pattern up
// and tells all ranks the result, so that all choose alike. If nothing is known, a contest follows
// (contest.hpp). It uses the program's own executions, or, before the first of these, executions on
// scratch memory (rehearsal.hpp).
#pragma once

#include <memory>

#include "choose/contest.hpp"
#include "execute/planning.hpp"

namespace vicinal {

/// Returns whether there is a choice, and more than the planner's own estimate to choose by.
/// Partitions have none: their speed depends on when they become ready, which only the program
/// knows.
bool has_choice(const PlanningTask& task);

/// Returns whether executions decide. Within one region all planners send one message per edge.
bool is_contested(const PlanningTask& task);

/// Chooses and plans a task of `automatic`. Collective over the component, whose ranks wait for
/// each other; this rank has edges. Throws as Planning does.
Chosen choose_plan(const PlanningTask& task);

}  // namespace vicinal
