// Whose blocks a rank has, or a message carries. A block is what one rank contributes to an
// allgather, known by that rank's number.
#pragma once

#include <span>
#include <vector>

namespace vicinal::allgather {

class Blocks {
 public:
  /// Of ranks first to last - 1.
  struct Range {
    int first = 0;
    int last = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };

  Blocks() = default;
  explicit Blocks(int rank) : ranges_{{rank, rank + 1}} {}

  /// Those that any of the sets has.
  static Blocks united(std::span<const Blocks> sets);
  void add(const Blocks& more);
  /// Those of these that `others` has not.
  [[nodiscard]] Blocks without(const Blocks& others) const;

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// Ascending and disjoint, none of them ending where another begins.
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
  friend bool operator==(const Blocks&, const Blocks&) = default;

 private:
  static Blocks joined(std::vector<Range> ranges);

  std::vector<Range> ranges_;
};

}  // namespace vicinal::allgather
