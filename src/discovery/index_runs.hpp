// Global indices travel as stretches of consecutive ones, so that what discovery costs follows the
// number of stretches and not the number of indices.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "base/records.hpp"
#include "base/runs.hpp"

namespace vicinal {

/// No index is larger, so that the end of a run is always a number.
constexpr Index largest_index = std::numeric_limits<Index>::max() - 1;

/// `count` consecutive global indices from `first` onwards.
struct IndexRun {
  Index first = 0;
  Index count = 0;
  [[nodiscard]] Index end() const { return first + count; }
};
void fields(auto&& take, Is<IndexRun> auto& it) { take(it.first, it.count); }

/// Appends a run, joining it to the last one where it continues that.
inline void append_run(std::vector<IndexRun>& runs, IndexRun run) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().end() == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

}  // namespace vicinal
