// A tree of ranks, along which they find out something together: reports go up, what is made of them
// comes down. Ranks form blocks of 8, blocks of 64, and so on; the lowest rank of a block speaks for it.
// So both ways take ceil(log8 size) supersteps, with one letter from and to each rank, and most letters
// stay where neighbouring ranks live together. Blocks of 32 take fewer steps and are no faster (4 hosts of
// 8 ranks over TCP), but their first letters open more connections: that doubled a first graph's time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/letters.hpp"
#include "planners/faults.hpp"

namespace vicinal {

/// One rank's place in it. A tree may lack some ranks (those of other components); the lowest one of a
/// block that is there then speaks for it.
struct RankTree {
  static constexpr int fan = 8;
  struct Child {
    int level = 0;  ///< it speaks for a block of fan^level ranks
    int rank = 0;
  };
  int rank = 0;
  int levels = 0;   ///< supersteps of either way
  int level = 0;    ///< this rank speaks for a block of fan^level ranks, the root for all
  int parent = -1;  ///< -1: this is the root
  std::vector<Child> children;  ///< by level, then by rank
};

/// The tree of all ranks of a communicator; rank 0 is its root.
RankTree whole_tree(int rank, int size);

/// How many ranks a block of that level has, at most.
std::int64_t block_size(int level);

/// What the ranks of a tree find out together, in words for consult(); see Consultation.
class AnyConsultation {
 public:
  virtual ~AnyConsultation() = default;
  virtual void hear_words(int child, const Words& report) = 0;
  virtual Words report_words() = 0;
  /// At the root: all have reported.
  virtual void decide() = 0;
  virtual void learn_words(int parent, const Words& decision) = 0;
  virtual Words instruct_words(const RankTree::Child& child) = 0;
};

/// Reports and decisions are letters (letters.hpp) without a status, which consult() adds.
template <class Report, class Decision>
class Consultation : public AnyConsultation {
 public:
  /// Takes in what a child reports for its block. Children report in ascending order.
  virtual void hear(int child, Report report) = 0;
  /// What this rank and its children have to say.
  virtual Report report() = 0;
  /// Elsewhere than at the root: what that has decided, as far as it concerns this rank's block.
  virtual void learn(Decision decision) = 0;
  /// The same for a child's block.
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

/// Collective over the tree. A fault that a rank knows before, or that befalls it on the way up, goes
/// with the letters: then nothing is decided, and each rank has it in its record. What is thrown on the
/// way down only concerns this rank and those below it, who are left waiting.
Task<Done> consult(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                   AnyConsultation& about);

}  // namespace vicinal
