// How long an allgather over all ranks takes by each algorithm, as the profile has it: what `automatic` chooses by. The
// functions follow the schedules of the algorithms with the numbers of bytes in the place of blocks, for all ranks at once;
// a test holds them to the price of the plans.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cost/picoseconds.hpp"
#include "cost/profile.hpp"
#include "locality/machine.hpp"

namespace vicinal::allgather {

/// What all ranks know of an allgather, and know alike.
struct Gathering {
  const Machine& machine;
  const Profile& profile;
  std::span<const std::int64_t> bytes;  ///< of each rank's block
  bool shared_memory = true;

  /// As Schedule::shares_with.
  [[nodiscard]] bool shares(int rank, int peer) const {
    return shared_memory && machine.same_region(rank, peer) && machine.same_host(rank, peer);
  }
};

struct Estimate {
  std::string_view planner;
  Picoseconds time = 0;
};

/// Of the ring alone, whose steps are too many to be followed one by one.
[[nodiscard]] Picoseconds time_of_ring(const Gathering& gathering);

/// Of all planners that serve allgathers only, in the order of their table. About 100 ns for each rank and round.
[[nodiscard]] std::vector<Estimate> estimate_all(const Gathering& gathering);

}  // namespace vicinal::allgather
