// Helpers to rewrite one plan as another. They map old operations to new ones, and elements of a
// buffer to partitions.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "plan/partitions.hpp"
#include "plan/plan.hpp"

namespace vicinal::detail {

inline std::vector<Stretch> sorted(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.first < b.first; });
  return stretches;
}

/// The elements of one buffer and the partition (event) of each.
class Areas {
 public:
  explicit Areas(std::vector<Stretch> stretches) : stretches_(std::move(stretches)) {
    for (std::size_t i = 1; i < stretches_.size(); ++i) {
      const Stretch& before = stretches_[i - 1];
      require(before.first + before.count <= stretches_[i].first, Fault::internal, "partitions ",
              before.event, " and ", stretches_[i].event, " share element ", stretches_[i].first,
              " of a buffer; give each a place of its own");
    }
  }

  /// Calls visit(event, offset, count) for the parts of `count` elements from `first` on. Event -1
  /// means no partition.
  template <class Visit>
  void for_each(Index first, Index count, Visit visit) const {
    auto next = std::upper_bound(stretches_.begin(), stretches_.end(), first,
                                 [](Index at, const Stretch& it) { return at < it.first; });
    if (next != stretches_.begin()) --next;
    Index at = first;
    const Index end = first + count;
    for (; next != stretches_.end() && next->first < end; ++next) {
      const Index from = std::max(at, next->first);
      const Index to = std::min(end, next->first + next->count);
      if (to <= from) continue;
      if (at < from) visit(-1, at - first, from - at);
      visit(next->event, from - first, to - from);
      at = to;
    }
    if (at < end) visit(-1, at - first, end - at);
  }

 private:
  std::vector<Stretch> stretches_;
};

/// A plan under construction, in which each operation of an old plan becomes some new operations.
class Rewriting {
 public:
  explicit Rewriting(const Plan& plan) : old_(plan), plan_(plan) { plan_.operations.clear(); }

  int add(Operation operation) {
    plan_.operations.push_back(std::move(operation));
    return static_cast<int>(plan_.operations.size()) - 1;
  }
  /// Records the new operations of the next old operation. Call it once per old operation, in
  /// order.
  void became(std::vector<int> operations) { ends_.push_back(std::move(operations)); }
  void became(Operation operation) { became(std::vector<int>{add(std::move(operation))}); }
  [[nodiscard]] const std::vector<int>& ends(int old) const {
    return ends_[static_cast<std::size_t>(old)];
  }
  [[nodiscard]] const Operation& old(int number) const {
    return old_.operations[static_cast<std::size_t>(number)];
  }
  /// Returns the new predecessors of an operation.
  [[nodiscard]] std::vector<int> after(const Operation& operation) const {
    std::vector<int> result;
    for (const int before : operation.after) {
      result.insert(result.end(), ends(before).begin(), ends(before).end());
    }
    return result;
  }
  /// Replaces a copy by one copy for each group of its runs.
  template <class Group, class After>
  void copies(const Operation& copy, const std::map<Group, std::vector<CopyRun>>& groups,
              After after) {
    std::vector<int> pieces;
    for (const auto& [group, runs] : groups) {
      Operation piece = copy;
      piece.runs = runs;
      piece.count = total(runs);
      piece.after = after(group);
      pieces.push_back(add(std::move(piece)));
    }
    became(std::move(pieces));
  }
  [[nodiscard]] Plan finish() { return std::move(plan_); }

 private:
  const Plan& old_;
  Plan plan_;
  std::vector<std::vector<int>> ends_;
};

}  // namespace vicinal::detail
