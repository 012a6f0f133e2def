// A set of blocks, as a rank holds or a message carries it. A block is what one rank contributes to
// an allgather, identified by that rank's number.
#pragma once

#include <span>
#include <vector>

namespace vicinal::allgather {

class Blocks {
 public:
  /// Blocks of ranks first to last - 1.
  struct Range {
    int first = 0;
    int last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  Blocks() = default;
  explicit Blocks(int rank) : ranges_{{rank, rank + 1}} {}

  /// Returns the blocks that any of the sets has.
  static Blocks united(std::span<const Blocks> sets);
  void add(const Blocks& more);
  /// Returns the blocks that `others` lacks.
  [[nodiscard]] Blocks without(const Blocks& others) const;

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Returns the ranges: ascending, disjoint and not adjacent.
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  friend bool operator==(const Blocks&, const Blocks&) = default;

 private:
  static Blocks joined(std::vector<Range> ranges);

  std::vector<Range> ranges_;
};

}  // namespace vicinal::allgather
