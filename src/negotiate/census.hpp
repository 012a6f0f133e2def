// What all ranks find out together when a graph is created, in one consultation: whether both ends know
// each edge, whether the settings are the same, which ranks make up a component, and how many edges a rank has at most.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planners/comparison.hpp"
#include "planners/components.hpp"

namespace vicinal {

/// Of a block of ranks.
struct CensusReport {
  static constexpr std::string_view name = "census";
  std::uint64_t edge_sum = 0;
  Fingerprint fingerprint;
  Labels labels;
  std::int64_t most_edges = 0;  ///< of a rank, out or in
};
void fields(auto&& take, Is<CensusReport> auto& it) {
  take(it.edge_sum, it.fingerprint, it.labels, it.most_edges);
}

/// For a block of ranks.
struct CensusResult {
  static constexpr std::string_view name = "result of the census";
  std::uint64_t edge_sum = 0;
  int other_settings = -1;
  bool whole = false;  ///< all ranks are one component, so that their tree is that of all
  Labels labels;
  std::vector<Relation> relations;
  std::int64_t most_edges = 0;
};
void fields(auto&& take, Is<CensusResult> auto& it) {
  take(it.edge_sum, it.other_settings, it.whole, it.labels, it.relations, it.most_edges);
}

class Census final : public Consultation<CensusReport, CensusResult> {
 public:
  /// Whom a rank is of one component with. The edges are known to lead to ranks that there are.
  struct Edges {
    std::span<const int> sources;
    std::span<const int> destinations;
    std::optional<int> related;  ///< a rank that belongs to this one without an edge
  };
  /// `tree` is that of all `size` ranks.
  Census(const RankTree& tree, int size, const Edges& edges, std::int64_t fingerprint);
  void hear(int child, CensusReport report) override;
  CensusReport report() override { return all_; }
  void decide() override;
  void learn(CensusResult result) override;
  CensusResult instruct(const RankTree::Child& child) override;

  /// Whether some edge is not known at both ends equally often.
  [[nodiscard]] bool edges_differ() const { return result_.edge_sum != 0; }
  /// The lowest rank with other settings than rank 0; -1: none.
  [[nodiscard]] int other_settings() const { return result_.other_settings; }
  /// How many edges out or in some rank has, at most.
  [[nodiscard]] std::int64_t most_edges() const { return result_.most_edges; }
  /// Whether all ranks are one component.
  [[nodiscard]] bool is_whole() const { return result_.whole; }
  /// The lowest rank of this rank's component; -1 where this rank is related to nobody.
  [[nodiscard]] int component() const;
  /// This rank's place in the tree of its component.
  [[nodiscard]] RankTree component_tree() const;

 private:
  void relate();

  const RankTree& tree_;
  int size_;
  CensusReport all_;     ///< of this rank and those below it
  CensusResult result_;  ///< as far as it concerns them
};

}  // namespace vicinal
