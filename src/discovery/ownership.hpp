// Ownership of global indices. If each rank owns one range, every rank stores all ranges and
// searches them; only this part of discovery is O(ranks). If ranks own arbitrary indices, no rank
// could store them all. A distributed directory is used instead: each rank keeps one block of the
// index space, where owners and ranks in need of an index meet. Global indices travel as runs of
// consecutive indices, so the cost of discovery depends on the number of runs, not of indices.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"
#include "discovery/exchange.hpp"
#include "discovery/findings.hpp"
#include "mpi/communicator.hpp"

namespace vicinal {

/// Largest valid index, so that the end of a run is representable.
constexpr Index largest_index = std::numeric_limits<Index>::max() - 1;

/// `count` consecutive global indices, beginning with `first`.
struct IndexRun {
  Index first = 0;
  Index count = 0;
  [[nodiscard]] Index end() const { return first + count; }
};
void fields(auto&& take, Is<IndexRun> auto& it) { take(it.first, it.count); }

/// Appends a run; merges it with the last one if it continues that.
inline void append_run(std::vector<IndexRun>& runs, IndexRun run) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().end() == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

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
                 std::optional<Error> mine = std::nullopt);

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
                             const std::optional<Error>& mine = std::nullopt);

}  // namespace vicinal
