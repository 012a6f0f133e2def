#include "cost/straight_way.hpp"

#include <algorithm>

#include "cost/devices.hpp"
#include "memory/device/reach.hpp"

namespace vicinal {

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
  if (data.way || !device.peer) return profile.handover + staged;
  const double shared = device.kernel.seconds(data.bytes) + device.peer->seconds(data.bytes);
  return profile.handover + std::min(shared, staged);
}

double by_message_of_device(const Profile& profile, const StraightData& data) {
  const DeviceCost& device = *profile.device;
  const double staged = crossing(device, data, true, data.in_pieces).seconds(data.bytes) +
                        profile.at(data.level).seconds(data.bytes) +
                        crossing(device, data, false, data.in_pieces).seconds(data.bytes);
  if (!device.levels || (data.way && !data.way->direct)) return staged;
  const double packing = data.in_pieces ? 2 * device.kernel.seconds(data.bytes) : 0;
  const double direct =
      packing + (*device.levels)[static_cast<std::size_t>(data.level)].seconds(data.bytes);
  return data.way ? direct : std::min(direct, staged);
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
  if (data.on_device && data.way && data.way->shared) return true;
  if (data.on_device && profile.device) {
    return by_slot_of_device(profile, data) <= by_message_of_device(profile, data);
  }
  return by_slot_in_host(profile, data) <= profile.at(data.level).seconds(data.bytes);
}

int message_parts(const Profile& profile, const StraightData& data) {
  if (!data.on_device || !profile.device) return 1;
  const bool may_be_direct = data.way ? data.way->direct : profile.device->levels.has_value();
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
