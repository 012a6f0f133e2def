// A tree of ranks for allreduces: reports go up, decisions come down. Ranks form blocks, eight of
// which form a larger block, and so on; the lowest rank of a block represents it. The smallest
// blocks are the hosts if these are alike, else 8 ranks. So control messages of the first level
// stay on a host. Each direction has one superstep per level, with one control message from and to
// each rank. Larger blocks of hosts take fewer steps and are no faster (4 hosts of 8 ranks over
// TCP). Their first control messages open more connections, which doubled the time of a first
// graph.
#pragma once

#include <cstdint>
#include <vector>

#include "base/conversation.hpp"
#include "locality/machine.hpp"
#include "negotiate/faults.hpp"

namespace vicinal {

/// The blocks of consecutive ranks. A block of level 0 is one rank.
struct RankBlocks {
  static constexpr int fan = 8;
  int smallest = fan;  ///< number of ranks of a block of level 1
  /// Returns the largest number of ranks of a block of that level.
  [[nodiscard]] std::int64_t size(int level) const;
  /// Returns the largest number of blocks of `level` in a block of the next level.
  [[nodiscard]] int parts(int level) const { return level == 0 ? smallest : fan; }
};

/// Returns blocks that follow the hosts of a machine.
RankBlocks blocks_of(const Machine& machine);

/// One rank's place in the tree. A tree may lack some ranks (those of other components). The lowest
/// rank present in a block then represents it.
struct RankTree {
  struct Child {
    int level = 0;  ///< of the block that it represents
    int rank = 0;
  };
  RankBlocks blocks;
  int rank = 0;
  int levels = 0;               ///< supersteps per direction
  int level = 0;                ///< of the block that this rank represents; `levels` at the root
  int parent = -1;              ///< -1: this is the root
  std::vector<Child> children;  ///< by level, then by rank
};

/// Returns the tree of all ranks of a communicator; rank 0 is its root.
RankTree whole_tree(int rank, int size, RankBlocks blocks);

/// A tree allreduce in words, for tree_allreduce(); see TreeAllreduce.
class AnyTreeAllreduce {
 public:
  virtual ~AnyTreeAllreduce() = default;
  virtual void hear_words(int child, const Words& report) = 0;
  virtual Words report_words() = 0;
  /// Decides, at the root, after all reports.
  virtual void decide() = 0;
  virtual void learn_words(int parent, const Words& decision) = 0;
  virtual Words instruct_words(const RankTree::Child& child) = 0;
};

/// A tree allreduce with typed reports and decisions. Both are control messages
/// (conversation.hpp) without a status, which tree_allreduce() adds.
template <class Report, class Decision>
class TreeAllreduce : public AnyTreeAllreduce {
 public:
  /// Merges the report of a child's block. Children report in ascending order.
  virtual void hear(int child, Report report) = 0;
  /// Returns the report of this rank and its children.
  virtual Report report() = 0;
  /// Takes the decision for this rank's block; not called at the root.
  virtual void learn(Decision decision) = 0;
  /// Returns the decision for a child's block.
  virtual Decision instruct(const RankTree::Child& child) = 0;

  void hear_words(int child, const Words& words) final {
    hear(child, contents_of<Report>(words, child));
  }
  Words report_words() final { return words_of(report()); }
  void learn_words(int parent, const Words& words) final {
    learn(contents_of<Decision>(words, parent));
  }
  Words instruct_words(const RankTree::Child& child) final { return words_of(instruct(child)); }
};

struct Done {};

/// Runs a tree allreduce. Collective over the tree. A fault that a rank has before, or meets on the
/// way up, travels with the control messages. Nothing is decided then, and each rank has the fault
/// in its record. An exception on the way down affects only this rank and the ranks below it, which
/// keep waiting.
Task<Done> tree_allreduce(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                          AnyTreeAllreduce& about);

}  // namespace vicinal
