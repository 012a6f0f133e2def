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

/// The parts of an operation of which one side at least lies in a GPU's memory. Copies and reductions are taken apart as
/// script.hpp of the kinds of memory does it.
struct DeviceTasks {
  bool kernel : 1 = false;
  bool peer : 1 = false;  ///< a kernel that reaches into another rank's GPU's memory
  bool to_host : 1 = false;
  bool to_device : 1 = false;
  bool on_host : 1 = false;  ///< a processor's, in pinned memory
  bool message : 1 = false;  ///< MPI's, which is given the GPU's memory
  [[nodiscard]] bool any() const { return kernel || peer || to_host || to_device; }
};

/// `there`: by buffer, whether it lies in a GPU's memory.
DeviceTasks device_tasks(const Plan& plan, const Operation& operation,
                         const std::vector<bool>& there);

class Devices {
 public:
  Devices(const Machine& machine, const Profile& profile);

  /// What the rank's processor does for it.
  [[nodiscard]] double processor_seconds(DeviceTasks tasks, std::int64_t bytes) const;

  struct Turn {
    double done = 0;
    int behind = -1;  ///< the operation that it has waited for, or -1
  };
  /// The rank's GPU has been given the tasks of an operation at this time.
  Turn take(int rank, int operation, DeviceTasks tasks, std::int64_t bytes, double now);

 private:
  struct Device {
    double free = 0;  ///< from when on
    double done = 0;  ///< when what it does last is known to be
    int last = -1;    ///< the operation
  };

  template <class Part>
  [[nodiscard]] double sum(DeviceTasks tasks, Part part) const;

  const Profile& profile_;
  std::vector<int> of_rank_;
  std::vector<Device> all_;
};

}  // namespace detail

}  // namespace vicinal
