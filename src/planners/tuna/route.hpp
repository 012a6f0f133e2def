// The way of blocks that are stored and forwarded: Bruck's index algorithm with any radix, among all ranks, or first inside
// each region and then between regions.
//
// Among n places in a ring, what place x holds for place c has the distance d = (c - x) mod n to go. Written with a radix r,
// d has digits; in superstep k whatever has the digit z there goes z * r^k places on. So after the last superstep all is
// where it belongs, and in each one a rank writes to at most r - 1 others. Of 6 places and radix 2, place 0's block for 5
// (binary 101) goes to 1 in the first superstep, stays there in the second, and goes from 1 to 5 in the third.
//
// By regions, the members of a region are the places first: what is for member b of another region goes to member b mod n of
// the own one, of n. Then the regions are the places, and what is for member b is passed to the member b mod m of a region
// of m. Regions of any sizes do; where they are equal, each rank writes to its counterparts only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/records.hpp"
#include "locality/machine.hpp"

namespace vicinal::tuna {

/// How blocks are stored and forwarded.
struct Scheme {
  bool by_region = false;
  int radix = 2;  ///< among all ranks or, by regions, among the members of each
  int between =
      0;  ///< by regions: among these. With as many as there are nothing is passed on there
  friend bool operator==(const Scheme&, const Scheme&) = default;
};
void fields(auto&& take, Is<Scheme> auto& it) { take(it.by_region, it.radix, it.between); }

class Route {
 public:
  /// `machine` must live as long. Both radices are 2 or more.
  Route(const Machine& machine, const Scheme& scheme);

  [[nodiscard]] int supersteps() const { return static_cast<int>(steps_.size()); }
  /// Whether it is one between regions; those come last.
  [[nodiscard]] bool between(int superstep) const { return step(superstep).between; }
  /// Who has after a superstep what a rank held for `destination` before.
  [[nodiscard]] int next(int superstep, int holder, int destination) const;
  /// Whom a rank writes to in a superstep, each once, and who writes to it.
  [[nodiscard]] std::vector<int> takers(int superstep, int rank) const;
  [[nodiscard]] std::vector<int> givers(int superstep, int rank) const;
  /// The part of all blocks that moves in a superstep.
  [[nodiscard]] double share_moved(int superstep) const;

 private:
  struct Step {
    bool between = false;
    int radix = 2;
    std::int64_t width = 1;  ///< the weight of the digit: r^k
    /// What a distance has there.
    [[nodiscard]] int digit(int distance) const {
      return static_cast<int>(distance / width % radix);
    }
  };

  void add_steps(bool between, int places, int radix);
  [[nodiscard]] const Step& step(int superstep) const {
    return steps_[static_cast<std::size_t>(superstep)];
  }
  [[nodiscard]] std::vector<int> peers(int superstep, int rank, int direction) const;

  // Regions, or one group of all ranks.
  [[nodiscard]] int groups() const { return by_region_ ? machine_.regions() : 1; }
  [[nodiscard]] int group_of(int rank) const { return by_region_ ? machine_.region_of(rank) : 0; }
  [[nodiscard]] int size_of(int group) const;
  [[nodiscard]] int member(int group, int place) const;
  [[nodiscard]] int place_of(int rank) const;

  const Machine& machine_;
  bool by_region_;
  int largest_ = 0;  ///< group
  std::vector<Step> steps_;
};

}  // namespace vicinal::tuna
