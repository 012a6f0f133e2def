// What all ranks find out together when a graph is created, in one consultation: whether both ends know
// each edge, whether the settings are the same, and which ranks make up a component.
#pragma once

#include <span>
#include <vector>

#include "planners/agreement.hpp"
#include "planners/components.hpp"

namespace vicinal {

class Census final : public Consultation {
 public:
  /// `tree` is that of all `size` ranks. The edges are known to lead to ranks that there are.
  Census(const RankTree& tree, int size, std::span<const int> sources,
         std::span<const int> destinations, std::int64_t fingerprint);
  void hear(int child, std::span<const std::int64_t> report) override;
  Words report() override;
  void decide() override;
  void learn(std::span<const std::int64_t> words) override;
  Words instruct(const RankTree::Child& child) override;

  /// Whether some edge is not known at both ends equally often.
  [[nodiscard]] bool edges_differ() const { return edge_sum_ != 0; }
  /// The lowest rank with other settings than rank 0; -1: none.
  [[nodiscard]] int other_settings() const { return fingerprint_.other(); }
  /// The lowest rank of this rank's component; -1 where this rank has no edges.
  [[nodiscard]] int component() const;
  /// This rank's place in the tree of its component.
  [[nodiscard]] RankTree component_tree() const;

 private:
  void relate();

  const RankTree& tree_;
  int size_;
  std::uint64_t edge_sum_;
  Fingerprint fingerprint_;
  Labels labels_;
  bool whole_ = false;  ///< all ranks are one component, so that their tree is that of all
  std::vector<Relation> relations_;
};

}  // namespace vicinal
