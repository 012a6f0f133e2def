// The components of a graph: ranks that depend on each other, through edges in whatever direction. Those
// of different components may call at different times and with other sizes, so nothing may make one
// wait for the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planners/rank_tree.hpp"

namespace vicinal {

/// Consecutive ranks that are known to be of one component, which is called by its lowest known rank.
struct LabelRun {
  int first = 0;
  int count = 0;
  int label = 0;
  friend bool operator==(const LabelRun&, const LabelRun&) = default;
};
void fields(auto&& take, Is<LabelRun> auto& it) { take(it.first, it.count, it.label); }
/// What is known of the components of some ranks: runs in ascending order, as few as possible.
using Labels = std::vector<LabelRun>;

/// What one rank knows: it is of one component with its neighbours. Nothing where it has none.
Labels labels_of(int rank, std::span<const int> sources, std::span<const int> destinations);

/// What follows from both.
Labels joined(const Labels& one, const Labels& other);

/// What it says of the ranks first to last - 1.
Labels part(const Labels& labels, int first, int last);

/// The component of a rank; -1 where nothing is known of it.
int label_of(const Labels& labels, int rank);

/// That two ranks are one above the other in the tree of their component, for one of them to know.
struct Relation {
  int rank = 0;   ///< who is to know
  int level = 0;  ///< of the lower one
  int other = 0;
  bool parent = false;  ///< whether the other one is above
};
void fields(auto&& take, Is<Relation> auto& it) { take(it.rank, it.level, it.other, it.parent); }

/// The relations inside the block of `fan` blocks of `level` that begins at rank `first`, by what is
/// known of all its ranks' components. Each component of the larger block has for its speaker the
/// lowest of the speakers that it has in the smaller ones.
std::vector<Relation> relations(const Labels& labels, int first, int level);

/// A rank's place in the tree of its component, from all relations that it has to know.
RankTree component_tree(int rank, int levels, std::span<const Relation> known);

}  // namespace vicinal
