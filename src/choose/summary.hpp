// What is remembered of a pattern for which planners have been measured: who the ranks are, how many edges there are,
// how many of them lead to other regions, and how much they carry, to the power of two. Patterns that are alike in
// that go by the same wisdom, so that a mesh that has changed a little is not measured anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/records.hpp"
#include "planners/neighborhood.hpp"
#include "planners/planner.hpp"

namespace vicinal {

/// Of one rank, or of some ranks together.
struct PatternSummary {
  std::int64_t ranks = 0;
  std::int64_t regions = 0;
  std::int64_t smallest_region = 0;
  std::int64_t largest_region = 0;
  std::int64_t most_out = 0;    ///< edges of a rank
  std::int64_t most_in = 0;     ///< to a rank
  std::int64_t far_bytes = 0;   ///< to other regions
  std::int64_t far_unlike = 0;  ///< the same, each item of a rank once
  /// By width: edges that carry less than 2^width bytes, and at least half as much.
  std::vector<std::int64_t> near;
  std::vector<std::int64_t> far;
};
void fields(auto&& take, Is<PatternSummary> auto& it) {
  take(it.ranks, it.regions, it.smallest_region, it.largest_region, it.most_out, it.most_in,
       it.far_bytes, it.far_unlike, it.near, it.far);
}

/// What a rank has to say of its pattern.
PatternSummary summary(const Neighborhood& neighborhood, const Pattern& pattern,
                       std::int64_t element_bytes);
PatternSummary joined(PatternSummary a, const PatternSummary& b);

/// In one line, without tabs: by what the wisdom for such a pattern is found, with what else plays a part.
std::string key_text(const PatternSummary& all, const Machine& machine, const PlanOptions& options);

}  // namespace vicinal
