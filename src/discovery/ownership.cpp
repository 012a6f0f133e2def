// Ownership by ranges, which every rank stores.
#include "discovery/ownership.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "discovery/index_runs.hpp"
#include "mpi/collectives.hpp"

namespace vicinal {

RangeOwnership::RangeOwnership(mpi::Communicator& communicator, Index first, Index last,
                               std::optional<Finding> mine) {
  if (!mine && (first < 0 || last < first || last > largest_index + 1)) {
    mine = Error(Fault::argument, "the owned range from " + std::to_string(first) + " up to " +
                                      std::to_string(last) +
                                      " was given; it must start at 0 or later and must not end "
                                      "before it starts");
  }
  constexpr std::size_t words = 3;
  const std::array<std::int64_t, words> offer{first, last, vote(communicator, mine)};
  const std::vector<std::int64_t> all = mpi::allgather(communicator.handle(), offer);
  std::int64_t least_vote = communicator.size();
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto theirs = std::span(all).subspan(static_cast<std::size_t>(rank) * words, words);
    least_vote = std::min(least_vote, theirs[2]);
    if (theirs[0] < theirs[1]) ranges_.push_back({theirs[0], theirs[1], rank});
  }
  settle(communicator, least_vote, mine);

  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < ranges_.size(); ++i) {
    const Range& a = ranges_[i - 1];
    const Range& b = ranges_[i];
    require(a.last <= b.first, Fault::argument, "ranks ", a.rank, " and ", b.rank,
            " both own index ", b.first, " (rank ", a.rank, " owns ", a.first, " to ", a.last - 1,
            ", rank ", b.rank, " owns ", b.first, " to ", b.last - 1,
            "); each index must have one owner");
  }
}

std::vector<int> RangeOwnership::owners(std::span<const Index> ascending) const {
  std::vector<int> result;
  result.reserve(ascending.size());
  auto range = ranges_.begin();
  for (const Index index : ascending) {
    if (range != ranges_.end() && index >= range->last) {
      range = std::upper_bound(range, ranges_.end(), index,
                               [](Index wanted, const Range& r) { return wanted < r.last; });
    }
    const bool found = range != ranges_.end() && index >= range->first;
    result.push_back(found ? range->rank : no_owner);
  }
  return result;
}

}  // namespace vicinal
