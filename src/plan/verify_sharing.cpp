// Freedom from data races. The graph must order any two accesses to an element if one of them is a
// write. Orders come from `after`, from a message (its receive ends after its send began), or from
// a signal and its await. Proving two consecutive executions is enough: the edges are the same in
// each, and an operation follows itself in the previous execution.
//
// A sweep over the sorted intervals of each memory finds the conflicting pairs. For each pair, a
// breadth-first search walks backwards from the later operation to the earlier one. Correct plans
// order conflicts by short paths, so the search visits few operations.
#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "plan/verify.hpp"

namespace vicinal::detail {

namespace {

struct Access {
  int memory;
  int operation;
  bool writes;
};

struct Interval {
  Index first;
  Index end;
  int operation;
  bool writes;
};

struct Conflict {
  int later;
  int earlier;
  bool next;  ///< `later` belongs to the execution after that of `earlier`
  int memory;
  Index where;  ///< an element that both touch
  auto key() const { return std::tuple(later, next, earlier); }
};

/// Finds the operations that happen before another one, in two consecutive executions.
class Past {
 public:
  explicit Past(const Program& program)
      : program_(program),
        operations_(static_cast<std::size_t>(program.operations())),
        seen_(2 * operations_ + static_cast<std::size_t>(program.ranks()), 0),
        wanted_(operations_, 0) {}

  /// Returns the first conflict whose earlier operation may be incomplete when the later one
  /// begins, or null. All conflicts have the same later operation.
  const Conflict* unordered(std::span<const Conflict> conflicts) {
    ++walk_;
    missing_ = 0;
    for (const Conflict& conflict : conflicts) {
      if (wanted_[conflict.earlier] == walk_) continue;
      wanted_[conflict.earlier] = walk_;
      ++missing_;
    }
    const bool next = conflicts.front().next;
    queue_.clear();
    ranks_.clear();
    visit_what_precedes(conflicts.front().later, next);
    // An operation follows itself in the previous execution, and its predecessors there are near.
    if (next) visit(conflicts.front().later, false);
    std::size_t at = 0;
    std::size_t at_rank = 0;
    while (missing_ > 0) {
      if (at < queue_.size()) {
        expand(queue_[at++]);
      } else if (at_rank < ranks_.size()) {
        const int rank = ranks_[at_rank++];
        for (int id = program_.first_operation[rank]; id < program_.first_operation[rank + 1];
             ++id) {
          visit(id, false);
        }
      } else {
        break;
      }
    }
    if (missing_ == 0) return nullptr;
    return &*std::find_if(conflicts.begin(), conflicts.end(), [&](const Conflict& conflict) {
      return wanted_[conflict.earlier] == walk_;
    });
  }

 private:
  void visit(int id, bool next) {
    std::uint32_t& seen = seen_[static_cast<std::size_t>(id) + (next ? operations_ : 0)];
    if (seen == walk_) return;
    seen = walk_;
    queue_.push_back({id, next});
    if (!next && wanted_[id] == walk_) {
      wanted_[id] = 0;
      --missing_;
    }
  }

  /// Visits the operations that are complete when this one begins. The whole previous execution is
  /// expanded last: it is large, and rarely what orders a conflict.
  void visit_what_precedes(int id, bool next) {
    const int rank = program_.rank_of[id];
    for (const int before : program_.operation(id).after) visit(program_.id(rank, before), next);
    if (!next) return;
    std::uint32_t& seen = seen_[2 * operations_ + static_cast<std::size_t>(rank)];
    if (seen == walk_) return;
    seen = walk_;
    ranks_.push_back(rank);
  }

  struct Node {
    int operation;
    bool next;
  };

  void expand(Node node) {
    const Operation& it = program_.operation(node.operation);
    visit_what_precedes(node.operation, node.next);
    const int other = program_.counterpart[node.operation];
    if (it.kind == OperationKind::receive) visit_what_precedes(other, node.next);
    if (it.kind != OperationKind::await) return;
    if (it.lag == 0) visit(other, node.next);
    if (it.lag == 1 && node.next) visit(other, false);
  }

  const Program& program_;
  std::size_t operations_;
  std::vector<std::uint32_t> seen_;    ///< by operation, twice, and by rank: last walk to visit it
  std::vector<std::uint32_t> wanted_;  ///< by operation: the walk that still searches for it
  std::uint32_t walk_ = 0;
  int missing_ = 0;
  std::vector<Node> queue_;
  std::vector<int> ranks_;  ///< ranks whose whole first execution precedes
};

class Sharing {
 public:
  Sharing(const Program& program, std::span<const int> order)
      : program_(program), position_(order.size()) {
    for (int i = 0; i < static_cast<int>(order.size()); ++i) position_[order[i]] = i;
  }

  void verify() {
    list_accesses();
    for (std::size_t begin = 0; begin < accesses_.size();) {
      std::size_t end = begin;
      bool written = false;
      while (end < accesses_.size() && accesses_[end].memory == accesses_[begin].memory) {
        written |= accesses_[end++].writes;
      }
      if (written) sweep({accesses_.begin() + static_cast<std::ptrdiff_t>(begin), end - begin});
      begin = end;
    }
    prove();
  }

 private:
  void list_accesses() {
    for (int id = 0; id < program_.operations(); ++id) {
      const Operation& it = program_.operation(id);
      const int rank = program_.rank_of[id];
      if (reads_elements(it.kind)) {
        accesses_.push_back({program_.memory(rank, it.from), id, false});
      }
      if (writes_elements(it.kind)) {
        accesses_.push_back({program_.memory(rank, it.to), id, true});
      }
    }
    std::stable_sort(accesses_.begin(), accesses_.end(),
                     [](const Access& a, const Access& b) { return a.memory < b.memory; });
  }

