// Tests the compiled form of a plan: message groups, nodes, counters, and places of buffers.
#include "plan/compiled_graph.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "../check.hpp"
#include "../relay_plans.hpp"
#include "plan/placement.hpp"

namespace vicinal::compiled_graph_tests {

namespace {

using testing::add;
using testing::flagging;
using testing::message;
using testing::moving;
using Kind = OperationKind;

/// One rank's plan with a message of each group and each kind of operation.
struct Mixed {
  Plan plan = testing::empty_plans(1, 8, 8)[0];
  int staging = add(plan, Buffer{Space::staging, 4});
  int view = add(plan, Buffer{Space::shared, 4, 5, 1, 0});
  int second_staging = add(plan, Buffer{Space::staging, 2});
  int slot = add(plan, Buffer{Space::shared, 4, 6, 0, -1, 1});
  int free = add(plan, flagging(Kind::await, Phase::gather, view, -1, 1));
  int alone = add(plan, message(Kind::send, Plan::source, 0, 2, 1, 10));
  int arriving = add(plan, message(Kind::receive, staging, 0, 4, 2, 11));
  int packed =
      add(plan, moving(Kind::copy, Phase::gather, staging, view, {{0, 0, 4}}, {free, arriving}));
  int added = add(plan, moving(Kind::reduce, Phase::gather, staging, Plan::target, {{0, 0, 4}},
                               {arriving, packed}));
  int relayed = add(plan, message(Kind::send, staging, 0, 4, 3, 12, {packed}));
  int signalled = add(plan, flagging(Kind::signal, Phase::gather, view, 0, 0, {relayed}));
  int last = add(plan, message(Kind::send, staging, 0, 4, 4, 13, {packed}));
  int lone_receive = add(plan, message(Kind::receive, Plan::target, 4, 3, 5, 14));
  int unpacked =
      add(plan, moving(Kind::copy, Phase::local, Plan::source, Plan::target, {{0, 7, 1}}));
};

std::vector<int> operations_of(const CompiledGraph& graph, const std::vector<int>& nodes) {
  std::vector<int> result;
  for (const int node : nodes) result.push_back(graph.node(node).plan_operation);
  return result;
}

std::vector<int> successors_of(const CompiledGraph& graph, int operation) {
  const auto node =
      std::find_if(graph.nodes.begin(), graph.nodes.end(),
                   [&](const CompiledGraph::Node& it) { return it.plan_operation == operation; });
  CHECK(node != graph.nodes.end());
  const auto first = graph.successors.begin();
  return operations_of(graph, {first + node->first_successor, first + node->last_successor});
}

}  // namespace

TEST(compiled_messages_lie_in_groups) {
  const Mixed it;
  const CompiledGraph graph(it.plan);
  std::vector<int> order;
  for (const CompiledGraph::Message& message : graph.messages) {
    order.push_back(message.plan_operation);
  }
  // Linked later; linked at once; two unlinked at once, the receive first; unlinked later.
  CHECK(order == std::vector({it.relayed, it.arriving, it.lone_receive, it.alone, it.last}));
  CHECK_EQUAL(graph.linked_later, 1);
  CHECK_EQUAL(graph.linked, 2);
  CHECK_EQUAL(graph.at_once, 3);
  CHECK_EQUAL(graph.unlinked_later, 1);
  CHECK_EQUAL(graph.unlinked_receives.size(), 1U);
  CHECK_EQUAL(graph.unlinked_receives[0].message, 2);
  CHECK_EQUAL(graph.unlinked_receives[0].count, 3);
}

TEST(compiled_nodes_leave_out_messages_that_stand_alone) {
  const Mixed it;
  const CompiledGraph graph(it.plan);
  for (const CompiledGraph::Node& node : graph.nodes) {
    CHECK(node.plan_operation != it.alone && node.plan_operation != it.lone_receive);
    if (!is_message(node.kind)) continue;
    const CompiledGraph::Message& message = graph.message(node.step);
    CHECK_EQUAL(message.plan_operation, node.plan_operation);
    CHECK_EQUAL(&graph.node(message.node), &node);
  }
  CHECK_EQUAL(graph.nodes.size(), it.plan.operations.size() - 2);
  CHECK_EQUAL(graph.message(2).node, -1);
  CHECK_EQUAL(graph.message(3).node, -1);
}

TEST(compiled_counters_are_those_of_the_plan) {
  const Mixed it;
  const CompiledGraph graph(it.plan);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    CHECK_EQUAL(graph.predecessors[i],
                static_cast<int>(graph.operation_of(graph.nodes[i]).after.size()));
  }
  // Ready operations form a stack, so the last one pushed begins first.
  CHECK(successors_of(graph, it.packed) == std::vector({it.last, it.relayed, it.added}));
  CHECK(successors_of(graph, it.arriving) == std::vector({it.added, it.packed}));
  CHECK(successors_of(graph, it.signalled).empty());
  // The receive starts with the other messages, not as a node.
  CHECK(operations_of(graph, graph.initial) == std::vector({it.free, it.unpacked}));
}

