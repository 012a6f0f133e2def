// How long an exchange between all ranks takes by the profile: stored and forwarded with each radix, and as
// `automatic` serves it otherwise. A closed form: hosts of as many ranks are taken to do alike, a superstep to begin when the
// one before is over. What is busiest in it, a processor, a link or a port, decides how long it takes; a test holds the choice
// to the prices of the plans.
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
  double block_bytes = 0;  ///< that the rank with most has for each, or gets of each
  double mean_bytes = 0;   ///< that ranks have for each on average
  double density = 1;      ///< the part of all blocks that are not empty
  bool shared_memory = true;

  /// The part of `block_bytes` that each of so many ranks of a host has, of whom one has the most and the others what is
  /// usual: what they share is as busy as that.
  [[nodiscard]] double part_of_most(double ranks) const {
    return block_bytes > 0 ? (1 + (ranks - 1) * mean_bytes / block_bytes) / ranks : 1;
  }
  /// Whether two ranks, not one and the same, hand over through slots.
  [[nodiscard]] bool shares(int rank, int peer) const {
    return shared_memory && machine.same_host(rank, peer);
  }
};

struct Estimate {
  Scheme scheme;
  double seconds = 0;
};

/// The fastest scheme of a kind; with a radix, if it is not 0, that one: by regions inside them, and with nothing passed on
/// between them. Some tens of nanoseconds for each followed rank, radix and message.
[[nodiscard]] Estimate best_scheme(const Exchange& exchange, bool by_region, int radix);

/// What `automatic` chooses from, pair by pair, where nothing is forwarded, each for all pairs.
struct Relay {
  std::string_view planner;
  double seconds = 0;
};
[[nodiscard]] std::vector<Relay> relays(const Exchange& exchange);

}  // namespace vicinal::tuna
