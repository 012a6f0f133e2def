// The halving of a machine's regions, as one region sees it. The list of regions, by number, is cut
// in two at the border nearest to half of its ranks. The own half is cut likewise, until one region
// is left. A region is never cut, so their number, sizes and shapes may be any.
#pragma once

#include <vector>

#include "locality/machine.hpp"

namespace vicinal::halving {

class Halves {
 public:
  Halves(const Machine& machine, int region);

  /// Returns the steps until every region of the machine is alone; the own one may be earlier.
  [[nodiscard]] int steps() const { return steps_; }
  /// Returns the step that separates `region` from the own region; `steps()` for the own region
  /// itself.
  [[nodiscard]] int step_to(int region) const { return step_to_[static_cast<std::size_t>(region)]; }

 private:
  int steps_ = 0;
  std::vector<int> step_to_;
};

}  // namespace vicinal::halving
