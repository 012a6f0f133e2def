// The default profile with a GPU, with prices like those of a GPU that several ranks share.
#pragma once

#include "cost/profile.hpp"

namespace vicinal::testing {

/// Ranks of a host access each other's device memory. Large messages between them in host memory
/// are copied once.
inline Profile with_a_gpu() {
  Profile it = default_profile();
  for (LevelCost* const level : {&it.levels[0], &it.levels[1]}) {
    level->protocols.back().seconds_per_byte = it.copy_seconds_per_byte;
  }
  it.device = DeviceCost{"a GPU",
                         0,
                         {3e-6, 7e-6, 1e-12},
                         {2e-6, 6e-6, 2e-11},
                         {2e-6, 6e-6, 2e-11},
                         DeviceWork{3e-6, 8e-6, 1e-12},
                         {}};
  return it;
}

}  // namespace vicinal::testing
