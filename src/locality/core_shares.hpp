// Estimates how many cores the ranks of a node share, from the CPUs on which they may run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vicinal {

struct CpuClaim {
  std::int64_t cpus = 0;  ///< number of CPUs on which the rank may run; 0 if unknown
  std::int64_t set = 0;   ///< identifies the CPUs: equal for equal sets
  /// Cores that the node's ranks share, as set by the user; 0 for one core each, -1 if not set.
  double told = -1;
};

/// A number of cores and the number of ranks that share them: one core each, or fewer. Both numbers
/// are kept, because rounding could make ranks times quotient differ from the cores.
struct CoreShare {
  double cores = 1;
  int ranks = 1;

  [[nodiscard]] bool is_crowded() const { return cores < ranks; }
  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

/// Returns, for each rank, the cores and ranks of its node: at most one core per rank, and one each
/// if nothing is known. `told` of a node's lowest rank applies to all its ranks. Without
/// it, different CPU sets are assumed to be disjoint: a launcher binds ranks to parts of a node, or
/// leaves placement to the system.
std::vector<CoreShare> core_shares(const std::vector<int>& node_of,
                                   std::span<const CpuClaim> claims);

}  // namespace vicinal
