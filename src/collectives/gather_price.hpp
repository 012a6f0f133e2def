// Whether a plan for an allgather over all ranks is worth its while where MPI has one of its own.
#pragma once

#include <cstdint>
#include <span>

#include "locality/machine.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// What an allgather is expected to take, in seconds, by the profile.
struct GatherPrice {
  double by_plan = 0;  ///< by the fastest planner
  double by_mpi = 0;   ///< by the fastest of the algorithms of MPIs, which do not look at regions
  /// Clearly so: the plan takes time to be made, and a profile is not exact.
  [[nodiscard]] bool pays() const { return by_plan * 5 < by_mpi * 4; }
};

/// `bytes`: of each rank's block. All ranks come to the same.
[[nodiscard]] GatherPrice price_of_gather(const Machine& machine, const PlanOptions& options,
                                          std::span<const std::int64_t> bytes);

}  // namespace vicinal
