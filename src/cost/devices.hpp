// GPUs in the price: which part of an operation a GPU does, and which rank uses which GPU. A GPU
// does one task at a time. Launching it takes time of the rank's processor. Only operations that
// need the result wait for the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "plan/placement.hpp"

namespace vicinal {

namespace detail {

/// Kind of work for an operation with at least one side in a GPU's memory. A kernel gathers and
/// scatters, and also accesses pinned memory up to a limit (memory/device/kernels.hpp). Data
/// contiguous on both sides are copied.
enum class DeviceTask : std::uint8_t {
  none,
  lent,  ///< no task: peers read the exported source in place
  kernel,
  kernel_to_host,    ///< writes to pinned memory
  kernel_from_host,  ///< reads pinned memory
  peer,              ///< a kernel that accesses the GPU memory of another rank
  to_host,
  to_device,
  gather_to_host,  ///< a kernel, and then a copy
  scatter_to_device,
  message,  ///< sent by MPI from the GPU's memory
};

/// Returns whether a GPU does the task.
constexpr bool is_gpus(DeviceTask task) {
  return task > DeviceTask::lent && task != DeviceTask::message;
}

/// Returns the task of an operation. `there` tells for each buffer whether it lies in a GPU's
/// memory.
DeviceTask device_task(const Plan& plan, const Operation& operation, const std::vector<bool>& there,
                       Index element_bytes);
/// Returns the task that moves that many bytes between a GPU's memory and pinned memory.
/// `in_pieces`: not contiguous, on either side.
DeviceTask crossing(bool to_host, bool in_pieces, std::int64_t bytes);
/// Returns the GPU's work for a task; none for no task and for a message. The profile must have its
/// prices.
DeviceWork work_of(DeviceTask task, const DeviceCost& cost);

/// Returns the number of GPUs that this many ranks of a host use.
constexpr int devices_of(const DeviceCost& cost, int ranks) {
  return cost.count > 0 && cost.count < ranks ? cost.count : ranks;
}

class Devices {
 public:
  Devices(const Machine& machine, const Profile& profile);

  /// Returns the time of the rank's processor for the task.
  [[nodiscard]] double processor_seconds(DeviceTask task) const;

  struct Completion {
    double done = 0;
    int behind = -1;  ///< the operation that it has waited for, or -1
  };
  /// Gives the task of an operation to the rank's GPU at time `now`.
  Completion take(int rank, int operation, DeviceTask task, std::int64_t bytes, double now);

 private:
  struct Device {
    double free = 0;  ///< from when on
    double done = 0;  ///< when its last task is known to be done
    int last = -1;    ///< the last operation
  };

  const Profile& profile_;
  std::vector<int> of_rank_;
  std::vector<Device> all_;
};

}  // namespace detail

}  // namespace vicinal
