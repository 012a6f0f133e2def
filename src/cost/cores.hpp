// The cores of a host with fewer cores than ranks, and their assignment to ranks.
#pragma once

#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal {

/// Returns the number of cores that the ranks of a host share; 0 if each rank has its own. The
/// profile's number holds for every host; without one, the machine's does. LogGP has no cores.
[[nodiscard]] inline double shared_cores(const Machine& machine, int host, const Profile& profile) {
  if (profile.gap) return 0;
  const double cores = profile.cores > 0 ? profile.cores : machine.cores_on(host);
  return cores < machine.ranks_on(host) ? cores : 0;
}

/// Returns whether ranks of any host share cores.
[[nodiscard]] inline bool shares_cores(const Machine& machine, const Profile& profile) {
  for (int host = 0; host < machine.hosts(); ++host) {
    if (shared_cores(machine, host, profile) > 0) return true;
  }
  return false;
}

struct Core {
  double speed = 1;     ///< relative to a full core
  bool shared = false;  ///< by several ranks, or with another host
};

struct DealtCores {
  std::vector<Core> cores;
  std::vector<int> of_rank;  ///< index of each rank's core
};

/// Assigns a core to each rank. If the ranks of a host share fewer cores, assigns them round-robin,
/// like a scheduler without further information. A fraction of a core counts as one more core, and
/// slows all cores of the host.
[[nodiscard]] DealtCores deal_cores(const Machine& machine, const Profile& profile);

}  // namespace vicinal
