// Divides messages by the partitions in them.
#include <set>

#include "plan/rewriting.hpp"

namespace vicinal {

using detail::Areas;
using detail::Rewriting;
using detail::sorted;

namespace {

bool meet(Index first, Index count, Index other, Index others) {
  return first < other + others && other < first + count;
}

/// Returns whether predecessor `before` of a send provides any of the `count` elements from `first`
/// on.
bool concerns(const Plan& plan, const Areas& areas, const Operation& send, int before, Index first,
              Index count) {
  const Operation& it = plan.operations[static_cast<std::size_t>(before)];
  if (it.kind == OperationKind::trigger && send.from == Plan::source) {
    bool found = false;
    areas.for_each(first, count, [&](int event, Index, Index) { found |= event == it.event; });
    return found;
  }
  if (it.kind != OperationKind::copy || it.to != send.from) return true;
  return std::any_of(it.runs.begin(), it.runs.end(),
                     [&](const CopyRun& run) { return meet(first, count, run.target, run.count); });
}

/// Returns the lengths of the pieces of a send that become ready one by one. Empty unless each
/// piece waits for at most one predecessor.
std::vector<Index> pieces_of(const Plan& plan, const Areas& areas, const Operation& send) {
  std::vector<Stretch> ready;
  if (send.from == Plan::source) {
    areas.for_each(send.offset, send.count, [&](int event, Index offset, Index count) {
      ready.push_back({send.offset + offset, count, event});
    });
  } else {
    for (const int before : send.after) {
      const Operation& it = plan.operations[static_cast<std::size_t>(before)];
      if (it.kind != OperationKind::copy || it.from != Plan::source || it.to != send.from)
        return {};
      for (const CopyRun& run : it.runs) {
        const Index first = std::max(send.offset, run.target);
        const Index end = std::min(send.offset + send.count, run.target + run.count);
        if (first < end) ready.push_back({first, end - first, before});
      }
    }
    ready = sorted(std::move(ready));
  }
  std::vector<Index> counts;
  Index next = send.offset;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i].first != next) return {};  // a gap: no predecessor writes these elements
    next += ready[i].count;
    if (i > 0 && ready[i - 1].event == ready[i].event) {
      counts.back() += ready[i].count;
    } else {
      counts.push_back(ready[i].count);
    }
  }
  if (next != send.offset + send.count) return {};
  return counts;
}

/// Divides the messages of one plan.
class Dividing {
 public:
  Dividing(const Plan& plan, const Pattern& pattern, const std::map<int, Division>& divisions)
      : plan_(plan), areas_(sent_stretches(pattern)), divisions_(divisions), result_(plan) {}

  Plan run() {
    for (int number = 0; number < static_cast<int>(plan_.operations.size()); ++number) {
      const Operation& old = result_.old(number);
      const auto division = divisions_.find(number);
      if (division != divisions_.end()) {
        divide(old, division->second);
      } else if (const std::vector<Stretch> pieces = pieces_before(old); !pieces.empty()) {
        unpack(old, Areas(pieces));
      } else {
        Operation operation = old;
        operation.after = result_.after(old);
        result_.became(std::move(operation));
      }
    }
    return result_.finish();
  }

 private:
  void divide(const Operation& old, const Division& division) {
    std::vector<int> pieces;
    Index offset = old.offset;
    for (std::size_t i = 0; i < division.counts.size(); ++i) {
      Operation piece = old;
      piece.offset = offset;
      piece.count = division.counts[i];
      piece.tag = division.tags[i];
      piece.after.clear();
      for (const int before : old.after) {
        const bool sends = old.kind == OperationKind::send;
        if (sends && !concerns(plan_, areas_, old, before, offset, piece.count)) continue;
        const std::vector<int>& ends = result_.ends(before);
        piece.after.insert(piece.after.end(), ends.begin(), ends.end());
      }
      offset += piece.count;
      pieces.push_back(result_.add(std::move(piece)));
    }
    result_.became(std::move(pieces));
  }

  [[nodiscard]] bool brings_pieces(const Operation& copy, int before) const {
    const Operation& it = result_.old(before);
    return it.kind == OperationKind::receive && it.to == copy.from && divisions_.contains(before);
  }

  /// Returns the pieces of divided messages from which a copy reads, with their operations.
  [[nodiscard]] std::vector<Stretch> pieces_before(const Operation& it) const {
    std::vector<Stretch> pieces;
    if (it.kind != OperationKind::copy) return pieces;
    for (const int before : it.after) {
      if (!brings_pieces(it, before)) continue;
      Index first = result_.old(before).offset;
      const std::vector<Index>& counts = divisions_.at(before).counts;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        pieces.push_back({first, counts[i], result_.ends(before)[i]});
        first += counts[i];
      }
    }
    return sorted(std::move(pieces));
  }

  /// Replaces a copy by one copy for each piece.
  void unpack(const Operation& old, const Areas& pieces) {
    std::map<int, std::vector<CopyRun>> groups;
    for (const CopyRun& run : old.runs) {
      pieces.for_each(run.source, run.count, [&](int piece, Index offset, Index count) {
        append_run(groups[piece], {run.source + offset, run.target + offset, count});
      });
    }
    result_.copies(old, groups, [&](int piece) {
      std::vector<int> after;
      if (piece >= 0) after.push_back(piece);
      for (const int before : old.after) {
        if (brings_pieces(old, before)) continue;
        after.insert(after.end(), result_.ends(before).begin(), result_.ends(before).end());
      }
      return after;
    });
  }

  const Plan& plan_;
  Areas areas_;
  const std::map<int, Division>& divisions_;
  Rewriting result_;
};

}  // namespace

std::vector<int> deliveries(const Plan& plan) {
  std::vector<bool> passes_on(plan.operations.size());
  for (const Operation& it : plan.operations) {
    for (const int before : it.after) {
      const int buffer = plan.operations[static_cast<std::size_t>(before)].to;
      const bool unpacks =
          it.kind == OperationKind::copy && it.from == buffer && it.to == Plan::target;
      if (buffer != Plan::target && !unpacks) passes_on[static_cast<std::size_t>(before)] = true;
    }
  }
  std::vector<int> result;
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    if (plan.operations[i].kind == OperationKind::receive && !passes_on[i]) {
      result.push_back(static_cast<int>(i));
    }
  }
  return result;
}

std::map<int, Division> divisions(const Plan& plan, const Pattern& pattern) {
  const Areas areas(sent_stretches(pattern));
  std::map<int, Division> result;
  for (int number = 0; number < static_cast<int>(plan.operations.size()); ++number) {
    const Operation& it = plan.operations[static_cast<std::size_t>(number)];
    if (it.kind != OperationKind::send) continue;
    std::vector<Index> counts = pieces_of(plan, areas, it);
    if (counts.size() > 1) result[number].counts = std::move(counts);
  }
  return result;
}

Plan divided(const Plan& plan, const Pattern& pattern, const std::map<int, Division>& divisions) {
  return Dividing(plan, pattern, divisions).run();
}

}  // namespace vicinal
