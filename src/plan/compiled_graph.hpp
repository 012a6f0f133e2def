// A plan in executable form: operations are counters with successors, and messages have a fixed
// order in which they are started and tested. The compiled graph depends on the plan alone and
// never changes, so executions of the plan can share it.
//
// Messages form four contiguous groups, so that one MPI call can start or test a group:
//
//     linked (others wait for them)            not linked
//     begin later | begin at once              begin at once | begin later
//
// Messages without predecessors and successors are not nodes. One call starts all of them, and one
// call tests them.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

struct CompiledGraph {
  struct Node {
    OperationKind kind{};
    /// Index among the copies or reductions, or of its message, or its event.
    int step = -1;
    int buffer = -1;  ///< signal and await: the shared buffer
    int flag = -1;
    int lag = 0;
    int predecessors = 0;
    int first_successor = 0;
    int last_successor = 0;
    int plan_operation = -1;
  };
  struct Message {
    int plan_operation = -1;
    int node = -1;
  };
  struct Receive {
    int message = -1;
    Index count = 0;
  };

  /// The plan must outlive the compiled graph.
  explicit CompiledGraph(const Plan& of);

  const Plan& plan;
  std::vector<Node> nodes;
  std::vector<int> successors;
  std::vector<int> predecessors;  ///< by node: number of predecessors
  std::vector<int> initial;       ///< nodes without predecessors, except messages, in plan order
  std::vector<int> copies, reductions;  ///< operation numbers in the plan
  std::vector<int> triggers;            ///< by event: its node
  /// By node: whether it is final, and no other rank waits for it in the same execution. Final
  /// nodes are copies and reductions into the user's target without successors other than signals.
  /// Signals that only follow such nodes are final too: they release a slot for the next execution.
  std::vector<bool> last;
  std::size_t last_nodes = 0;

  std::vector<Message> messages;
  int linked_later = 0;
  int linked = 0;
  int at_once = 0;  ///< counted from linked_later on
  int unlinked_later = 0;
  std::vector<Receive> unlinked_receives;

  /// By buffer: its index among the staging buffers, this rank's slots, or other ranks' slots; -1
  /// for the user's buffers.
  std::vector<int> place;
  int staging = 0;

  [[nodiscard]] const Node& node(int number) const {
    return nodes[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Message& message(int number) const {
    return messages[static_cast<std::size_t>(number)];
  }
  /// Returns the operation of a node or a message.
  template <class Part>
  [[nodiscard]] const Operation& operation_of(const Part& part) const {
    return plan.operations[static_cast<std::size_t>(part.plan_operation)];
  }
  [[nodiscard]] const Buffer& buffer(int number) const {
    return plan.buffers[static_cast<std::size_t>(number)];
  }

 private:
  void place_buffers();
  void group_messages();
  [[nodiscard]] std::vector<int> make_nodes();
  void link(const std::vector<int>& node_of);
  void find_last(const std::vector<int>& node_of);
};

/// Returns whether another rank owns the buffer.
inline bool is_far(const Buffer& buffer) { return buffer.peer_index >= 0; }

}  // namespace vicinal
