// A plan in the form in which it is run: operations as counters with successors, and messages in the
// order in which they are started and tested. All of it follows from the plan alone and never changes,
// so whatever executes the plan may share it.
//
// Messages fall into four groups, each of which lies together so that one call of MPI starts or tests it:
//
//     linked (something waits for them)        not linked
//     begin later | begin at once              begin at once | begin later
//
// Those that neither wait for nor are waited for by anything are no nodes: they are started by one call and
// tested by one call.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace vicinal {

struct CompiledGraph {
  struct Node {
    OperationKind kind{};
    int step = -1;    ///< position among the copies or the reductions, or its message, or its event
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

  /// The plan must outlive it.
  explicit CompiledGraph(const Plan& of);

  const Plan& plan;
  std::vector<Node> nodes;
  std::vector<int> successors;
  std::vector<int> predecessors;  ///< by node: how many
  std::vector<int> initial;       ///< without predecessors, other than messages, in plan order
  std::vector<int> copies, reductions;  ///< the operations of the plan
  std::vector<int> triggers;            ///< by event: the node
  /// By node: what comes last, and that nobody else waits for in the same execution. That is what brings data to the user's target and
  /// nothing goes on from there, and the signals that it has been taken from a slot, which is free for the next one.
  std::vector<bool> last;
  std::size_t last_nodes = 0;

  std::vector<Message> messages;
  int linked_later = 0;
  int linked = 0;
  int at_once = 0;  ///< from linked_later on
  int unlinked_later = 0;
  std::vector<Receive> unlinked_receives;

  /// By buffer: which it is of the staging buffers, of this rank's slots, or of other ranks' slots.
  std::vector<int> place;
  int staging = 0;

  [[nodiscard]] const Node& node(int number) const {
    return nodes[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const Message& message(int number) const {
    return messages[static_cast<std::size_t>(number)];
  }
  /// Of a node or a message.
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

/// Whether it is another rank's.
inline bool is_far(const Buffer& buffer) { return buffer.peer_index >= 0; }

}  // namespace vicinal
