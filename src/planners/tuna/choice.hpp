// Which scheme all ranks go by. A count is known at the ends of its edge only, so the ranks consult: how much the one has
// that has most, how much all have, and how many blocks are not empty, is known at the root of their tree, which weighs schemes by
// the profile, for all. It takes each rank to have as much as that one, since few large blocks must not travel with many small
// ones, and what a host's ranks share to be used by one such rank, and by others with what is usual.
#pragma once

#include <string>
#include <string_view>

#include "planners/planner.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna {

/// What is weighed.
enum class Among : std::uint8_t {
  all_ranks,  ///< the radices among all ranks
  regions,    ///< those inside regions, and between them
  planners,   ///< both, and what `automatic` does without
};

struct Decision {
  static constexpr std::string_view name = "how blocks go";
  bool forwards = false;  ///< by a scheme
  Scheme scheme;
  std::string reason;  ///< for people
};
void fields(auto&& take, Is<Decision> auto& it) { take(it.forwards, it.scheme, it.reason); }

/// Collective over the ranks of a complete graph, with two letters for each. Where a rank brings a fault, every record has it
/// afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Among among);

}  // namespace vicinal::tuna
