// Validation of patterns, on which all other layers rely. Every error that one rank can detect
// alone is refused here, before anything is sent.
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

}  // namespace vicinal
