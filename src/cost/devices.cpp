#include "cost/devices.hpp"

#include <algorithm>

namespace vicinal::detail {

namespace {

/// Whether runs lie one after the other on a side.
bool in_one_piece(const std::vector<CopyRun>& runs, Index CopyRun::* side) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].*side != runs[i - 1].*side + runs[i - 1].count) return false;
  }
  return true;
}

}  // namespace

DeviceTasks device_tasks(const Plan& plan, const Operation& operation,
                         const std::vector<bool>& there) {
  const auto lies_there = [&](int buffer) {
    return buffer >= 0 && there[static_cast<std::size_t>(buffer)];
  };
  const bool reduces = operation.kind == OperationKind::reduce;
  const bool from = reads_elements(operation.kind) && lies_there(operation.from);
  const bool to = writes_elements(operation.kind) && lies_there(operation.to);
  if (operation.kind != OperationKind::copy && !reduces) return {.message = from || to};
  const auto is_far = [&](int buffer, bool lies) {
    return lies && plan.buffers[static_cast<std::size_t>(buffer)].peer_index >= 0;
  };
  const bool reaches = is_far(operation.from, from) || is_far(operation.to, to);
  const bool gathers = !in_one_piece(operation.runs, &CopyRun::source);
  const bool scatters = reduces || !in_one_piece(operation.runs, &CopyRun::target);
  if (from && to) return {.kernel = !reaches, .peer = reaches};
  if (from) return {.kernel = gathers, .peer = reaches, .to_host = true, .on_host = scatters};
  if (to) return {.kernel = scatters, .peer = reaches, .to_device = true, .on_host = gathers};
  return {};
}

Devices::Devices(const Machine& machine, const Profile& profile) : profile_(profile) {
  if (!profile.device) return;
  std::vector<int> first(static_cast<std::size_t>(machine.hosts())), place(first);
  for (int host = 0; host < machine.hosts(); ++host) {
    const int ranks = machine.ranks_on(host);
    first[static_cast<std::size_t>(host)] = static_cast<int>(all_.size());
    const int devices = profile.device->count > 0 ? std::min(profile.device->count, ranks) : ranks;
    all_.resize(all_.size() + static_cast<std::size_t>(devices));
  }
  for (int rank = 0; rank < machine.size(); ++rank) {
    const int host = machine.host_of(rank);
    const auto at = static_cast<std::size_t>(host);
    const int end = at + 1 < first.size() ? first[at + 1] : static_cast<int>(all_.size());
    const std::int64_t devices = end - first[at];
    of_rank_.push_back(first[at] +
                       static_cast<int>(place[at]++ * devices / machine.ranks_on(host)));
  }
}

template <class Part>
double Devices::sum(DeviceTasks tasks, Part part) const {
  const DeviceCost& cost = *profile_.device;
  return (tasks.kernel ? cost.kernel.*part : 0) + (tasks.peer ? (*cost.peer).*part : 0) +
         (tasks.to_host ? cost.to_host.*part : 0) + (tasks.to_device ? cost.to_device.*part : 0);
}

double Devices::processor_seconds(DeviceTasks tasks, std::int64_t bytes) const {
  const double moved =
      tasks.on_host ? static_cast<double>(bytes) * profile_.copy_seconds_per_byte : 0;
  return sum(tasks, &DeviceWork::overhead) + moved;
}

Devices::Turn Devices::take(int rank, int operation, DeviceTasks tasks, std::int64_t bytes,
                            double now) {
  Device& device = all_[static_cast<std::size_t>(of_rank_[static_cast<std::size_t>(rank)])];
  const bool waits = device.free > now;
  const double busy = static_cast<double>(bytes) * sum(tasks, &DeviceWork::seconds_per_byte);
  device.free = std::max(device.free, now) + busy;
  Turn turn{device.free + sum(tasks, &DeviceWork::latency)};
  // One of less latency may be done before what it has waited behind.
  if (waits && device.done <= turn.done) turn.behind = device.last;
  device.last = operation;
  device.done = turn.done;
  return turn;
}

}  // namespace vicinal::detail
