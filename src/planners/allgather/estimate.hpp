// Estimates how long each algorithm takes for an allgather over all ranks by the profile;
// `automatic` chooses its first plan by this. A test compares the estimates with the prices of the
// plans.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal::allgather {

/// The properties of an allgather that all ranks know alike.
struct Gathering {
  const Machine& machine;
  const Profile& profile;
  std::span<const std::int64_t> bytes;  ///< of each rank's block
  bool shared_memory = true;
};

struct Estimate {
  std::string_view planner;
  Picoseconds time = 0;  ///< rounded, so that equal times are equal on all ranks
};

/// Returns the times of all planners that serve allgathers only, in the order of their table.
[[nodiscard]] std::vector<Estimate> estimate_all(const Gathering& gathering);

}  // namespace vicinal::allgather
