// Ownership of global indices. If each rank owns one range, every rank stores all ranges and
// searches them; only this part of discovery is O(ranks). If ranks own arbitrary indices, no rank
// could store them all. A distributed directory is used instead: each rank keeps one block of the
// index space, where owners and ranks in need of an index meet.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/runs.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Stands for the owner of an index without one.
constexpr int no_owner = -1;

class RangeOwnership {
 public:
  struct Range {
    Index first = 0;
    Index last = 0;  ///< first index after the range
    int rank = 0;
  };

  /// This rank owns first to last - 1; nothing if they are equal. Ranges may be in any order and
  /// leave gaps. Collective: one allgather. Throws on every rank: an argument fault if ranges
  /// overlap or one is invalid, or the finding of a rank.
  RangeOwnership(mpi::Communicator& communicator, Index first, Index last,
                 std::optional<Finding> mine = std::nullopt);

  /// Returns the owners of ascending indices, or no_owner.
  [[nodiscard]] std::vector<int> owners(std::span<const Index> ascending) const;
  /// Returns all nonempty ranges in ascending order.
  [[nodiscard]] std::span<const Range> ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

/// Returns the owners, or no_owner, of the `needed` indices, which are ascending and distinct.
/// `owned` are this rank's indices; the `source` of each run is the global index, and sources are
/// ascending and distinct. Collective: one allreduce and two exchanges; O(runs) words. Throws on
/// every rank: an argument fault if two ranks own one index, or the finding of a rank.
std::vector<int> find_owners(mpi::Communicator& communicator, std::span<const CopyRun> owned,
                             std::span<const Index> needed, const ExchangeOptions& options,
                             const std::optional<Finding>& mine = std::nullopt);

}  // namespace vicinal
