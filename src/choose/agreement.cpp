// Consultations along the component's tree, each to its end before the next.
#include "choose/council.hpp"

#include "planners/plan_alike.hpp"

namespace vicinal {

void Council::run(Task<Done>& task) { mpi::drive(communicator_, key_, conversation_, task); }

void Council::compare(const Planner& planner, const PlanRequest& request) {
  conversation_.set_purpose("agreeing on a plan by " + std::string(planner.name));
  Task<Done> comparing = require_alike(conversation_, planner, request);
  run(comparing);
  conversation_.set_purpose("choosing a planner");
}

void Council::consult(AnyConsultation& about) {
  FaultRecord faults(neighborhood_.rank, "figures", "choosing a planner");
  Task<Done> consulting = vicinal::consult(conversation_, neighborhood_.tree, faults, about);
  run(consulting);
  faults.settle();
}

Numbers Council::sums(Numbers mine) {
  Joining joining(std::move(mine), Joining::sum);
  consult(joining);
  return joining.take();
}

Numbers Council::largest(Numbers mine) {
  Joining joining(std::move(mine), Joining::larger);
  consult(joining);
  return joining.take();
}

}  // namespace vicinal
