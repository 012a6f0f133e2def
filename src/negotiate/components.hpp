// The components of a graph: ranks that depend on each other, through edges in either direction.
// Ranks of different components may call at different times and with different sizes, so no
// component may wait for another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "negotiate/rank_tree.hpp"

namespace vicinal {

/// Consecutive ranks known to be in one component, which is labeled by its lowest known rank.
struct LabelRun {
  int first = 0;
  int count = 0;
  int label = 0;
  friend bool operator==(const LabelRun&, const LabelRun&) = default;
};
void fields(auto&& take, Is<LabelRun> auto& it) { take(it.first, it.count, it.label); }
/// The known components of some ranks: runs in ascending order, as few as possible.
using Labels = std::vector<LabelRun>;

/// Returns the labels that one rank knows: it is in one component with its neighbours. Empty
/// without any.
Labels labels_of(int rank, std::span<const int> sources, std::span<const int> destinations);

/// Returns the labels that follow from both lists.
Labels joined(const Labels& one, const Labels& other);

/// Returns the labels of ranks first to last - 1.
Labels part(const Labels& labels, int first, int last);

/// Returns the component of a rank; -1 if it is unknown.
int label_of(const Labels& labels, int rank);

/// A parent and a child in the tree of their component, for one of the two.
struct Relation {
  int rank = 0;   ///< the rank that needs to know
  int level = 0;  ///< of the child
  int other = 0;
  bool parent = false;  ///< whether `other` is the parent
};
void fields(auto&& take, Is<Relation> auto& it) { take(it.rank, it.level, it.other, it.parent); }

/// Returns the relations among the blocks of `level` that form the block from rank `first` on.
/// `labels` covers all ranks of that block. The representative of a component in the larger block
/// is the lowest of its representatives in the smaller ones.
std::vector<Relation> relations(const Labels& labels, RankBlocks blocks, int first, int level);

/// Returns a rank's place in the tree of its component, from its place in the tree of all ranks,
/// and all its relations.
RankTree component_tree(const RankTree& all, std::span<const Relation> known);

}  // namespace vicinal
