// Index lists in a communication pattern consist mostly of stretches of consecutive indices. Stored
// as runs, they make set-up cost proportional to the number of stretches. The executor copies a
// stretch with one memcpy. Sizes in bytes are products of user input, so product() checks them for
// overflow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"

namespace vicinal {

using Index = std::int64_t;

/// Copies `count` consecutive elements, from `source` onwards to `target` onwards.
struct CopyRun {
  Index source = 0;
  Index target = 0;
  Index count = 0;
  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

/// Appends a run. Merges it with the last run where it continues that run on both sides.
inline void append_run(std::vector<CopyRun>& runs, CopyRun run) {
  if (run.count == 0) return;
  if (!runs.empty()) {
    CopyRun& last = runs.back();
    if (last.source + last.count == run.source && last.target + last.count == run.target) {
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

/// Returns the number of elements that a list of runs moves.
inline Index total(std::span<const CopyRun> runs) {
  Index sum = 0;
  for (const CopyRun& run : runs) sum += run.count;
  return sum;
}

/// Returns the runs with source and target exchanged.
inline std::vector<CopyRun> reversed(std::span<const CopyRun> runs) {
  std::vector<CopyRun> result;
  result.reserve(runs.size());
  for (const CopyRun& run : runs) append_run(result, {run.target, run.source, run.count});
  return result;
}

/// Composes two copies: `filling` fills a buffer, and `runs` read from it. Returns runs from the
/// source of `filling` to the target of `runs`. `filling` is sorted by target, without overlaps,
/// and covers all elements read.
inline std::vector<CopyRun> through(std::span<const CopyRun> filling,
                                    std::span<const CopyRun> runs) {
  std::vector<CopyRun> result;
  for (const CopyRun& run : runs) {
    for (Index done = 0; done < run.count;) {
      const Index place = run.source + done;
      const auto after =
          std::upper_bound(filling.begin(), filling.end(), place,
                           [](Index wanted, const CopyRun& each) { return wanted < each.target; });
      const CopyRun& from = *(after - 1);
      const Index count = std::min(run.count - done, from.target + from.count - place);
      append_run(result, {from.source + place - from.target, run.target + done, count});
      done += count;
    }
  }
  return result;
}

/// Returns the product of a count and a size. Throws a count fault on overflow.
inline Index product(Index count, Index bytes) {
  Index result = 0;
  require(!__builtin_mul_overflow(count, bytes, &result), Fault::count, count, " times ", bytes,
          " bytes are more than can be counted");
  return result;
}

}  // namespace vicinal
