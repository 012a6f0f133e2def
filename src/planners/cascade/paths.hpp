// The paths of a cascade, as one rank sees them. The participating regions are places in a ring.
// Data for another region follows the digits of the distance to it, the lowest first. With the
// digit z in step s, it moves z * r^s places on. Data for regions whose distances end alike thus
// travels in one message, each item once. From there it continues along separate paths.
//
// With 6 regions and radix 3, the distances 1 to 5 are 01, 02, 10, 11, 12. In the first digit's
// step, region 0 writes to region 1 (for 1 and 4) and to region 2 (for 2 and 5). In the second
// digit's step, it writes to region 3; regions 1 and 2 write to 4 and 5.
//
// The members of a region share these messages out, one value of a digit to each in rotation.
// Before that, they hand each other the items to be sent. So a digit has two steps: inside regions,
// and between them.
#pragma once

#include <cstdint>
#include <vector>

#include "locality/machine.hpp"
#include "planners/halving/parcels.hpp"

namespace vicinal::cascade {

class Paths final : public halving::Route {
 public:
  /// Builds the paths of one participating rank. `ranks` ascends; the radix is 2 or more.
  Paths(const Machine& machine, int rank, const std::vector<int>& ranks, int radix);

  [[nodiscard]] int steps() const override { return static_cast<int>(steps_.size()); }
  [[nodiscard]] int taker(int step, int region) const override;
  [[nodiscard]] const std::vector<int>& takers(int step) const override {
    return this->step(step).takers;
  }
  [[nodiscard]] const std::vector<int>& givers(int step) const override {
    return this->step(step).givers;
  }

 private:
  struct Step {
    bool inside = false;
    std::int64_t width = 1;           ///< r^s
    std::vector<int> taker_of_value;  ///< by the digit's value; -1: not handed on by this rank
    std::vector<int> takers;
    std::vector<int> givers;
  };

  [[nodiscard]] const Step& step(int step) const { return steps_[static_cast<std::size_t>(step)]; }
  /// Returns the members of the region `distance` places on, or back if it is negative.
  [[nodiscard]] const std::vector<int>& members(std::int64_t distance) const;
  void add_inside(std::int64_t width, int values);
  void add_between(std::int64_t width, int values);

  int radix_;
  std::vector<std::vector<int>> members_;  ///< by place in the ring
  std::vector<int> place_of_;              ///< by region; -1 for regions that do not participate
  int place_ = 0;                          ///< of the own region
  int own_ = 0;                            ///< this rank's place in its region
  std::vector<Step> steps_;
};

}  // namespace vicinal::cascade
