// A pattern says what must move, not how. It is the input of every planner.
//
// An item is (origin rank, identity). Two edges of one rank that carry the same identity carry the
// same value, so a planner may send it once. In a plain all-to-all, each element is an item of its
// own. In a halo, the identity is the index of the owned element. In an allgather, all edges carry
// the same items.
//
// Two functions make patterns: of an allgather over all ranks, and of halos from a list of needed
// indices. A halo formed over MPI asks the owners. A caller that sees the whole matrix, such as
// `vicinal explain`, can build the same patterns in one pass.
#pragma once

#include <span>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// `count` items with consecutive identities, at consecutive positions of the send buffer.
struct ItemRun {
  Index identity = 0;
  Index position = 0;
  Index count = 0;
  friend bool operator==(const ItemRun&, const ItemRun&) = default;
};

/// Items sent to one rank, in the order in which the receiver numbers them.
struct OutEdge {
  int rank = 0;
  std::vector<ItemRun> items;
  int partitions = 0;  ///< equal parts that become ready one by one; 0: all is ready from the start
};

/// Items received from one rank. In each run, `source` is the offset within the edge, and `target`
/// the slot of the receive buffer that it fills. One offset may fill several slots; no slot is
/// filled twice.
struct InEdge {
  int rank = 0;
  Index count = 0;
  std::vector<CopyRun> slots;
  int partitions = 0;  ///< equal parts whose arrival is reported; the sender may use another number
};

/// One rank's side of a pattern. If two ranks have several edges, the k-th out-edge pairs with the
/// k-th in-edge. An edge to the own rank is an ordinary edge.
struct Pattern {
  std::vector<OutEdge> out;
  std::vector<InEdge> in;
  bool identity = false;  ///< whether items of equal identity on several edges are sent only once
};

/// Returns the number of items that an edge carries.
Index item_count(const OutEdge& edge);

/// Throws if runs are negative, counts disagree with slots, counts do not divide into partitions,
/// ranks lie outside 0..size-1, or receive slots overlap.
void check(const Pattern& pattern, int size);

/// Returns rank `rank`'s side. Rank r contributes counts[r] items from the beginning of its send
/// buffer. The receive buffer holds the blocks in rank order, each followed by `gap` free slots.
Pattern allgather_pattern(int rank, std::span<const Index> counts, Index gap = 0);

/// Returns the halo patterns of `row_offsets.size() - 1` ranks. Rank r owns the indices
/// row_offsets[r] to row_offsets[r + 1] - 1. Rank needers[i] needs index indices[i]. Pairs are in
/// ascending order and unique, and no rank needs an index that it owns. As in a halo formed over
/// MPI, identities and positions are places among the owned indices. Ghosts are in ascending order,
/// and edges in rank order. Throws an argument fault that names the first invalid pair.
std::vector<Pattern> halo_patterns(std::span<const Index> row_offsets, std::span<const int> needers,
                                   std::span<const Index> indices);

}  // namespace vicinal
