// Computes the requirements of the patterns. Pairs the k-th out-edge between two ranks with the
// k-th in-edge. Positions that hold the same item are joined, so that a plan may read the item from
// any of them.
//
// Then runs one execution on symbols instead of numbers: each element of each memory holds a code
// for its value. The accesses are known to be ordered, so one order of running represents all.
//
// Forward, a code is an item. In reverse, it is a ghost element, an owned element, or a sum of two
// codes. The sums form trees, whose leaves from left to right are the operands in order.
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "plan/verify.hpp"

namespace vicinal::detail {

namespace {

struct Arrival {  // an out-edge, as its receiver sees it
  int sender;
  const OutEdge* edge;
};

Index owned_extent(const Plan& plan, const Pattern& pattern) {
  Index extent = plan.buffers[plan.reverse ? Plan::target : Plan::source].extent;
  for (const OutEdge& edge : pattern.out) {
    for (const ItemRun& run : edge.items) {
      require(run.position >= 0, Fault::internal, "rank ", plan.rank, " has an item at position ",
              run.position, " of its buffer; positions must not be negative");
      extent = std::max(extent, run.position + run.count);
    }
  }
  return extent;
}

Index ghost_extent(const Plan& plan, const Pattern& pattern) {
  Index extent = plan.buffers[plan.reverse ? Plan::source : Plan::target].extent;
  for (const InEdge& edge : pattern.in) {
    for (const CopyRun& run : edge.slots) {
      require(run.target >= 0, Fault::internal, "rank ", plan.rank, " has slot ", run.target,
              " of its buffer filled; slots must not be negative");
      extent = std::max(extent, run.target + run.count);
    }
  }
  return extent;
}

/// Maps each position of one rank to the first position that holds the same item.
void join_positions(const Pattern& pattern, Index first, std::vector<Index>& item) {
  const auto root = [&](Index element) {
    while (item[element] != element) element = item[element] = item[item[element]];
    return element;
  };
  std::vector<std::pair<Index, Index>> named;
  for (const OutEdge& edge : pattern.out) {
    for (const ItemRun& run : edge.items) {
      for (Index i = 0; i < run.count; ++i) named.emplace_back(run.identity + i, run.position + i);
    }
  }
  std::sort(named.begin(), named.end());
  for (std::size_t i = 1; i < named.size(); ++i) {
    if (named[i - 1].first != named[i].first) continue;
    const Index a = root(first + named[i - 1].second);
    const Index b = root(first + named[i].second);
    item[std::max(a, b)] = std::min(a, b);
  }
  for (const auto& [identity, position] : named) {
    item[first + position] = root(first + position);
  }
}

/// Reports the first difference between the sorted edges of a rank and those of its peers.
[[noreturn]] void disagree(int rank, int sender, int source) {
  if (sender < source) {
    fail(Fault::internal, "the patterns disagree: rank ", sender, " has an edge to rank ", rank,
         ", which has no edge from it to pair with");
  }
  fail(Fault::internal, "the patterns disagree: rank ", rank, " has an edge from rank ", source,
       ", which has no edge to it to pair with");
}

std::string describe(const char* what, const std::vector<Index>& first, Index element) {
  const auto next = std::upper_bound(first.begin(), first.end(), element);
  return what + std::to_string(element - *(next - 1)) + " of rank " +
         std::to_string(next - first.begin() - 1);
}

}  // namespace

Demand::Demand(const Program& program, std::span<const Pattern> patterns)
    : first_owned{0}, first_ghost{0} {
  const int ranks = program.ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    check(patterns[rank], ranks);
    first_owned.push_back(first_owned.back() + owned_extent(program.plans[rank], patterns[rank]));
    first_ghost.push_back(first_ghost.back() + ghost_extent(program.plans[rank], patterns[rank]));
  }
  item.resize(first_owned.back());
  std::iota(item.begin(), item.end(), Index{0});
  wanted.assign(first_ghost.back(), -1);

  std::vector<std::vector<Arrival>> arrivals(patterns.size());  // by receiver, then by sender
  for (int rank = 0; rank < ranks; ++rank) {
    if (patterns[rank].identity) join_positions(patterns[rank], first_owned[rank], item);
    for (const OutEdge& edge : patterns[rank].out) arrivals[edge.rank].push_back({rank, &edge});
  }

