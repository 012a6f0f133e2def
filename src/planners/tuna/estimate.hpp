// Estimates how long an exchange between all ranks takes by the profile: stored and forwarded with
// each radix, and as `automatic` serves it otherwise, by the price of its rounds (cost/rounds.hpp).
// A test compares the choice with the prices of the plans.
#pragma once

#include <string_view>
#include <vector>

#include "cost/profile.hpp"
#include "locality/machine.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna {

struct Exchange {
  const Machine& machine;
  const Profile& profile;
  double block_bytes = 0;  ///< of each block of the rank with the largest load
  double mean_bytes = 0;   ///< of a block, on average
  double density = 1;      ///< the fraction of blocks that are not empty
  bool shared_memory = true;
};

struct Estimate {
  Scheme scheme;
  double seconds = 0;
};

/// Returns the fastest scheme of a kind. A nonzero `radix` is taken as given; by regions, it holds
/// inside them, and nothing is forwarded between them. Takes some tens of nanoseconds for each
/// followed rank, radix and message.
[[nodiscard]] Estimate best_scheme(const Exchange& exchange, bool by_region, int radix);

/// An alternative of `automatic` without forwarding, used for all region pairs.
struct Relay {
  std::string_view planner;
  double seconds = 0;
};
[[nodiscard]] std::vector<Relay> relays(const Exchange& exchange);

}  // namespace vicinal::tuna
