// Every planner's entry point, for the table. Internal to src/planners.
#pragma once

#include "planners/planner.hpp"

namespace vicinal {

Task<Plans> plan_direct(PlanRequest request);
Task<Plans> plan_nearest_first(PlanRequest request);
Task<Plans> plan_aggregate(PlanRequest request);
Task<Plans> plan_aggregate_plain(PlanRequest request);
Task<Plans> plan_two_step(PlanRequest request);
Task<Plans> plan_split(PlanRequest request);
Task<Plans> plan_automatic(PlanRequest request);
Task<Plans> plan_distance_halving(PlanRequest request);
Task<Plans> plan_distance_halving_pruned(PlanRequest request);
Task<Plans> plan_cascade(PlanRequest request);
Task<Plans> plan_common_neighbor(PlanRequest request);
Task<Plans> plan_tuna(PlanRequest request);
Task<Plans> plan_tuna_hierarchical(PlanRequest request);
Task<Plans> plan_bruck(PlanRequest request);
Task<Plans> plan_dissemination(PlanRequest request);
Task<Plans> plan_recursive_doubling(PlanRequest request);
Task<Plans> plan_ring(PlanRequest request);
Task<Plans> plan_hierarchical(PlanRequest request);
Task<Plans> plan_multi_lane(PlanRequest request);
Task<Plans> plan_locality_bruck(PlanRequest request);

}  // namespace vicinal
