// A kept plan's executions and its end.
#include "collectives/kept_plan.hpp"

#include <algorithm>

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

std::shared_ptr<KeptPlan>& RecentPlans::find(const std::vector<Index>& bytes) {
  const auto known = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& entry) { return entry.first == bytes; });
  if (known != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, known);
  } else {
    plans_.emplace_front(bytes, nullptr);
    if (plans_.size() > most) plans_.pop_back();
  }
  return plans_.front().second;
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