  std::vector<Index> items;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<const InEdge*> edges;
    for (const InEdge& edge : patterns[rank].in) edges.push_back(&edge);
    std::stable_sort(edges.begin(), edges.end(),
                     [](const InEdge* a, const InEdge* b) { return a->rank < b->rank; });
    const auto& arriving = arrivals[rank];
    for (std::size_t i = 0; i < std::max(edges.size(), arriving.size()); ++i) {
      const int sender = i < arriving.size() ? arriving[i].sender : ranks;
      const int source = i < edges.size() ? edges[i]->rank : ranks;
      if (sender != source) disagree(rank, sender, source);
      const InEdge& in = *edges[i];
      items.clear();
      for (const ItemRun& run : arriving[i].edge->items) {
        for (Index k = 0; k < run.count; ++k) {
          items.push_back(item[first_owned[sender] + run.position + k]);
        }
      }
      require(in.count == static_cast<Index>(items.size()), Fault::internal,
              "the patterns disagree: rank ", sender, " sends ", items.size(), " items to rank ",
              rank, ", which expects ", in.count);
      for (const CopyRun& run : in.slots) {
        std::copy_n(items.begin() + run.source, run.count,
                    wanted.begin() + first_ghost[rank] + run.target);
      }
    }
  }
}

std::string Demand::describe_owned(Index element) const {
  return describe("owned element ", first_owned, element);
}

std::string Demand::describe_ghost(Index slot) const {
  return describe("slot ", first_ghost, slot);
}

namespace {

using Code = Index;
constexpr Code nothing = -1;

/// The codes of all elements of a program, and the moves between them.
class Symbols {
 public:
  explicit Symbols(const Program& program)
      : program_(program), codes_(static_cast<std::size_t>(program.elements), nothing) {}

  [[nodiscard]] std::span<Code> of(int memory) {
    const Memory& it = program_.memories[memory];
    return std::span(codes_).subspan(static_cast<std::size_t>(it.base),
                                     static_cast<std::size_t>(it.extent));
  }
  [[nodiscard]] std::span<Code> of(int rank, int buffer) {
    return of(program_.memory(rank, buffer));
  }

  /// Calls move(operation, run, codes, memory) for each run that an execution moves.
  template <class Move>
  void run(std::span<const int> order, Move move) {
    for (const int id : order) {
      const Operation& it = program_.operation(id);
      const int rank = program_.rank_of[id];
      if (it.kind == OperationKind::copy || it.kind == OperationKind::reduce) {
        for (const CopyRun& run : it.runs) {
          move_run(id, run, program_.memory(rank, it.from), program_.memory(rank, it.to), move);
        }
      } else if (it.kind == OperationKind::receive) {
        const int send = program_.counterpart[id];
        const Operation& sent = program_.operation(send);
        move_run(id, {sent.offset, it.offset, it.count},
                 program_.memory(program_.rank_of[send], sent.from), program_.memory(rank, it.to),
                 move);
      }
    }
  }

 private:
  template <class Move>
  void move_run(int id, const CopyRun& run, int from, int to, Move& move) {
    const auto read = of(from).subspan(run.source, run.count);
    const auto missing = std::find(read.begin(), read.end(), nothing);
    if (missing != read.end()) {
      fail(Fault::internal, program_.describe(id), " takes element ",
           run.source + (missing - read.begin()), " of ", program_.describe_memory(from),
           ", which nothing has written before");
    }
    move(id, run, read, to);
  }

  const Program& program_;
  std::vector<Code> codes_;
};

class Sums {
 public:
  Sums(const Program& program, const Demand& demand)
      : program_(program), demand_(demand), symbols_(program) {}

