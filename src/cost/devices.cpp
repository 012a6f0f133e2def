#include "cost/devices.hpp"

#include <algorithm>

#include "base/runs.hpp"
#include "memory/device/kernels.hpp"

namespace vicinal::detail {

namespace {

/// Returns whether the runs are contiguous on a side.
bool in_one_piece(const std::vector<CopyRun>& runs, Index CopyRun::* side) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].*side != runs[i - 1].*side + runs[i - 1].count) return false;
  }
  return true;
}

}  // namespace

DeviceTask device_task(const Plan& plan, const Operation& operation, const std::vector<bool>& there,
                       Index element_bytes) {
  const auto lies_there = [&](int buffer) {
    return buffer >= 0 && there[static_cast<std::size_t>(buffer)];
  };
  const bool reduces = operation.kind == OperationKind::reduce;
  const bool from = reads_elements(operation.kind) && lies_there(operation.from);
  const bool to = writes_elements(operation.kind) && lies_there(operation.to);
  if (!from && !to) return DeviceTask::none;
  if (operation.kind != OperationKind::copy && !reduces) return DeviceTask::message;
  const auto is_far = [&](int buffer, bool lies) {
    return lies && plan.buffers[static_cast<std::size_t>(buffer)].peer_index >= 0;
  };
  if (is_far(operation.from, from) || is_far(operation.to, to)) return DeviceTask::peer;
  if (from && to) return DeviceTask::kernel;
  const bool in_pieces = reduces || !in_one_piece(operation.runs, &CopyRun::source) ||
                         !in_one_piece(operation.runs, &CopyRun::target);
  return crossing(from, in_pieces, product(total(operation.runs), element_bytes));
}

DeviceTask crossing(bool to_host, bool in_pieces, std::int64_t bytes) {
  if (!in_pieces) return to_host ? DeviceTask::to_host : DeviceTask::to_device;
  if (bytes > device::most_by_kernel) {
    return to_host ? DeviceTask::gather_to_host : DeviceTask::scatter_to_device;
  }
  return to_host ? DeviceTask::kernel_to_host : DeviceTask::kernel_from_host;
}

DeviceWork work_of(DeviceTask task, const DeviceCost& cost) {
  const auto kernel_by = [&](const DeviceWork& link) {
    DeviceWork work = cost.kernel;
    work.seconds_per_byte = std::max(work.seconds_per_byte, link.seconds_per_byte);
    return work;
  };
  const auto kernel_and = [&](const DeviceWork& copy) {
    return DeviceWork{cost.kernel.overhead + copy.overhead, cost.kernel.latency + copy.latency,
                      cost.kernel.seconds_per_byte + copy.seconds_per_byte, 0};
  };
  switch (task) {
    case DeviceTask::kernel: return cost.kernel;
    case DeviceTask::kernel_to_host: return kernel_by(cost.to_host);
    case DeviceTask::kernel_from_host: return kernel_by(cost.to_device);
    case DeviceTask::peer: return *cost.peer;
    case DeviceTask::to_host: return cost.to_host;
    case DeviceTask::to_device: return cost.to_device;
    case DeviceTask::gather_to_host: return kernel_and(cost.to_host);
    case DeviceTask::scatter_to_device: return kernel_and(cost.to_device);
    case DeviceTask::none:
    case DeviceTask::lent:
    case DeviceTask::message: break;
  }
  return {};
}

Devices::Devices(const Machine& machine, const Profile& profile) : profile_(profile) {
  if (!profile.device) return;
  std::vector<int> first(static_cast<std::size_t>(machine.hosts())), place(first);
  for (int host = 0; host < machine.hosts(); ++host) {
    const int ranks = machine.ranks_on(host);
    first[static_cast<std::size_t>(host)] = static_cast<int>(all_.size());
    all_.resize(all_.size() + static_cast<std::size_t>(devices_of(*profile.device, ranks)));
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

double Devices::processor_seconds(DeviceTask task) const {
  return work_of(task, *profile_.device).overhead;
}

Devices::Completion Devices::take(int rank, int operation, DeviceTask task, std::int64_t bytes,
                                  double now) {
  Device& device = all_[static_cast<std::size_t>(of_rank_[static_cast<std::size_t>(rank)])];
  const DeviceWork work = work_of(task, *profile_.device);
  const bool waits = device.free > now;
  device.free = std::max(device.free, now) + static_cast<double>(bytes) * work.seconds_per_byte;
  Completion completion{device.free + work.latency};
  // A task of less latency may be done before the one it has waited for.
  if (waits && device.done <= completion.done) completion.behind = device.last;
  device.last = operation;
  device.done = completion.done;
  return completion;
}

}  // namespace vicinal::detail
