// Agreements along the component's tree, each completed before the next.
#include "choose/agreement.hpp"

#include "negotiate/comparison.hpp"

namespace vicinal {

void RankAgreement::run(Task<Done>& task) { mpi::drive(communicator_, key_, conversation_, task); }

void RankAgreement::compare(const Planner& planner, const PlanRequest& request) {
  conversation_.set_purpose("agreeing on a plan by " + std::string(planner.name));
  Task<Done> comparing = require_alike(conversation_, planner, request);
  run(comparing);
  conversation_.set_purpose("choosing a planner");
}

void RankAgreement::tree_allreduce(AnyTreeAllreduce& about) {
  FaultRecord faults(neighborhood_.rank, "figures", "choosing a planner");
  Task<Done> allreduce = vicinal::tree_allreduce(conversation_, neighborhood_.tree, faults, about);
  run(allreduce);
  faults.settle();
}

Numbers RankAgreement::largest(Numbers mine) {
  Joining joining(std::move(mine), Joining::larger);
  tree_allreduce(joining);
  return joining.take();
}

}  // namespace vicinal
