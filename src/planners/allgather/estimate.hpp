// Estimates how long each algorithm takes for an allgather over all ranks by the profile;
// `automatic` chooses by this. The functions follow the algorithms' schedules for all ranks at
// once, with numbers of bytes instead of blocks. A test compares them with the prices of the plans.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cost/picoseconds.hpp"
#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal::allgather {

/// The properties of an allgather that all ranks know alike.
struct Gathering {
  const Machine& machine;
  const Profile& profile;
  std::span<const std::int64_t> bytes;  ///< of each rank's block
  bool shared_memory = true;

  /// As Schedule::shares_with().
  [[nodiscard]] bool shares(int rank, int peer) const {
    return shared_memory && machine.same_region(rank, peer) && machine.same_host(rank, peer);
  }
};

struct Estimate {
  std::string_view planner;
  Picoseconds time = 0;
};

/// Returns the time of the ring, whose steps are too many to follow one by one.
[[nodiscard]] Picoseconds time_of_ring(const Gathering& gathering);

/// Returns the times of all planners that serve allgathers only, in the order of their table. Takes
/// about 100 ns for each rank and round.
[[nodiscard]] std::vector<Estimate> estimate_all(const Gathering& gathering);

}  // namespace vicinal::allgather
