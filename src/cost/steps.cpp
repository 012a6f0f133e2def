// Levels are the machine's: the region recorded in an operation is only for statistics.
#include "cost/steps.hpp"

#include <set>
#include <utility>

namespace vicinal::detail {

namespace {

/// Locations of the buffers of all ranks.
class Places {
 public:
  Places(const Program& program, OnDevice users, DeviceTransport transport)
      : users_(users), transport_(transport) {
    if (!users.any() || !transport.shared) return;
    for (const Plan& plan : program.plans) {
      const std::vector<bool> slots = slots_on_device(plan, users);
      for (std::size_t i = 0; i < slots.size(); ++i) {
        if (slots[i]) shared_.emplace(plan.rank, plan.buffers[i].slot);
      }
    }
  }
  /// Marks the slots of this rank whose source is exported instead.
  [[nodiscard]] std::vector<bool> lent(const Plan& plan) const {
    return transport_.lent && users_.any() ? lendable_slots(plan, users_)
                                           : std::vector<bool>(plan.buffers.size());
  }
  [[nodiscard]] std::vector<bool> of(const Plan& plan) const {
    std::vector<bool> there = lying_on_device(plan, users_, transport_.direct);
    for (std::size_t i = 0; i < there.size(); ++i) {
      const Buffer& buffer = plan.buffers[i];
      if (buffer.space == Space::shared) there[i] = shared_.contains({buffer.owner, buffer.slot});
    }
    return there;
  }

 private:
  OnDevice users_;
  DeviceTransport transport_;
  std::set<std::pair<int, std::int64_t>> shared_;  ///< owners and slots that lie on a GPU
};

}  // namespace

Steps::Steps(const Program& program, const Machine& machine, const Profile& profile,
             Index element_bytes, OnDevice on_device, DeviceTransport transport)
    : profile_(profile) {
  const Places places(program, on_device, transport);
  steps_.reserve(static_cast<std::size_t>(program.operations()));
  for (const Plan& plan : program.plans) {
    const std::vector<bool> there = places.of(plan), lent = places.lent(plan);
    for (const Operation& it : plan.operations) {
      Step step;
      const std::size_t id = steps_.size();
      step.kind = it.kind;
      step.rank = plan.rank;
      step.peer = it.peer;
      step.counterpart = program.counterpart[id];
      const bool is_lent = writes_elements(it.kind) && lent[static_cast<std::size_t>(it.to)];
      step.device = is_lent ? DeviceTask::lent : device_task(plan, it, there, element_bytes);
      if (it.kind == OperationKind::send || it.kind == OperationKind::receive) {
        step.level = machine.level(plan.rank, it.peer);
        step.bytes = product(it.count, element_bytes);
        const LevelCost& its = cost(step);
        const auto number = &its.protocol(step.bytes) - its.protocols.data();
        step.protocol = static_cast<std::uint16_t>(number);
      } else {
        step.bytes = product(total(it.runs), element_bytes);
      }
      steps_.push_back(step);
    }
  }
}

}  // namespace vicinal::detail
