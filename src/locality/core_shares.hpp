// How many cores the ranks of a node share, from what they say of the CPUs they may run on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vicinal {

struct CpuClaim {
  std::int64_t cpus = 0;  ///< on how many the rank may run; 0 where it does not know
  std::int64_t set = 0;   ///< which they are: the same number for the same ones
  double told =
      -1;  ///< cores that the node's ranks share as a person says, 0 for one each; -1 where nobody does
};

/// Cores and the ranks that have them: one each, or fewer that they share. The two are kept apart, since a quotient
/// taken as many times as there are ranks need not be the cores again.
struct CoreShare {
  double cores = 1;
  int ranks = 1;

  [[nodiscard]] bool is_crowded() const { return cores < ranks; }
  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// Of each rank what its node has; one core each where nothing is known, and no more than that. What the
/// lowest rank of a node was told holds for it. Otherwise sets of CPUs that differ are taken to have none in common: a
/// launcher binds ranks to parts of a node, or leaves them all to the system.
std::vector<CoreShare> core_shares(const std::vector<int>& node_of,
                                   std::span<const CpuClaim> claims);

}  // namespace vicinal