TEST(compiled_steps_and_places_count_each_kind_by_itself) {
  const Mixed it;
  const CompiledGraph graph(it.plan);
  CHECK(graph.copies == std::vector({it.packed, it.unpacked}));
  CHECK(graph.reductions == std::vector({it.added}));
  CHECK(graph.place == std::vector({-1, -1, 0, 0, 1, 0}));
  CHECK_EQUAL(graph.staging, 2);
}

TEST(what_comes_last_in_a_plan) {
  const auto last_of = [](const Plan& plan) {
    const CompiledGraph graph(plan);
    std::vector<int> found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.last[i]) found.push_back(graph.nodes[i].plan_operation);
    }
    CHECK_EQUAL(graph.last_nodes, found.size());
    return found;
  };
  const Mixed mixed;
  CHECK(last_of(mixed.plan) == (std::vector<int>{mixed.added, mixed.unpacked}));

  // A copy into the target and its signal come last. A signal that also covers forwarded data does
  // not, nor does a copy that is sent on.
  Plan plan = testing::empty_plans(1, 8, 8)[0];
  const int view = add(plan, Buffer{Space::shared, 4, 5, 1, 0});
  const int staging = add(plan, Buffer{Space::staging, 4});
  const auto await = [&] { return add(plan, flagging(Kind::await, Phase::scatter, view, -1)); };
  const auto copy = [&](int to, int after) {
    return add(plan, moving(Kind::copy, Phase::scatter, view, to, {{0, 0, 4}}, {after}));
  };
  const auto signal = [&](std::vector<int> after) {
    return add(plan, flagging(Kind::signal, Phase::scatter, view, 0, 0, std::move(after)));
  };
  const int taken = copy(Plan::target, await());
  const int freed = signal({taken});
  const int taken_too = copy(Plan::target, await()), passed_on = copy(staging, await());
  signal({taken_too, passed_on});
  const int sent_on = copy(Plan::target, await());
  add(plan, message(Kind::send, Plan::target, 0, 4, 2, 1, {sent_on}));
  const int twice = copy(Plan::target, await());
  signal({twice});
  add(plan, message(Kind::send, Plan::target, 0, 4, 2, 2, {twice}));
  CHECK(last_of(plan) == (std::vector<int>{taken, freed}));
}

TEST(staged_messages_are_linked_to_their_copies) {
  const Mixed it;
  const Plan staged = with_staged(it.plan, Staged::messages);
  const CompiledGraph graph(staged);
  // Both messages that touched the user's buffers now have a copy and a staging buffer.
  CHECK_EQUAL(graph.staging, 4);
  CHECK_EQUAL(graph.copies.size(), 4U);
  CHECK(graph.unlinked_receives.empty());
  for (const CompiledGraph::Message& message : graph.messages) {
    const Operation& operation = graph.operation_of(message);
    const int buffer = operation.kind == Kind::send ? operation.from : operation.to;
    CHECK(graph.buffer(buffer).space == Space::staging);
    CHECK(message.node >= 0);
  }
}

}  // namespace vicinal::compiled_graph_tests
