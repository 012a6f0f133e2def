// Who owns a global index. Where each rank owns one range, all ranges fit on every rank and a
// search in them answers; this is the only part of discovery that is O(ranks). Where ranks own
// arbitrary indices, no rank could hold them all: a directory is spread over the ranks instead,
// each keeping one block of the index space, and owners and those who need meet there.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/runs.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// The owner of an index that nobody owns.
constexpr int no_owner = -1;

class RangeOwnership {
 public:
  struct Range {
    Index first = 0;
    Index last = 0;  ///< the first index that is no longer in it
    int rank = 0;
  };

  /// This rank owns first to last - 1; none where they are equal. Ranges may lie in any order and
  /// leave gaps. Collective, one allgather. Throws on every rank: an argument fault where ranges
  /// overlap, a rank's own fault where its range is none or it comes with a finding.
  RangeOwnership(mpi::Communicator& communicator, Index first, Index last,
                 std::optional<Finding> mine = std::nullopt);

  /// The owners of indices in ascending order, or no_owner.
  [[nodiscard]] std::vector<int> owners(std::span<const Index> ascending) const;
  /// All ranges that are not empty, in ascending order.
  [[nodiscard]] std::span<const Range> ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

/// The owners, or no_owner, of the `needed` indices, which ascend and differ. `owned` are this
/// rank's indices: in each run `source` is the global index; sources ascend and differ. Collective:
/// one allreduce and two exchanges; O(runs) words. Throws on every rank: an argument fault where
/// two ranks own one index, another rank's or the own where a rank comes with a finding.
std::vector<int> find_owners(mpi::Communicator& communicator, std::span<const CopyRun> owned,
                             std::span<const Index> needed, const ExchangeOptions& options,
                             const std::optional<Finding>& mine = std::nullopt);

}  // namespace vicinal
