// The census of all ranks at the creation of a graph, in one tree allreduce. It finds whether both
// ends know each edge, whether settings agree, the components, and the largest number of edges of a
// rank.
//
// The components of a graph are ranks that depend on each other, through edges in either direction.
// Ranks of different components may call at different times and with different sizes, so no
// component may wait for another.
//
// A search finds edges that only one end knows, or that the two ends do not name equally often. It
// runs only if such edges are known to exist, so its cost does not matter. Its control messages
// hold the edges that lead out of each block of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "negotiate/comparison.hpp"
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

/// Returns this rank's term of a sum over all ranks. The sum is 0 if both ends of all edges know
/// them; otherwise it is 0 with a probability of 2^-64.
std::uint64_t edge_sum(int rank, std::span<const int> sources, std::span<const int> destinations);

/// Returns the count fault for each rank of the tree to throw: about its own edges or, if these are
/// right, about another rank's. Collective over the tree.
Task<Error> find_odd_edges(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                           std::span<const int> sources, std::span<const int> destinations);

/// Report of a block of ranks.
struct CensusReport {
  static constexpr std::string_view name = "census";
  std::uint64_t edge_sum = 0;
  Fingerprint fingerprint;
  Labels labels;
  std::int64_t most_edges = 0;  ///< largest number of a rank, out or in
};
void fields(auto&& take, Is<CensusReport> auto& it) {
  take(it.edge_sum, it.fingerprint, it.labels, it.most_edges);
}

/// Result for a block of ranks.
struct CensusResult {
  static constexpr std::string_view name = "result of the census";
  std::uint64_t edge_sum = 0;
  int other_settings = -1;
  bool whole = false;  ///< all ranks form one component
  Labels labels;
  std::vector<Relation> relations;
  std::int64_t most_edges = 0;
};
void fields(auto&& take, Is<CensusResult> auto& it) {
  take(it.edge_sum, it.other_settings, it.whole, it.labels, it.relations, it.most_edges);
}

class Census final : public TreeAllreduce<CensusReport, CensusResult> {
 public:
  /// The ranks that are in one component with this rank. They must exist.
  struct Edges {
    std::span<const int> sources;
    std::span<const int> destinations;
    std::optional<int> related;  ///< belongs to this rank without an edge
  };
  /// `tree` is the tree of all `size` ranks.
  Census(const RankTree& tree, int size, const Edges& edges, std::int64_t fingerprint);
  void hear(int child, CensusReport report) override;
  CensusReport report() override { return all_; }
  void decide() override;
  void learn(CensusResult result) override;
  CensusResult instruct(const RankTree::Child& child) override;

  /// Returns whether some edge is not named equally often at both ends.
  [[nodiscard]] bool edges_differ() const { return result_.edge_sum != 0; }
  /// Returns the lowest rank whose settings differ from those of rank 0; -1 if none.
  [[nodiscard]] int other_settings() const { return result_.other_settings; }
  /// Returns the largest number of edges, out or in, of any rank.
  [[nodiscard]] std::int64_t most_edges() const { return result_.most_edges; }
  /// Returns whether all ranks form one component.
  [[nodiscard]] bool is_whole() const { return result_.whole; }
  /// Returns the lowest rank of this rank's component; -1 if this rank has no relation.
  [[nodiscard]] int component() const;
  /// Returns this rank's place in the tree of its component.
  [[nodiscard]] RankTree component_tree() const;

 private:
  void relate();

  const RankTree& tree_;
  int size_;
  CensusReport all_;     ///< of this rank and the ranks below it
  CensusResult result_;  ///< for the same ranks
};

}  // namespace vicinal
