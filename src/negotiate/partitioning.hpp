// Turns a plan of any planner into one for a partitioned exchange; see plan/partitions.hpp.
#pragma once

#include "base/conversation.hpp"
#include "negotiate/planner.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// Returns the plan with triggers and notifications, its messages divided where both ends can.
/// Collective over ranks whose plans have messages for each other. Costs a control message for each
/// rank that this one sends messages to, and for each that it receives messages from. Throws a
/// error on all ranks if only this rank has failed.
Task<Plan> with_partitions(Conversation& talk, Site& site, Plan plan, const Pattern& pattern);

}  // namespace vicinal
