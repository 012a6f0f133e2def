// Making a plan, whoever has planned it, one of an exchange in partitions: see plan/partitions.hpp.
#pragma once

#include "base/conversation.hpp"
#include "plan/plan.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// The plan with triggers and notifications, and with messages divided between them where both ends can.
/// Collective over the ranks that have got plans with messages for each other; costs a letter for each
/// other rank that this one sends messages to, and for each that it receives messages from. Throws a
/// SettledFault where only this rank has failed.
Task<Plan> with_partitions(Conversation& talk, Site& site, Plan plan, const Pattern& pattern);

}  // namespace vicinal
