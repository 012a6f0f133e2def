// A kept plan's executions and its end.
#include "collectives/kept_plan.hpp"

namespace vicinal {

KeptPlan::KeptPlan(std::shared_ptr<AgreedPlan> plan, int turns) : plan_(std::move(plan)) {
  for (int channel = 0; channel < turns; ++channel) {
    turns_.push_back(std::make_unique<Turn>(plan_, channel));
  }
  for (const Operation& operation : plan_->forward().operations) {
    const int tag = mpi::Communicator::data_tag(operation.tag, 0, false);
    if (operation.kind == OperationKind::send) send_tags_.emplace(operation.peer, tag);
    if (operation.kind == OperationKind::receive) receive_tags_.emplace(operation.peer, tag);
  }
}

void KeptPlan::spoil(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = error;
}

void KeptPlan::require_sound() {
  const std::lock_guard lock(mutex_);
  if (!fault_) return;
  fail(fault_->fault(), "an earlier call of this kind on the graph has failed (", fault_->what(),
       "); create another graph");
}

}  // namespace vicinal
