// Global indices travel as stretches of consecutive ones, so that what discovery costs follows the
// number of stretches and not the number of indices.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// No index is larger, so that the end of a run is always a number.
constexpr Index largest_index = std::numeric_limits<Index>::max() - 1;

/// `count` consecutive global indices from `first` onwards. In letters: these two words.
struct IndexRun {
  Index first = 0;
  Index count = 0;
  [[nodiscard]] Index end() const { return first + count; }
};

/// Appends a run, joining it to the last one where it continues that.
inline void append_run(std::vector<IndexRun>& runs, IndexRun run) {
  if (run.count == 0) return;
  if (!runs.empty() && runs.back().end() == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

inline void append_words(std::vector<std::int64_t>& words, std::span<const IndexRun> runs) {
  words.reserve(words.size() + 2 * runs.size());
  for (const IndexRun& run : runs) words.insert(words.end(), {run.first, run.count});
}

/// Calls visit(IndexRun) for each run in the words.
template <class Visit>
void for_each_run(std::span<const std::int64_t> words, Visit visit) {
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) visit(IndexRun{words[i], words[i + 1]});
}

}  // namespace vicinal
