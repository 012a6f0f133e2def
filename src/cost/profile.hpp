// What a machine costs, in the terms of the max-rate postal model: time = latency + bytes / rate per
// message, separately for messages inside a region and between regions, and what copying through
// shared memory costs. Planners compare with it; they never need exact times.
#pragma once

#include <cstdint>

namespace vicinal {

struct LevelCost {
  double latency = 0;   ///< seconds from the start of a send to the end of its receive
  double overhead = 0;  ///< seconds of processor time per message and side
  double seconds_per_byte = 0;
};

struct Profile {
  LevelCost local{1.0e-6, 0.4e-6, 2.0e-10};
  LevelCost non_local{5.0e-6, 1.5e-6, 5.0e-10};
  double copy_seconds_per_byte = 1.5e-10;
  double handover = 0.3e-6;  ///< seconds from a signal in shared memory to the end of its await
};

}  // namespace vicinal