  void verify(std::span<const int> order) {
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      fill(symbols_.of(rank, Plan::source), demand_.first_ghost[rank]);
      fill(symbols_.of(rank, Plan::target), owned(demand_.first_owned[rank]));
    }
    symbols_.run(order, [&](int id, const CopyRun& run, std::span<const Code> read, int memory) {
      const auto written = symbols_.of(memory).subspan(run.target, run.count);
      if (program_.operation(id).kind == OperationKind::reduce) {
        add(id, run, read, written, memory);
      } else {
        std::copy(read.begin(), read.end(), written.begin());
      }
    });
    counted_.assign(demand_.wanted.size(), 0);
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      const auto sums = symbols_.of(rank, Plan::target);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        count_operands(sums[i], demand_.first_owned[rank] + static_cast<Index>(i));
      }
    }
    for (std::size_t slot = 0; slot < counted_.size(); ++slot) {
      if (demand_.wanted[slot] < 0 || counted_[slot]) continue;
      fail(Fault::internal, demand_.describe_ghost(static_cast<Index>(slot)), " is never added to ",
           demand_.describe_owned(demand_.wanted[slot]));
    }
  }

 private:
  static void fill(std::span<Code> codes, Code first) {
    for (Code& code : codes) code = first++;
  }

  // Codes are numbered: ghost elements, then owned elements, then sums.
  [[nodiscard]] Code owned(Index element) const { return demand_.first_ghost.back() + element; }
  [[nodiscard]] Code first_sum() const { return owned(demand_.first_owned.back()); }

  void add(int id, const CopyRun& run, std::span<const Code> read, std::span<Code> written,
           int memory) {
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (written[i] == nothing) {
        fail(Fault::internal, program_.describe(id), " adds to element ",
             run.target + static_cast<Index>(i), " of ", program_.describe_memory(memory),
             ", which nothing has written before");
      }
      sums_.emplace_back(written[i], read[i]);
      written[i] = first_sum() + static_cast<Code>(sums_.size()) - 1;
    }
  }

  void count_operands(Code sum, Index element) {
    const Code own = owned(element);
    if (sum == own) return;
    bool first = true;
    stack_.assign(1, sum);
    while (!stack_.empty()) {
      const Code code = stack_.back();
      stack_.pop_back();
      if (code >= first_sum()) {
        const auto [left, right] = sums_[code - first_sum()];
        stack_.push_back(right);
        stack_.push_back(left);
        continue;
      }
      if (first != (code == own)) {
        fail(Fault::internal, "the value of ", demand_.describe_owned(element),
             " must be the first operand of its sum, and be there once; ", describe(code),
             first ? " is the first operand" : " is added");
      }
      if (!first) count_ghost(code, element);
      first = false;
    }
  }

  void count_ghost(Code code, Index element) {
    const bool ghost = code < demand_.first_ghost.back();
    if (!ghost || demand_.wanted[code] != demand_.item[element]) {
      const bool known = ghost && demand_.wanted[code] >= 0;
      fail(Fault::internal, describe(code), " is added to ", demand_.describe_owned(element),
           ", where it does not belong; it belongs to ",
           known ? demand_.describe_owned(demand_.wanted[code]) : "no other element");
    }
    if (std::exchange(counted_[code], char{1})) {
      fail(Fault::internal, describe(code), " is added twice to ",
           demand_.describe_owned(demand_.item[element]));
    }
  }

  [[nodiscard]] std::string describe(Code code) const {
    const Code ghosts = demand_.first_ghost.back();
    return code < ghosts ? demand_.describe_ghost(code) : demand_.describe_owned(code - ghosts);
  }

  const Program& program_;
  const Demand& demand_;
  Symbols symbols_;
  std::vector<std::pair<Code, Code>> sums_;
  std::vector<char> counted_;  ///< by ghost slot
  std::vector<Code> stack_;
};

}  // namespace

void verify_forward(const Program& program, const Demand& demand, std::span<const int> order) {
  Symbols symbols(program);
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const auto source = symbols.of(rank, Plan::source);
    std::copy_n(demand.item.begin() + demand.first_owned[rank], source.size(), source.begin());
  }
  symbols.run(order, [&](int id, const CopyRun& run, std::span<const Code> read, int memory) {
    const auto written = symbols.of(memory).subspan(run.target, run.count);
    std::copy(read.begin(), read.end(), written.begin());
    const Memory& it = program.memories[memory];
    if (it.space != Space::target) return;
    const Index first = demand.first_ghost[it.owner] + run.target;
    const auto [wrong, wanted] =
        std::mismatch(read.begin(), read.end(), demand.wanted.begin() + first);
    if (wrong == read.end()) return;
    const std::string slot = demand.describe_ghost(first + (wrong - read.begin()));
    if (*wanted < 0) {
      fail(Fault::internal, program.describe(id), " writes ", slot, ", which no in-edge names");
    }
    fail(Fault::internal, program.describe(id), " fills ", slot, " with ",
         demand.describe_owned(*wrong), "; the item that belongs there is ",
         demand.describe_owned(*wanted));
  });
  for (int rank = 0; rank < program.ranks(); ++rank) {
    const auto target = symbols.of(rank, Plan::target);
    const Index slots = demand.first_ghost[rank + 1] - demand.first_ghost[rank];
    for (Index slot = 0; slot < slots; ++slot) {
      const Index wanted = demand.wanted[demand.first_ghost[rank] + slot];
      const bool filled = slot < static_cast<Index>(target.size()) && target[slot] != nothing;
      if (wanted < 0 || filled) continue;
      fail(Fault::internal, demand.describe_ghost(demand.first_ghost[rank] + slot),
           " is never written; the item that belongs there is ", demand.describe_owned(wanted));
    }
  }
}

void verify_reverse(const Program& program, const Demand& demand, std::span<const int> order) {
  Sums(program, demand).verify(order);
}

}  // namespace vicinal::detail
