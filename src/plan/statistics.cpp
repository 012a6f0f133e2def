// Counts the data that an execution moves, from the plan alone.
#include "plan/checks.hpp"

namespace vicinal {

namespace {

void add(Traffic& traffic, Index elements) {
  ++traffic.messages;
  traffic.elements += elements;
}

}  // namespace

Statistics statistics(const Plan& plan) {
  Statistics result;
  // The peers of a slot count its data, at the copy between the slot and their memory.
  const auto far = [&](int buffer) {
    const Buffer& it = plan.buffers[static_cast<std::size_t>(buffer)];
    return it.space == Space::shared && it.peer_index >= 0;
  };
  for (const Operation& it : plan.operations) {
    if (it.kind == OperationKind::send) {
      add(it.local ? result.local : result.non_local, it.count);
      add(result.sent_in_phase[name(it.phase)], it.count);
    } else if (it.kind == OperationKind::copy || it.kind == OperationKind::reduce) {
      const bool crosses = far(it.from) || far(it.to);
      (crosses ? result.shared_elements : result.copied_elements) += total(it.runs);
    }
  }
  return result;
}

}  // namespace vicinal
