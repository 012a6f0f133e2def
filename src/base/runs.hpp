// Index lists in a communication pattern are mostly stretches of consecutive indices. Keeping them
// as runs makes set-up cost proportional to the number of stretches, and lets the executor copy a
// stretch with one memcpy.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vicinal {

using Index = std::int64_t;

/// `count` consecutive elements copied from `source` onwards to `target` onwards.
struct CopyRun {
  Index source = 0;
  Index target = 0;
  Index count = 0;
  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

/// Appends a run, joining it to the last one when both sides continue it.
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

/// The number of elements that a list of runs moves.
inline Index total(std::span<const CopyRun> runs) {
  Index sum = 0;
  for (const CopyRun& run : runs) sum += run.count;
  return sum;
}

/// The same list read in the other direction.
inline std::vector<CopyRun> reversed(std::span<const CopyRun> runs) {
  std::vector<CopyRun> result;
  result.reserve(runs.size());
  for (const CopyRun& run : runs) append_run(result, {run.target, run.source, run.count});
  return result;
}

}  // namespace vicinal
