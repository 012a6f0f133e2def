// Rewrites plans for partitions.
#include "plan/partitions.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "plan/rewriting.hpp"

namespace vicinal {

using detail::Areas;
using detail::Rewriting;
using detail::sorted;

namespace {

/// Calls visit(partition, offset, count) for each part of `count` items of an edge from `first` on.
/// Each partition has `each` items.
template <class Visit>
void for_each_partition(Index each, Index first, Index count, Visit visit) {
  for (Index at = first; each > 0 && at < first + count;) {
    const Index end = std::min(first + count, (at / each + 1) * each);
    visit(static_cast<int>(at / each), at - first, end - at);
    at = end;
  }
}

}  // namespace

std::vector<int> trigger_peers(const Pattern& pattern) {
  std::vector<int> peers;
  for (const OutEdge& edge : pattern.out) {
    peers.insert(peers.end(), static_cast<std::size_t>(edge.partitions), edge.rank);
  }
  return peers;
}

std::vector<int> notify_peers(const Pattern& pattern) {
  std::vector<int> peers;
  for (const InEdge& edge : pattern.in) {
    peers.insert(peers.end(), static_cast<std::size_t>(edge.partitions), edge.rank);
  }
  return peers;
}

std::vector<Stretch> sent_stretches(const Pattern& pattern) {
  std::vector<Stretch> stretches;
  int event = 0;
  for (const OutEdge& edge : pattern.out) {
    if (edge.partitions == 0) continue;
    const Index each = item_count(edge) / edge.partitions;
    Index offset = 0;  // of the run within the edge
    for (const ItemRun& run : edge.items) {
      for_each_partition(each, offset, run.count, [&](int partition, Index from, Index count) {
        stretches.push_back({run.position + from, count, event + partition});
      });
      offset += run.count;
    }
    event += edge.partitions;
  }
  return sorted(std::move(stretches));
}

std::vector<Stretch> received_stretches(const Pattern& pattern) {
  std::vector<Stretch> stretches;
  int event = 0;
  for (const InEdge& edge : pattern.in) {
    if (edge.partitions == 0) continue;
    const Index each = edge.count / edge.partitions;
    for (const CopyRun& run : edge.slots) {
      for_each_partition(each, run.source, run.count, [&](int partition, Index from, Index count) {
        stretches.push_back({run.target + from, count, event + partition});
      });
    }
    event += edge.partitions;
  }
  return sorted(std::move(stretches));
}

Plan with_triggers(const Plan& plan, const Pattern& pattern) {
  const Areas areas(sent_stretches(pattern));
  Rewriting result(plan);
  const std::vector<int> peers = trigger_peers(pattern);
  for (int event = 0; event < static_cast<int>(peers.size()); ++event) {
    Operation trigger;  // its operation number equals the event number
    trigger.kind = OperationKind::trigger;
    trigger.event = event;
    trigger.peer = peers[static_cast<std::size_t>(event)];
    result.add(std::move(trigger));
  }
  for (const Operation& old : plan.operations) {
    Operation operation = old;
    operation.after = result.after(old);
    if (old.from != Plan::source) {
      result.became(std::move(operation));
    } else if (old.kind == OperationKind::send) {
      std::set<int> triggers;
      areas.for_each(old.offset, old.count, [&](int event, Index, Index) {
        if (event >= 0) triggers.insert(event);
      });
      operation.after.insert(operation.after.end(), triggers.begin(), triggers.end());
      result.became(std::move(operation));
    } else {
      std::map<int, std::vector<CopyRun>> groups;
      for (const CopyRun& run : old.runs) {
        areas.for_each(run.source, run.count, [&](int event, Index offset, Index count) {
          append_run(groups[event], {run.source + offset, run.target + offset, count});
        });
      }
      result.copies(operation, groups, [&](int event) {
        std::vector<int> after = operation.after;
        if (event >= 0) after.push_back(event);
        return after;
      });
    }
  }
  return result.finish();
}

Plan with_notifications(Plan plan, const Pattern& pattern) {
  const Areas areas(received_stretches(pattern));
  const std::vector<int> peers = notify_peers(pattern);
  std::vector<Operation> notifications(peers.size());
  for (int number = 0; number < static_cast<int>(plan.operations.size()); ++number) {
    const Operation& it = plan.operations[static_cast<std::size_t>(number)];
    if (it.to != Plan::target) continue;
    const auto write = [&](Index first, Index count) {
      areas.for_each(first, count, [&](int event, Index, Index) {
        if (event < 0) return;
        std::vector<int>& after = notifications[static_cast<std::size_t>(event)].after;
        if (after.empty() || after.back() != number) after.push_back(number);
      });
    };
    if (it.kind == OperationKind::receive) write(it.offset, it.count);
    for (const CopyRun& run : it.runs) write(run.target, run.count);
  }
  for (std::size_t event = 0; event < peers.size(); ++event) {
    Operation& notification = notifications[event];
    notification.kind = OperationKind::notify;
    notification.event = static_cast<int>(event);
    notification.peer = peers[event];
    plan.operations.push_back(std::move(notification));
  }
  return plan;
}

}  // namespace vicinal