  /// Appends the elements that an access touches, as disjoint intervals.
  void append_intervals(const Access& access) {
    const Operation& it = program_.operation(access.operation);
    const auto start = static_cast<std::ptrdiff_t>(intervals_.size());
    const auto add = [&](Index first, Index count) {
      if (count > 0) intervals_.push_back({first, first + count, access.operation, access.writes});
    };
    if (it.kind == OperationKind::send || it.kind == OperationKind::receive) {
      add(it.offset, it.count);
      return;
    }
    for (const CopyRun& run : it.runs) add(access.writes ? run.target : run.source, run.count);
    const auto begin = intervals_.begin() + start;
    const auto less = [](const Interval& a, const Interval& b) { return a.first < b.first; };
    if (!std::is_sorted(begin, intervals_.end(), less)) std::sort(begin, intervals_.end(), less);
    auto last = begin;
    for (auto next = begin; next != intervals_.end(); ++next) {
      if (next == begin) continue;
      const bool once = access.writes && it.kind == OperationKind::copy;
      if (once && next->first < last->end) {
        fail(Fault::internal, program_.describe(access.operation), " writes element ", next->first,
             " of ", program_.describe_memory(access.memory), " twice");
      }
      if (next->first <= last->end) {
        last->end = std::max(last->end, next->end);
      } else {
        *++last = *next;
      }
    }
    if (begin != intervals_.end()) intervals_.erase(last + 1, intervals_.end());
  }

  void sweep(std::span<const Access> accesses) {
    intervals_.clear();
    for (const Access& access : accesses) append_intervals(access);
    std::sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
      return std::tie(a.first, a.operation) < std::tie(b.first, b.operation);
    });
    const int memory = accesses.front().memory;
    const auto old_size = conflicts_.size();
    reads_.clear();
    writes_.clear();
    for (const Interval& interval : intervals_) {
      const auto meet = [&](std::vector<Interval>& others) {
        std::erase_if(others, [&](const Interval& it) { return it.end <= interval.first; });
        for (const Interval& other : others) add_conflict(memory, other, interval);
      };
      meet(writes_);
      if (interval.writes) meet(reads_);
      (interval.writes ? writes_ : reads_).push_back(interval);
    }
    const auto begin = conflicts_.begin() + static_cast<std::ptrdiff_t>(old_size);
    std::sort(begin, conflicts_.end(),
              [](const Conflict& a, const Conflict& b) { return a.key() < b.key(); });
    conflicts_.erase(std::unique(begin, conflicts_.end(),
                                 [](const auto& a, const auto& b) { return a.key() == b.key(); }),
                     conflicts_.end());
  }

  void add_conflict(int memory, const Interval& a, const Interval& b) {
    const Index where = b.first;
    const bool in_place = a.operation == b.operation;
    const bool filled_twice = a.writes && b.writes && !program_.reverse &&
                              program_.memories[memory].space == Space::target;
    if (in_place || filled_twice) {
      fail(Fault::internal, program_.describe(a.operation), in_place ? " reads and " : " and ",
           in_place ? "" : program_.describe(b.operation) + " both ", in_place ? "writes" : "write",
           " element ", where, " of ", program_.describe_memory(memory),
           in_place ? "" : ": it is written twice");
    }
    int earlier = a.operation;
    int later = b.operation;
    if (position_[later] < position_[earlier]) std::swap(earlier, later);
    conflicts_.push_back({later, earlier, false, memory, where});
    if (program_.rank_of[earlier] == program_.rank_of[later]) return;
    conflicts_.push_back({later, earlier, true, memory, where});
    conflicts_.push_back({earlier, later, true, memory, where});
  }

  void prove() {
    std::sort(conflicts_.begin(), conflicts_.end(),
              [](const Conflict& a, const Conflict& b) { return a.key() < b.key(); });
    Past past(program_);
    for (auto begin = conflicts_.begin(); begin != conflicts_.end();) {
      const auto end = std::find_if(begin, conflicts_.end(), [&](const Conflict& it) {
        return it.later != begin->later || it.next != begin->next;
      });
      if (const Conflict* conflict = past.unordered({begin, end})) report(*conflict);
      begin = end;
    }
  }

  [[noreturn]] void report(const Conflict& conflict) const {
    const std::string memory = program_.describe_memory(conflict.memory);
    if (conflict.next) {
      fail(Fault::internal, program_.describe(conflict.later), " may touch element ",
           conflict.where, " of ", memory, " again before ", program_.describe(conflict.earlier),
           " of the execution before is done with it: no acknowledgement orders them");
    }
    fail(Fault::internal, program_.describe(conflict.earlier), " and ",
         program_.describe(conflict.later), " are unordered, but both touch element ",
         conflict.where, " of ", memory, " and one of them writes it");
  }

  const Program& program_;
  std::vector<int> position_;  ///< by operation: its position in the given order
  std::vector<Access> accesses_;
  std::vector<Interval> intervals_;
  std::vector<Interval> reads_;  ///< intervals that contain the position of the sweep
  std::vector<Interval> writes_;
  std::vector<Conflict> conflicts_;
};

}  // namespace

void verify_sharing(const Program& program, std::span<const int> order) {
  Sharing(program, order).verify();
}

}  // namespace vicinal::detail
