// Partitioned exchanges (after MPI-4's partitioned communication). The data of an edge becomes
// ready in equal parts, and its receiver learns of parts as they arrive. Planners need not know
// about partitions. Their plans are rewritten in three steps; the ranks agree on the second
// (negotiate/partitioning.hpp):
//
// 1  Each partition to be sent gets a trigger. Operations that read the user's source come after
//    the triggers of what they read. A copy that reads several partitions is split.
// 2  A message is divided by its partitions, so that none waits for another. It must hold only the
//    sender's items, and the receiver must not forward them. Any other message, to or from a
//    leader, waits for all its data.
// 3  Each partition to be received gets a notification, which comes after all operations that write
//    its slots.
//
// The verifier then proves all of it from the pattern.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "pattern/pattern.hpp"
#include "plan/plan.hpp"

namespace vicinal {

/// Consecutive elements of one of the user's buffers that belong to one partition.
struct Stretch {
  Index first = 0;
  Index count = 0;
  int event = -1;
};

/// Return the rank at the other end of each event's edge. The index is the event's number.
std::vector<int> trigger_peers(const Pattern& pattern);
std::vector<int> notify_peers(const Pattern& pattern);
/// Return the positions of partitions in the source and in the target, in ascending order.
std::vector<Stretch> sent_stretches(const Pattern& pattern);
std::vector<Stretch> received_stretches(const Pattern& pattern);

/// Step 1: adds triggers. Partitions of the pattern's out-edges must not overlap.
Plan with_triggers(const Plan& plan, const Pattern& pattern);

/// The pieces of a divided message: lengths and tags. The first piece keeps the message's tag.
struct Division {
  std::vector<Index> counts;
  std::vector<std::int64_t> tags;
};

/// Step 2: returns the receives whose data goes to the target only.
std::vector<int> deliveries(const Plan& plan);
/// Returns how the sends of a plan with triggers may be divided, by operation. Tags are not
/// assigned yet. Undivided sends are omitted.
std::map<int, Division> divisions(const Plan& plan, const Pattern& pattern);
/// Returns the plan with these sends and receives divided, by operation.
Plan divided(const Plan& plan, const Pattern& pattern, const std::map<int, Division>& divisions);

/// Step 3: adds notifications.
Plan with_notifications(Plan plan, const Pattern& pattern);

}  // namespace vicinal
