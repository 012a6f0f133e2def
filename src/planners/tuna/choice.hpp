// The choice of a scheme for all ranks. A count is known at the ends of its edge only, so the ranks
// use a tree allreduce. It gives the root the largest load of a rank, the load of all ranks, and
// the number of nonempty blocks. The root compares schemes by the profile, for all. It assumes that
// each rank has the largest load, since few large blocks must not travel with many small ones.
// Resources that a host's ranks share are assumed to serve one such rank, and others with the mean
// load.
#pragma once

#include <string>
#include <string_view>

#include "negotiate/planner.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna {

/// The alternatives of a decision.
enum class Among : std::uint8_t {
  all_ranks,  ///< the radices among all ranks
  regions,    ///< the radices inside regions, and between them
  planners,   ///< both, and the relays of `automatic`
};

struct Decision {
  static constexpr std::string_view name = "how blocks go";
  bool forwards = false;  ///< blocks go by the scheme
  Scheme scheme;
  std::string reason;  ///< for users
};
void fields(auto&& take, Is<Decision> auto& it) { take(it.forwards, it.scheme, it.reason); }

/// Decides. Collective over the ranks of a complete graph, with two control messages for each. If a
/// rank reports a fault, every record has it afterwards, and nothing is decided.
Task<Decision> decide(const PlanRequest& request, FaultRecord& faults, Among among);

}  // namespace vicinal::tuna
