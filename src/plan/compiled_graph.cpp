// Compiles a plan.
#include "plan/compiled_graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace vicinal {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

CompiledGraph::CompiledGraph(const Plan& of) : plan(of) {
  place_buffers();
  group_messages();
  const std::vector<int> node_of = make_nodes();
  link(node_of);
  find_last(node_of);
}

void CompiledGraph::place_buffers() {
  int owned = 0, far = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.space == Space::staging) {
      place.push_back(staging++);
    } else if (buffer.space == Space::shared) {
      place.push_back(is_far(buffer) ? far++ : owned++);
    } else {
      place.push_back(-1);
    }
  }
}

void CompiledGraph::group_messages() {
  std::vector<bool> awaited(plan.operations.size());
  for (const Operation& operation : plan.operations) {
    for (const int before : operation.after) awaited[at(before)] = true;
  }
  // The groups: linked later, linked at once, unlinked at once, unlinked later.
  std::array<std::vector<int>, 4> groups;
  for (int i = 0; i < static_cast<int>(plan.operations.size()); ++i) {
    const Operation& operation = plan.operations[at(i)];
    if (!is_message(operation.kind)) continue;
    const bool begins_at_once = operation.after.empty();
    groups[awaited[at(i)] ? (begins_at_once ? 1U : 0U) : (begins_at_once ? 2U : 3U)].push_back(i);
  }
  for (const auto& group : groups) {
    // Receives come first, so that arriving messages find a posted receive.
    for (const OperationKind kind : {OperationKind::receive, OperationKind::send}) {
      for (const int operation : group) {
        if (plan.operations[at(operation)].kind == kind) messages.push_back({operation, -1});
      }
    }
  }
  linked_later = static_cast<int>(groups[0].size());
  linked = linked_later + static_cast<int>(groups[1].size());
  at_once = static_cast<int>(groups[1].size() + groups[2].size());
  unlinked_later = static_cast<int>(groups[3].size());
  for (int i = linked; i < static_cast<int>(messages.size()); ++i) {
    const Operation& operation = operation_of(message(i));
    if (operation.kind == OperationKind::receive) {
      unlinked_receives.push_back({i, operation.count});
    }
  }
}

/// Returns the node of each operation; -1 for messages without a node.
std::vector<int> CompiledGraph::make_nodes() {
  std::vector<int> node_of(plan.operations.size(), -1);
  std::vector<int> message_of(plan.operations.size(), -1);
  for (int i = 0; i < static_cast<int>(messages.size()); ++i) {
    message_of[at(message(i).plan_operation)] = i;
  }
  const auto next_of = [](std::vector<int>& list, int operation) {
    list.push_back(operation);
    return static_cast<int>(list.size()) - 1;
  };
  for (int i = 0; i < static_cast<int>(plan.operations.size()); ++i) {
    const Operation& operation = plan.operations[at(i)];
    const int message = message_of[at(i)];
    const bool alone = message >= linked && message < linked_later + at_once;
    if (alone) continue;
    node_of[at(i)] = static_cast<int>(nodes.size());
    Node node;
    node.kind = operation.kind;
    node.plan_operation = i;
    node.predecessors = static_cast<int>(operation.after.size());
    if (message >= 0) {
      node.step = message;
      messages[at(message)].node = node_of[at(i)];
    } else if (operation.kind == OperationKind::copy) {
      node.step = next_of(copies, i);
    } else if (operation.kind == OperationKind::reduce) {
      node.step = next_of(reductions, i);
    } else if (operation.kind == OperationKind::trigger) {
      node.step = operation.event;
      if (triggers.size() <= at(node.step)) triggers.resize(at(node.step) + 1, -1);
      triggers[at(node.step)] = node_of[at(i)];
    } else if (operation.kind == OperationKind::notify) {
      node.step = operation.event;
    } else {
      node.buffer = operation.from;
      node.flag = operation.flag;
      node.lag = operation.lag;
    }
    nodes.push_back(node);
  }
  return node_of;
}

void CompiledGraph::link(const std::vector<int>& node_of) {
  std::vector<std::vector<int>> following(nodes.size());
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    for (const int before : plan.operations[i].after) {
      following[at(node_of[at(before)])].push_back(node_of[i]);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    node.first_successor = static_cast<int>(successors.size());
    // Ready nodes form a stack, and the last one pushed begins first. Reversed successors keep the
    // plan's order.
    successors.insert(successors.end(), following[i].rbegin(), following[i].rend());
    node.last_successor = static_cast<int>(successors.size());
    predecessors.push_back(node.predecessors);
    if (node.predecessors == 0 && !is_message(node.kind)) initial.push_back(static_cast<int>(i));
  }
}

void CompiledGraph::find_last(const std::vector<int>& node_of) {
  const auto brings_to_target = [&](int number) {
    const OperationKind kind = node(number).kind;
    const bool moves = kind == OperationKind::copy || kind == OperationKind::reduce;
    return moves && operation_of(node(number)).to == Plan::target;
  };
  const auto follows_only = [&](int number, const auto& such) {
    const std::vector<int>& after = operation_of(node(number)).after;
    return !after.empty() && std::all_of(after.begin(), after.end(),
                                         [&](int before) { return such(node_of[at(before)]); });
  };
  const auto releases = [&](int number) {
    return node(number).kind == OperationKind::signal && follows_only(number, brings_to_target);
  };
  const auto count = static_cast<int>(nodes.size());
  last.resize(nodes.size());
  for (int i = 0; i < count; ++i) {
    const auto begin = successors.begin() + node(i).first_successor;
    const auto end = successors.begin() + node(i).last_successor;
    last[at(i)] = brings_to_target(i) && std::all_of(begin, end, releases);
  }
  const std::vector<bool> moves = last;
  for (int i = 0; i < count; ++i) {
    if (releases(i)) last[at(i)] = follows_only(i, [&](int before) { return moves[at(before)]; });
  }
  last_nodes = static_cast<std::size_t>(std::count(last.begin(), last.end(), true));
}

}  // namespace vicinal
