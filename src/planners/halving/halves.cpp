// The cuts. All ranks compute the same ones from the machine alone.
#include "planners/halving/halves.hpp"

#include <algorithm>

namespace vicinal::halving {

namespace {

/// Returns the number of ranks in the regions before each region, and in all of them.
std::vector<int> ranks_before(const Machine& machine) {
  std::vector<int> result{0};
  for (int region = 0; region < machine.regions(); ++region) {
    result.push_back(result.back() + static_cast<int>(machine.members(region).size()));
  }
  return result;
}

/// Returns where regions first..last-1 are cut: the first region of the upper half.
int cut(const std::vector<int>& before, int first, int last) {
  const auto at = [&](int region) { return before[static_cast<std::size_t>(region)]; };
  const int twice_half = at(first) + at(last);
  const auto begin = before.begin() + first + 1, end = before.begin() + last;
  const auto above = std::lower_bound(begin, end, twice_half,
                                      [](int ranks, int twice) { return 2 * ranks < twice; });
  if (above == end) return last - 1;
  const int upper = static_cast<int>(above - before.begin());
  if (above == begin) return upper;
  return twice_half - 2 * at(upper - 1) <= 2 * at(upper) - twice_half ? upper - 1 : upper;
}

int deepest(const std::vector<int>& before, int first, int last) {
  if (last - first <= 1) return 0;
  const int middle = cut(before, first, last);
  return 1 + std::max(deepest(before, first, middle), deepest(before, middle, last));
}

}  // namespace

Halves::Halves(const Machine& machine, int region) {
  const std::vector<int> before = ranks_before(machine);
  steps_ = deepest(before, 0, machine.regions());
  step_to_.assign(static_cast<std::size_t>(machine.regions()), steps_);
  int first = 0, last = machine.regions();
  for (int step = 0; last - first > 1; ++step) {
    const int middle = cut(before, first, last);
    const bool lower = region < middle;
    std::fill(step_to_.begin() + (lower ? middle : first),
              step_to_.begin() + (lower ? last : middle), step);
    (lower ? last : first) = middle;
  }
}

}  // namespace vicinal::halving
