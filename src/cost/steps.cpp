// Levels are the machine's: what an operation says of its region is for statistics.
#include "cost/steps.hpp"

namespace vicinal::detail {

Steps::Steps(const Program& program, const Machine& machine, const Profile& profile,
             Index element_bytes)
    : profile_(profile) {
  steps_.reserve(static_cast<std::size_t>(program.operations()));
  for (const Plan& plan : program.plans) {
    for (const Operation& it : plan.operations) {
      Step step;
      const std::size_t id = steps_.size();
      step.kind = it.kind;
      step.rank = plan.rank;
      step.peer = it.peer;
      step.counterpart = program.counterpart[id];
      if (it.kind == OperationKind::send || it.kind == OperationKind::receive) {
        step.level = machine.level(plan.rank, it.peer);
        step.bytes = product(it.count, element_bytes);
        const LevelCost& cost = profile.at(step.level);
        const auto number = &cost.protocol(step.bytes) - cost.protocols.data();
        step.protocol = static_cast<std::uint16_t>(number);
      } else {
        step.bytes = product(total(it.runs), element_bytes);
      }
      steps_.push_back(step);
    }
  }
}

}  // namespace vicinal::detail
