#include "cost/transport.hpp"

#include <algorithm>

#include "base/runs.hpp"
#include "cost/devices.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal {

namespace {

/// Times of one thing through host memory and through the alternative.
struct TransportTimes {
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
TransportTimes of_messages(const Plan& plan, const Machine& machine, const Profile& profile,
                           Index element_bytes) {
  const double sharing = ranks_of_gpu(machine, profile, plan.rank);
  const DeviceCost& device = *profile.device;
  const std::vector<bool> there = lying_on_device(plan, {true, true}, true);
  TransportTimes times;
  for (const Operation& it : plan.operations) {
    const bool sends = it.kind == OperationKind::send;
    if (!is_message(it.kind) || !there[static_cast<std::size_t>(sends ? it.from : it.to)]) continue;
    const std::int64_t bytes = product(it.count, element_bytes);
    const auto level = static_cast<std::size_t>(machine.level(plan.rank, it.peer));
    times.by_host += shared_seconds(sends ? device.to_host : device.to_device, bytes, sharing) +
                     profile.levels[level].seconds(bytes);
    times.otherwise += (*device.levels)[level].seconds(bytes);
  }
  return times;
}

/// For this rank's slots, as if the slots of other ranks were like them.
TransportTimes of_handovers(const Plan& plan, const Machine& machine, const Profile& profile,
                            Index element_bytes) {
  const double sharing = ranks_of_gpu(machine, profile, plan.rank);
  const std::vector<bool> mine = slots_on_device(plan, {true, true});
  const std::vector<bool> staged = lying_on_device(plan, {true, true}, false);
  std::vector<bool> shared = staged;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.space == Space::shared) shared[i] = buffer.peer_index >= 0 || mine[i];
  }
  TransportTimes times;
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
    times.by_host += by(staged);
    times.otherwise += by(shared);
  }
  return times;
}

}  // namespace

DeviceTransport cheaper_transport(const Plan& plan, const Machine& machine, const Profile& profile,
                                  Index element_bytes) {
  if (!profile.device) return staged_transport;
  return device_transport(
      profile.device->levels &&
          of_messages(plan, machine, profile, element_bytes).other_is_cheaper(),
      profile.device->peer &&
          of_handovers(plan, machine, profile, element_bytes).other_is_cheaper());
}

namespace {

/// By price, more parts have gained nothing.
constexpr int most_parts = 16;
/// Dividing must reduce the time to this fraction to be worth its messages.
constexpr double worthwhile = 0.9;

/// Work between a GPU's memory and the host's, one way.
DeviceWork crossing(const DeviceCost& device, const StraightData& data, bool to_host,
                    bool in_pieces) {
  return detail::work_of(detail::crossing(to_host, in_pieces, data.bytes), device);
}

double by_slot_in_host(const Profile& profile, const StraightData& data) {
  return profile.handover + 2 * static_cast<double>(data.bytes) * profile.copy_seconds_per_byte;
}

/// Kernels pack and unpack slots, even for contiguous data.
double by_slot_of_device(const Profile& profile, const StraightData& data) {
  const DeviceCost& device = *profile.device;
  const double staged = crossing(device, data, true, true).seconds(data.bytes) +
                        crossing(device, data, false, true).seconds(data.bytes);
  if (data.transport || !device.peer) return profile.handover + staged;
  const double shared = device.kernel.seconds(data.bytes) + device.peer->seconds(data.bytes);
  return profile.handover + std::min(shared, staged);
}

double by_message_of_device(const Profile& profile, const StraightData& data) {
  const DeviceCost& device = *profile.device;
  const double staged = crossing(device, data, true, data.in_pieces).seconds(data.bytes) +
                        profile.at(data.level).seconds(data.bytes) +
                        crossing(device, data, false, data.in_pieces).seconds(data.bytes);
  if (!device.levels || (data.transport && !data.transport->direct)) return staged;
  const double packing = data.in_pieces ? 2 * device.kernel.seconds(data.bytes) : 0;
  const double direct =
      packing + (*device.levels)[static_cast<std::size_t>(data.level)].seconds(data.bytes);
  return data.transport ? direct : std::min(direct, staged);
}

/// Time of staging in `parts` equal messages: the slowest stage does them one after the other, the
/// other stages overlap with it.
double in_parts(const Profile& profile, StraightData data, int parts) {
  data.bytes = (data.bytes + parts - 1) / parts;
  const LevelCost& level = profile.at(data.level);
  const DeviceWork out = crossing(*profile.device, data, true, data.in_pieces);
  const DeviceWork in = crossing(*profile.device, data, false, data.in_pieces);
  const double bytes_of_slowest = std::max(
      {out.seconds_per_byte, level.protocol(data.bytes).seconds_per_byte, in.seconds_per_byte});
  const double slowest = std::max({static_cast<double>(data.bytes) * bytes_of_slowest,
                                   out.overhead + level.sending(data.bytes),
                                   in.overhead + level.receiving(data.bytes)});
  // All copies are begun before any is tested.
  const double first = std::max(out.seconds(data.bytes), parts * out.overhead);
  return first + level.seconds(data.bytes) + in.seconds(data.bytes) + (parts - 1) * slowest;
}

}  // namespace

bool slot_pays(const Profile& profile, const StraightData& data) {
  // Data that peers access in a GPU's memory must lie in a slot.
  if (data.on_device && data.transport && data.transport->shared) return true;
  if (data.on_device && profile.device) {
    return by_slot_of_device(profile, data) <= by_message_of_device(profile, data);
  }
  return by_slot_in_host(profile, data) <= profile.at(data.level).seconds(data.bytes);
}

int message_parts(const Profile& profile, const StraightData& data) {
  if (!data.on_device || !profile.device) return 1;
  const bool may_be_direct =
      data.transport ? data.transport->direct : profile.device->levels.has_value();
  if (may_be_direct) return 1;
  int best = 1;
  double least = worthwhile * in_parts(profile, data, 1);
  // Smaller copies begin together, as one kernel (memory/device/batch.hpp), and end together.
  const std::int64_t most = std::min<std::int64_t>(most_parts, data.bytes / device::most_by_kernel);
  for (int parts = 2; parts <= most; parts *= 2) {
    const double seconds = in_parts(profile, data, parts);
    if (seconds >= least) continue;
    least = seconds;
    best = parts;
  }
  return best;
}

}  // namespace vicinal
