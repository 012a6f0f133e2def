#include "plan/placement.hpp"

#include <algorithm>
#include <functional>

namespace vicinal {

namespace {

std::vector<bool> users_on_device(const Plan& plan, OnDevice users) {
  std::vector<bool> there;
  for (const Buffer& buffer : plan.buffers) {
    there.push_back((buffer.space == Space::source && users.source) ||
                    (buffer.space == Space::target && users.target));
  }
  return there;
}

/// By buffer: whether data moves between it and the user's buffers on the device, other memory, or
/// messages.
struct Neighbors {
  std::vector<bool> users_there;
  std::vector<bool> others;
  std::vector<bool> messages;

  Neighbors(const Plan& plan, const std::vector<bool>& there)
      : users_there(there.size()), others(there.size()), messages(there.size()) {
    const auto meet = [&](int buffer, int other) {
      (there[static_cast<std::size_t>(other)] ? users_there
                                              : others)[static_cast<std::size_t>(buffer)] = true;
    };
    for (const Operation& it : plan.operations) {
      const bool reads = reads_elements(it.kind), writes = writes_elements(it.kind);
      if (reads && writes) {
        meet(it.from, it.to);
        meet(it.to, it.from);
      } else if (reads || writes) {
        messages[static_cast<std::size_t>(reads ? it.from : it.to)] = true;
      }
    }
  }
};

}  // namespace

std::vector<bool> lying_on_device(const Plan& plan, OnDevice users, bool direct) {
  std::vector<bool> there = users_on_device(plan, users);
  if (!direct) return there;
  const Neighbors neighbors(plan, there);
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (plan.buffers[i].space != Space::staging) continue;
    there[i] = neighbors.users_there[i] && !neighbors.others[i];
  }
  return there;
}

std::vector<bool> slots_on_device(const Plan& plan, OnDevice users) {
  const Neighbors neighbors(plan, users_on_device(plan, users));
  std::vector<bool> there(plan.buffers.size());
  for (std::size_t i = 0; i < there.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.space != Space::shared || buffer.peer_index >= 0) continue;
    there[i] = neighbors.users_there[i] && !neighbors.others[i] && !neighbors.messages[i];
  }
  return there;
}

std::vector<bool> lendable_slots(const Plan& plan, OnDevice users) {
  std::vector<bool> found = slots_on_device(plan, users);
  std::vector<bool> is_filled(found.size());
  const auto exclude = [&](int buffer) { found[static_cast<std::size_t>(buffer)] = false; };
  for (const Operation& it : plan.operations) {
    if (reads_elements(it.kind)) exclude(it.from);
    if (!writes_elements(it.kind)) continue;
    const bool from_source = it.kind == OperationKind::copy && it.from == Plan::source;
    if (from_source && users.source) is_filled[static_cast<std::size_t>(it.to)] = true;
    if (!from_source) exclude(it.to);
  }
  std::transform(found.begin(), found.end(), is_filled.begin(), found.begin(),
                 std::logical_and<>());
  return found;
}

std::vector<CopyRun> lent_in(const Plan& plan, int slot) {
  std::vector<CopyRun> runs;
  for (const Operation& it : plan.operations) {
    if (it.kind == OperationKind::copy && it.to == slot)
      runs.insert(runs.end(), it.runs.begin(), it.runs.end());
  }
  std::ranges::sort(runs, {}, &CopyRun::target);
  return runs;
}

}  // namespace vicinal
