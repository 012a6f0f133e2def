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
  const auto shared = [&](int buffer) { return plan.buffers[buffer].space == Space::shared; };
  for (const Operation& it : plan.operations) {
    if (it.kind == OperationKind::send) {
      add(it.local ? result.local : result.non_local, it.count);
      add(result.sent_in_phase[name(it.phase)], it.count);
    } else if (it.kind == OperationKind::copy || it.kind == OperationKind::reduce) {
      const bool any_shared = shared(it.from) || shared(it.to);
      (any_shared ? result.shared_elements : result.copied_elements) += total(it.runs);
    }
  }
  return result;
}

}  // namespace vicinal
