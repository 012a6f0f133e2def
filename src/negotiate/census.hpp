// The census of all ranks at the creation of a graph, in one tree allreduce. It finds whether both
// ends know each edge, whether settings agree, the components, and the largest number of edges of a
// rank.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "negotiate/comparison.hpp"
#include "negotiate/components.hpp"

namespace vicinal {

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
