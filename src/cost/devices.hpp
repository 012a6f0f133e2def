// GPUs in the price: what of an operation is theirs, and who has which. A GPU does one thing at a time; what it takes to
// have it begin is the rank's processor's, and nobody waits for the GPU but who needs what it makes.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "plan/placement.hpp"

namespace vicinal {

namespace detail {

/// What has an operation done of which one side at least lies in a GPU's memory. A kernel gathers and scatters, and reaches
/// pinned memory, too, for a while (memory/device/reach.hpp); what is in one piece on both sides is copied.
enum class DeviceTask : std::uint8_t {
  none,
  lent,  ///< nothing: peers read the source where it lies
  kernel,
  kernel_to_host,    ///< which writes to pinned memory
  kernel_from_host,  ///< which reads it
  peer,              ///< a kernel that reaches into another rank's GPU's memory
  to_host,
  to_device,
  gather_to_host,  ///< a kernel, and then a copy
  scatter_to_device,
  message,  ///< MPI's, which is given the GPU's memory
};

/// Whether a GPU does it.
constexpr bool is_gpus(DeviceTask task) {
  return task > DeviceTask::lent && task != DeviceTask::message;
}

/// `there`: by buffer, whether it lies in a GPU's memory.
DeviceTask device_task(const Plan& plan, const Operation& operation, const std::vector<bool>& there,
                       Index element_bytes);
/// What brings so many bytes between a GPU's memory and pinned memory; `in_pieces`: on either side.
DeviceTask crossing(bool to_host, bool in_pieces, std::int64_t bytes);
/// What a GPU is asked for a task; nothing for none and a message. The profile has the prices of it.
DeviceWork work_of(DeviceTask task, const DeviceCost& cost);

/// How many GPUs so many ranks of a host have.
constexpr int devices_of(const DeviceCost& cost, int ranks) {
  return cost.count > 0 && cost.count < ranks ? cost.count : ranks;
}

class Devices {
 public:
  Devices(const Machine& machine, const Profile& profile);

  /// What the rank's processor does for it.
  [[nodiscard]] double processor_seconds(DeviceTask task) const;

  struct Turn {
    double done = 0;
    int behind = -1;  ///< the operation that it has waited for, or -1
  };
  /// The rank's GPU has been given the task of an operation at this time.
  Turn take(int rank, int operation, DeviceTask task, std::int64_t bytes, double now);

 private:
  struct Device {
    double free = 0;  ///< from when on
    double done = 0;  ///< when what it does last is known to be
    int last = -1;    ///< the operation
  };

  const Profile& profile_;
  std::vector<int> of_rank_;
  std::vector<Device> all_;
};

}  // namespace detail

}  // namespace vicinal
