// Estimates whether a plan for an allgather over all ranks is worth its while, compared with MPI's
// own allgather.
#pragma once

#include <cstdint>
#include <span>

#include "locality/machine.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

/// Expected time of an allgather, in seconds, by the profile.
struct GatherPrice {
  double by_plan = 0;  ///< by the fastest planner
  double by_mpi = 0;   ///< by the fastest of MPI's algorithms, which ignore regions
  /// Returns whether the plan is clearly faster. Making it takes time, and a profile is not exact.
  [[nodiscard]] bool pays() const { return by_plan * 5 < by_mpi * 4; }
};

/// `bytes`: size of each rank's block. All ranks get the same result.
[[nodiscard]] GatherPrice price_of_gather(const Machine& machine, const PlanOptions& options,
                                          std::span<const std::int64_t> bytes);

}  // namespace vicinal
