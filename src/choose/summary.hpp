// Summary of a pattern for which planners were measured. It has the ranks, the number of edges, how
// many of these lead to other regions, and their bytes rounded to powers of two. Patterns with
// equal summaries share wisdom, so a mesh that has changed a little needs no new measurement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/records.hpp"
#include "negotiate/neighborhood.hpp"
#include "negotiate/planner.hpp"

namespace vicinal {

/// Summary of one rank's pattern, or of the patterns of several ranks.
struct PatternSummary {
  std::int64_t ranks = 0;
  std::int64_t regions = 0;
  std::int64_t smallest_region = 0;
  std::int64_t largest_region = 0;
  std::int64_t most_out = 0;    ///< largest number of out-edges of a rank
  std::int64_t most_in = 0;     ///< largest number of in-edges of a rank
  std::int64_t far_bytes = 0;   ///< to other regions
  std::int64_t far_unlike = 0;  ///< as far_bytes, each item of a rank once
  /// By width: number of edges that carry less than 2^width bytes, and at least half as many.
  std::vector<std::int64_t> near;
  std::vector<std::int64_t> far;
};
void fields(auto&& take, Is<PatternSummary> auto& it) {
  take(it.ranks, it.regions, it.smallest_region, it.largest_region, it.most_out, it.most_in,
       it.far_bytes, it.far_unlike, it.near, it.far);
}

/// Returns the summary of this rank's pattern.
PatternSummary summary(const Neighborhood& neighborhood, const Pattern& pattern,
                       std::int64_t element_bytes);
PatternSummary joined(PatternSummary a, const PatternSummary& b);

/// Returns the key of such a pattern's wisdom, in one line without tabs. It includes the options
/// that affect the plan.
std::string key_text(const PatternSummary& all, const Machine& machine, const PlanOptions& options);

}  // namespace vicinal
