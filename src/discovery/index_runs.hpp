// Global indices travel as runs of consecutive indices, so the cost of discovery depends on the
// number of runs, not of indices.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"

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

}  // namespace vicinal
