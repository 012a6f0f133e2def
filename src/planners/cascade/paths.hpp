// The paths of a cascade, as one rank sees them. The regions that take part are places in a ring, and what one of them has for
// another goes by the digits of the distance between them, the lowest first: with the digit z in step s, z * r^s places on. So
// all that is for regions whose distances end alike goes the same way, in one message and each item once, and from there it goes
// on along paths of its own.
//
// Of 6 regions and radix 3 the distances 1 to 5 are 01, 02, 10, 11, 12. In the first digit's step region 0 writes to region
// 1 (for itself, and for 4) and to region 2 (for itself, and for 5), in the second's to region 3; regions 1 and 2 then write to 4 and 5.
//
// The members of a region share these messages out, a digit's value to each in turn, and hand each other before
// what the other one is to send. So a digit has two steps: inside regions, and between them.
#pragma once

#include <cstdint>
#include <vector>

#include "locality/machine.hpp"
#include "planners/halving/way.hpp"

namespace vicinal::cascade {

class Paths final : public halving::Way {
 public:
  /// Of one of the ranks that take part, which ascend. The radix is 2 or more.
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
    std::vector<int> taker_of_value;  ///< by the digit's value; -1: not for this rank to hand on
    std::vector<int> takers;
    std::vector<int> givers;
  };

  [[nodiscard]] const Step& step(int step) const { return steps_[static_cast<std::size_t>(step)]; }
  /// The members of the region so many places on, or back.
  [[nodiscard]] const std::vector<int>& members(std::int64_t distance) const;
  void add_inside(std::int64_t width, int values);
  void add_between(std::int64_t width, int values);

  int radix_;
  std::vector<std::vector<int>> members_;  ///< by place in the ring
  std::vector<int> place_of_;              ///< by region, -1 for those that take no part
  int place_ = 0;                          ///< of the own region
  int own_ = 0;                            ///< this rank's place among its members
  std::vector<Step> steps_;
};

}  // namespace vicinal::cascade
