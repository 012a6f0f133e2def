// Which planner is taken where that is left to `automatic`, and where more than its estimate is wanted: what has been
// measured before (wisdom.hpp), or what is measured now.
//
// All of it is one conversation of the ranks of a component, which wait for each other as they do for a plan. They
// compare what they were asked for, sum their patterns up, and their lowest rank looks what is known of such a pattern;
// it tells all, so that none chooses differently. Where nothing is known they plan the contenders, try them out on
// memory of their own (trial.hpp), and keep the one that the slowest rank is done with first. A contender that cannot
// be planned, or executed, on some rank is none on all. Nothing of the user's is touched before the choice is made.
// Where the program's own executions are to be timed instead, the contenders are handed to a contest (contest.hpp).
#pragma once

#include <memory>

#include "choose/contest.hpp"
#include "execute/planning.hpp"

namespace vicinal {

/// Whether there is something to choose, and something to choose by beside the planner's own estimate. In partitions
/// there is not: how quick those are depends on when they become ready, which the program alone knows.
bool has_choice(const PlanningTask& task);

/// Whether executions are to decide. Within one region all planners send one message per edge.
bool is_contested(const PlanningTask& task);

/// Plans what was to be planned by `automatic`. Collective over the component, whose ranks wait for each other; this
/// rank has edges. Throws as Planning does.
Chosen choose_plan(const PlanningTask& task);

}  // namespace vicinal
