// Counts, from the plan alone, of what an execution moves and where to.
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
  // What passes through a slot is counted by its peers, at the copy that takes it across.
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
