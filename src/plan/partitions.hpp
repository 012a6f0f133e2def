// Exchanges in partitions (after MPI-4's partitioned communication): what an edge carries becomes ready in
// equal parts, one after the other, and its receiver hears of parts as they arrive. Planners need not know
// of it. What they have planned is rewritten in three steps, of which the one in the middle is agreed on
// between the ranks (planners/partitioning.hpp):
//
//   1  each partition to be sent gets a trigger, and whatever reads the user's source comes after the
//      triggers of what it reads; a copy that reads several partitions becomes several
//   2  a message of the sender's own items alone, which the receiver does not pass on, is divided into one
//      for each partition in it, so that none waits for another; any other one, to or from a leader, waits
//      for all that it holds
//   3  each partition to be received gets a notification, which comes after whatever writes its slots
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

/// The rank at the other end of each event's edge: how the events of a pattern are counted.
std::vector<int> trigger_peers(const Pattern& pattern);
std::vector<int> notify_peers(const Pattern& pattern);
/// Where partitions lie in the source, by position (and in the target).
std::vector<Stretch> sent_stretches(const Pattern& pattern);
std::vector<Stretch> received_stretches(const Pattern& pattern);

/// Step 1. The partitions of the pattern's out-edges must lie apart from each other.
Plan with_triggers(const Plan& plan, const Pattern& pattern);

/// A message that is divided: the pieces' lengths and tags, of which the first is its own.
struct Division {
  std::vector<Index> counts;
  std::vector<std::int64_t> tags;
};

/// Step 2: the receives of what is brought to the target and nowhere else.
std::vector<int> deliveries(const Plan& plan);
/// How the sends of a plan with triggers may be divided, by operation, still without tags. Those
/// that need not be are left out.
std::map<int, Division> divisions(const Plan& plan, const Pattern& pattern);
/// With these sends and receives divided, by operation.
Plan divided(const Plan& plan, const Pattern& pattern, const std::map<int, Division>& divisions);

/// Step 3.
Plan with_notifications(Plan plan, const Pattern& pattern);

}  // namespace vicinal
