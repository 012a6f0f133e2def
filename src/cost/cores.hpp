// The cores of a host, where its ranks have not one each, and which rank has which.
#pragma once

#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal {

/// Cores that the ranks of a host share; 0 where each has one of its own. What the profile says holds for every host; where
/// it says nothing, what is known of the machine does. LogGP knows of no cores.
[[nodiscard]] inline double shared_cores(const Machine& machine, int host, const Profile& profile) {
  if (profile.gap) return 0;
  const double cores = profile.cores > 0 ? profile.cores : machine.cores_on(host);
  return cores < machine.ranks_on(host) ? cores : 0;
}

/// Whether ranks of any host share cores.
[[nodiscard]] inline bool shares_cores(const Machine& machine, const Profile& profile) {
  for (int host = 0; host < machine.hosts(); ++host) {
    if (shared_cores(machine, host, profile) > 0) return true;
  }
  return false;
}

struct Core {
  double speed = 1;     ///< of what a rank does on it
  bool shared = false;  ///< by more ranks than one, or with another host
};

struct DealtCores {
  std::vector<Core> cores;
  std::vector<int> of_rank;  ///< which of them is the rank's
};

/// Each rank has one of its own. Where those of a host share fewer they are dealt out to them in turn, as a scheduler does
/// that has nothing to go by; a part of a core is a core more, and all of the host's are slower.
[[nodiscard]] DealtCores deal_cores(const Machine& machine, const Profile& profile);

}  // namespace vicinal
