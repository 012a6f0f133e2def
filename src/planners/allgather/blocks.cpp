// Sets as sorted ranges: if ranks are placed region by region, a region's blocks are one range.
#include "planners/allgather/blocks.hpp"

#include <algorithm>
#include <utility>

namespace vicinal::allgather {

Blocks Blocks::joined(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  Blocks result;
  for (const Range& range : ranges) {
    if (!result.ranges_.empty() && range.first <= result.ranges_.back().last) {
      result.ranges_.back().last = std::max(result.ranges_.back().last, range.last);
    } else {
      result.ranges_.push_back(range);
    }
  }
  return result;
}

Blocks Blocks::united(std::span<const Blocks> sets) {
  std::vector<Range> ranges;
  for (const Blocks& set : sets)
    ranges.insert(ranges.end(), set.ranges_.begin(), set.ranges_.end());
  return joined(std::move(ranges));
}

void Blocks::add(const Blocks& more) {
  std::vector<Range> ranges = std::move(ranges_);
  ranges.insert(ranges.end(), more.ranges_.begin(), more.ranges_.end());
  *this = joined(std::move(ranges));
}

Blocks Blocks::without(const Blocks& others) const {
  Blocks result;
  auto other = others.ranges_.begin();
  for (Range rest : ranges_) {
    while (other != others.ranges_.end() && other->last <= rest.first) ++other;
    for (auto cut = other; cut != others.ranges_.end() && cut->first < rest.last; ++cut) {
      if (rest.first < cut->first) result.ranges_.push_back({rest.first, cut->first});
      rest.first = cut->last;
    }
    if (rest.first < rest.last) result.ranges_.push_back(rest);
  }
  return result;
}

}  // namespace vicinal::allgather
