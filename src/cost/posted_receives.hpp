// The receives that the ranks have posted, in the order of posting: how many of them a message is
// compared with before its own. One Fenwick tree for each rank, all of them in one list, so that
// queues of thousands cost a logarithm.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vicinal::detail {

class PostedReceives {
 public:
  /// `most` has, by rank, the number of receives it will ever post.
  explicit PostedReceives(std::span<const int> most)
      : first_(most.size() + 1), posted_(most.size()) {
    for (std::size_t rank = 0; rank < most.size(); ++rank) {
      first_[rank + 1] = first_[rank] + static_cast<std::size_t>(most[rank]);
    }
    tree_.assign(first_.back(), 0);
  }

  /// Returns the receive's position in the order of posting.
  int post(int rank) {
    const int place = ++posted_[at(rank)];
    add(rank, place, 1);
    return place;
  }

  /// Removes a receive. Returns how many stood before it.
  int take(int rank, int place) {
    add(rank, place, -1);
    int before = 0;
    for (int i = place; i > 0; i -= i & -i) before += node(rank, i);
    return before;
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  int& node(int rank, int i) { return tree_[first_[at(rank)] + at(i) - 1]; }
  void add(int rank, int place, int what) {
    const int size = static_cast<int>(first_[at(rank) + 1] - first_[at(rank)]);
    for (int i = place; i <= size; i += i & -i) node(rank, i) += what;
  }

  std::vector<std::size_t> first_;  ///< by rank, and the end
  std::vector<int> posted_;         ///< by rank, since the begin
  std::vector<int> tree_;
};

}  // namespace vicinal::detail
