// A pattern says what must move, and nothing of how. It is what every planner starts from.
//
// An item is (origin rank, identity). Two edges of one rank that carry the same identity carry the
// same value, which is what lets a planner send it once. In a plain all-to-all each element is an
// item of its own; in a halo the identity is the index of the owned element; in an allgather all
// edges carry the same item.
#pragma once

#include <span>
#include <vector>

#include "base/runs.hpp"

namespace vicinal {

/// `count` items of consecutive identities, lying at consecutive positions of the send buffer.
struct ItemRun {
  Index identity = 0;
  Index position = 0;
  Index count = 0;
  friend bool operator==(const ItemRun&, const ItemRun&) = default;
};

/// Items sent to one rank, in the order in which that rank knows them.
struct OutEdge {
  int rank = 0;
  std::vector<ItemRun> items;
  int partitions = 0;  ///< equal parts that become ready one by one; 0: all is from the start
};

/// Items received from one rank. In each run `source` is the offset within the edge and `target` the
/// slot of the receive buffer that it fills. One offset may fill several slots; no slot is filled
/// twice.
struct InEdge {
  int rank = 0;
  Index count = 0;
  std::vector<CopyRun> slots;
  int partitions = 0;  ///< equal parts of whose arrival somebody hears; the sender's may be others
};

/// One rank's side of a pattern. Several edges between one pair of ranks pair k-th with k-th; an
/// edge to the own rank is an ordinary edge.
struct Pattern {
  std::vector<OutEdge> out;
  std::vector<InEdge> in;
  bool identity = false;  ///< whether equal identities on several edges are to be sent only once
};

/// The number of items that an edge carries.
Index item_count(const OutEdge& edge);

/// Refuses edges whose runs are negative, whose counts disagree with their slots or do not divide into
/// their partitions, whose ranks lie outside 0..size-1, or whose receive slots overlap.
void check(const Pattern& pattern, int size);

}  // namespace vicinal
