// The route of blocks that are stored and forwarded: Bruck's index algorithm with any radix, among
// all ranks, or first inside each region and then between regions.
//
// Among n places in a ring, a block at place x for place c has the distance d = (c - x) mod n.
// Written with a radix r, d has digits; in superstep k, a block with the digit z there moves
// z * r^k places on. So all blocks arrive with the last superstep, and a rank writes to at most
// r - 1 others in each. With 6 places and radix 2, place 0's block for 5 (binary 101) goes to 1 in
// the first superstep. It stays there in the second, and goes from 1 to 5 in the third.
//
// By regions, the places are first the members of a region. A block for member b of another region
// goes to member b mod n of the own region of n members. Then the places are the regions: a block
// for member b goes to member b mod m of a region of m. Regions may have any sizes. If these are
// equal, each rank writes to its counterparts only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/records.hpp"
#include "locality/machine.hpp"

namespace vicinal::tuna {

/// The scheme by which blocks are stored and forwarded.
struct Scheme {
  bool by_region = false;
  int radix = 2;  ///< among all ranks or, by regions, among the members of each
  /// By regions: the radix between them. With as many as regions, nothing is forwarded there.
  int between = 0;
  friend bool operator==(const Scheme&, const Scheme&) = default;
};
void fields(auto&& take, Is<Scheme> auto& it) { take(it.by_region, it.radix, it.between); }

class Route {
 public:
  /// `machine` must outlive the route. The radices in use are 2 or more.
  Route(const Machine& machine, const Scheme& scheme);

  [[nodiscard]] int supersteps() const { return static_cast<int>(steps_.size()); }
  /// Returns whether a superstep is one between regions; those come last.
  [[nodiscard]] bool between(int superstep) const { return step(superstep).between; }
  /// Returns the rank that has, after a superstep, a block that `holder` had for `destination`
  /// before.
  [[nodiscard]] int next(int superstep, int holder, int destination) const;
  /// Returns the ranks that a rank writes to in a superstep (givers(): that write to it), each
  /// once.
  [[nodiscard]] std::vector<int> takers(int superstep, int rank) const;
  [[nodiscard]] std::vector<int> givers(int superstep, int rank) const;
  /// Returns the fraction of all blocks that moves in a superstep.
  [[nodiscard]] double share_moved(int superstep) const;

 private:
  struct Step {
    bool between = false;
    int radix = 2;
    std::int64_t width = 1;  ///< the weight of the digit: r^k
    /// Returns this digit of a distance.
    [[nodiscard]] int digit(int distance) const {
      return static_cast<int>(distance / width % radix);
    }
  };

  void add_steps(bool between, int places, int radix);
  [[nodiscard]] const Step& step(int superstep) const {
    return steps_[static_cast<std::size_t>(superstep)];
  }
  [[nodiscard]] std::vector<int> peers(int superstep, int rank, int direction) const;

  // The regions, or one group of all ranks.
  [[nodiscard]] int groups() const { return by_region_ ? machine_.regions() : 1; }
  [[nodiscard]] int group_of(int rank) const { return by_region_ ? machine_.region_of(rank) : 0; }
  [[nodiscard]] int size_of(int group) const;
  [[nodiscard]] int member(int group, int place) const;
  [[nodiscard]] int place_of(int rank) const;

  const Machine& machine_;
  bool by_region_;
  int largest_ = 0;  ///< size of the largest group
  std::vector<Step> steps_;
};

}  // namespace vicinal::tuna
