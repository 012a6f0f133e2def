// Validation of patterns, on which all other layers rely. Every error that one rank can detect
// alone is refused here, before anything is sent.
//
// An allgather is a complete graph: an edge between any two ranks, and from each rank to itself.
// For halos one pass suffices, because the pairs are sorted. A rank's ghosts come owner by owner,
// so each of its edges is one run of slots. Each owner sees the ranks that need its indices in rank
// order.
#include "pattern/pattern.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace vicinal {

namespace {

void check_rank(int rank, int size, const char* direction) {
  require(rank >= 0 && rank < size, Fault::rank, "an edge ", direction, " rank ", rank,
          " was given, but the communicator has ranks 0 to ", size - 1);
}

void check_partitions(Index count, int partitions, int rank, const char* direction) {
  require(partitions >= 0 && (partitions == 0 || count % partitions == 0), Fault::count,
          "the edge ", direction, " rank ", rank, " carries ", count,
          " items, which are not to be divided into ", partitions, " equal partitions");
}

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

void check_offsets(std::span<const Index> row_offsets) {
  require(!row_offsets.empty(), Fault::argument,
          "no row offsets were given; give one more than there are ranks");
  for (std::size_t rank = 1; rank < row_offsets.size(); ++rank) {
    require(row_offsets[rank - 1] <= row_offsets[rank], Fault::argument, "rank ", rank - 1,
            " is said to own indices ", row_offsets[rank - 1], " to before ", row_offsets[rank],
            "; row offsets must not descend");
  }
}

void append_item(OutEdge& edge, Index position) {
  if (!edge.items.empty() && edge.items.back().identity + edge.items.back().count == position) {
    ++edge.items.back().count;
  } else {
    edge.items.push_back({position, position, 1});
  }
}

}  // namespace

Index item_count(const OutEdge& edge) {
  Index sum = 0;
  for (const ItemRun& run : edge.items) sum += run.count;
  return sum;
}

void check(const Pattern& pattern, int size) {
  for (const OutEdge& edge : pattern.out) {
    check_rank(edge.rank, size, "to");
    for (const ItemRun& run : edge.items) {
      require(run.count >= 0, Fault::count, "the edge to rank ", edge.rank, " has a count of ",
              run.count, "; counts must not be negative");
    }
    check_partitions(item_count(edge), edge.partitions, edge.rank, "to");
  }
  std::vector<std::pair<Index, Index>> slots;
  for (const InEdge& edge : pattern.in) {
    check_rank(edge.rank, size, "from");
    require(edge.count >= 0, Fault::count, "the edge from rank ", edge.rank, " has a count of ",
            edge.count, "; counts must not be negative");
    check_partitions(edge.count, edge.partitions, edge.rank, "from");
    for (const CopyRun& run : edge.slots) {
      require(run.count >= 0 && run.source >= 0 && run.source + run.count <= edge.count,
              Fault::count, "the edge from rank ", edge.rank, " carries ", edge.count,
              " items, but a slot takes items ", run.source, " to ", run.source + run.count - 1);
      if (run.count > 0) slots.emplace_back(run.target, run.count);
    }
  }
  std::sort(slots.begin(), slots.end());
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const auto [first, count] = slots[i - 1];
    require(first + count <= slots[i].first, Fault::buffer, "receive slots ", slots[i].first,
            " to ", std::min(first + count, slots[i].first + slots[i].second) - 1,
            " would be written by more than one edge; receive regions must not overlap");
  }
}

Pattern allgather_pattern(int rank, std::span<const Index> counts, Index gap) {
  Pattern pattern;
  pattern.identity = true;
  pattern.out.reserve(counts.size());
  pattern.in.reserve(counts.size());
  const Index own = counts[static_cast<std::size_t>(rank)];
  Index place = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int other = static_cast<int>(i);
    OutEdge& out = pattern.out.emplace_back(OutEdge{other, {}});
    if (own > 0) out.items.push_back({0, 0, own});
    InEdge& in = pattern.in.emplace_back(InEdge{other, counts[i], {}});
    if (counts[i] > 0) in.slots.push_back({0, place, counts[i]});
    place += counts[i] + gap;
  }
  return pattern;
}

std::vector<Pattern> halo_patterns(std::span<const Index> row_offsets, std::span<const int> needers,
                                   std::span<const Index> indices) {
  check_offsets(row_offsets);
  require(needers.size() == indices.size(), Fault::argument, needers.size(),
          " needing ranks were given for ", indices.size(), " indices; give one for each");
  const auto size = static_cast<Index>(row_offsets.size()) - 1;
  std::vector<Pattern> patterns(at(size));
  for (Pattern& pattern : patterns) pattern.identity = true;

  int needer = -1;
  Index ghosts = 0;
  Index owner = 0;
  Index before = 0;
  Pattern* mine = nullptr;
  OutEdge* out = nullptr;
  for (std::size_t pair = 0; pair < indices.size(); ++pair) {
    const Index index = indices[pair];
    if (mine == nullptr || needers[pair] != needer) {
      require(needers[pair] >= 0 && needers[pair] < size, Fault::argument, "pair ", pair,
              " is of rank ", needers[pair], ", but row offsets were given for ranks 0 to ",
              size - 1);
      require(needers[pair] > needer, Fault::argument, "pair ", pair, " is of rank ", needers[pair],
              ", but the one before it of rank ", needer, "; give pairs in ascending order");
      needer = needers[pair];
      mine = &patterns[at(needer)];
      ghosts = 0;
      owner = 0;
      out = nullptr;
    } else {
      require(index > before, Fault::argument, "rank ", needer, " needs index ", index, " after ",
              before, "; give each pair once, in ascending order");
    }
    before = index;
    require(index >= row_offsets.front() && index < row_offsets.back(), Fault::argument, "rank ",
            needer, " needs index ", index, ", but the ranks own indices ", row_offsets.front(),
            " to ", row_offsets.back() - 1);
    if (out == nullptr || index >= row_offsets[at(owner) + 1]) {
      const auto next = std::upper_bound(row_offsets.begin() + owner, row_offsets.end(), index);
      owner = static_cast<Index>(next - row_offsets.begin()) - 1;
      require(owner != needer, Fault::argument, "rank ", needer, " is said to need index ", index,
              ", which it owns itself");
      out = &patterns[at(owner)].out.emplace_back();
      out->rank = needer;
      mine->in.push_back({static_cast<int>(owner), 0, {{0, ghosts, 0}}});
    }
    append_item(*out, index - row_offsets[at(owner)]);
    ++mine->in.back().count;
    ++mine->in.back().slots.back().count;
    ++ghosts;
  }
  return patterns;
}

}  // namespace vicinal
