#include "cost/device_way.hpp"

#include "base/product.hpp"
#include "cost/devices.hpp"

namespace vicinal {

namespace {

/// Times of one thing through host memory and through the alternative.
struct Ways {
  double by_host = 0;
  double otherwise = 0;
  [[nodiscard]] bool other_is_cheaper() const { return otherwise < by_host; }
};

/// Returns the number of ranks that share the rank's GPU.
double ranks_of_gpu(const Machine& machine, const Profile& profile, int rank) {
  const int ranks = machine.ranks_on(machine.host_of(rank));
  return static_cast<double>(ranks) / detail::devices_of(*profile.device, ranks);
}

/// Time of GPU work if the other ranks that share the GPU have as much to do at once: their bytes
/// pass one after another.
double shared_seconds(const DeviceWork& work, std::int64_t bytes, double sharing) {
  return work.seconds(0) + sharing * static_cast<double>(bytes) * work.seconds_per_byte;
}

/// Gathering and scattering on the GPU takes the same time in both cases.
Ways of_messages(const Plan& plan, const Machine& machine, const Profile& profile,
                 Index element_bytes) {
  const double sharing = ranks_of_gpu(machine, profile, plan.rank);
  const DeviceCost& device = *profile.device;
  const std::vector<bool> there = lying_on_device(plan, {true, true}, true);
  Ways ways;
  for (const Operation& it : plan.operations) {
    const bool sends = it.kind == OperationKind::send;
    if (!is_message(it.kind) || !there[static_cast<std::size_t>(sends ? it.from : it.to)]) continue;
    const std::int64_t bytes = product(it.count, element_bytes);
    const auto level = static_cast<std::size_t>(machine.level(plan.rank, it.peer));
    ways.by_host += shared_seconds(sends ? device.to_host : device.to_device, bytes, sharing) +
                    profile.levels[level].seconds(bytes);
    ways.otherwise += (*device.levels)[level].seconds(bytes);
  }
  return ways;
}

/// For this rank's slots, as if the slots of other ranks were like them.
Ways of_handovers(const Plan& plan, const Machine& machine, const Profile& profile,
                  Index element_bytes) {
  const double sharing = ranks_of_gpu(machine, profile, plan.rank);
  const std::vector<bool> mine = slots_on_device(plan, {true, true});
  const std::vector<bool> staged = lying_on_device(plan, {true, true}, false);
  std::vector<bool> shared = staged;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.space == Space::shared) shared[i] = buffer.peer_index >= 0 || mine[i];
  }
  Ways ways;
  for (const Operation& it : plan.operations) {
    if (it.kind != OperationKind::copy && it.kind != OperationKind::reduce) continue;
    const auto from = static_cast<std::size_t>(it.from), to = static_cast<std::size_t>(it.to);
    const auto crosses = [&](std::size_t slot, std::size_t user, Space users) {
      return plan.buffers[slot].space == Space::shared && shared[slot] &&
             plan.buffers[user].space == users;
    };
    const bool out = crosses(to, from, Space::source), in = crosses(from, to, Space::target);
    if (!out && !in) continue;
    const std::int64_t bytes = product(total(it.runs), element_bytes);
    const auto by = [&](const std::vector<bool>& there) {
      const auto task = detail::device_task(plan, it, there, element_bytes);
      return shared_seconds(detail::work_of(task, *profile.device), bytes, sharing);
    };
    ways.by_host += by(staged);
    ways.otherwise += by(shared);
  }
  return ways;
}

}  // namespace

DeviceWay cheaper_way(const Plan& plan, const Machine& machine, const Profile& profile,
                      Index element_bytes) {
  if (!profile.device) return staged_way;
  return device_way(profile.device->levels &&
                        of_messages(plan, machine, profile, element_bytes).other_is_cheaper(),
                    profile.device->peer &&
                        of_handovers(plan, machine, profile, element_bytes).other_is_cheaper());
}

}  // namespace vicinal
