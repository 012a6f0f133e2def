// Implements the census as reports and decisions of a tree allreduce.
#include "negotiate/census.hpp"

#include <algorithm>

#include "negotiate/edge_search.hpp"

namespace vicinal {

Census::Census(const RankTree& tree, int size, const Edges& edges, std::int64_t fingerprint)
    : tree_(tree),
      size_(size),
      all_{edge_sum(tree.rank, edges.sources, edges.destinations), Fingerprint(fingerprint),
           labels_of(tree.rank, edges.sources, edges.destinations),
           static_cast<std::int64_t>(std::max(edges.sources.size(), edges.destinations.size()))} {
  if (edges.related) {
    all_.labels = joined(all_.labels, labels_of(tree.rank, {&*edges.related, 1}, {}));
  }
}

void Census::hear(int child, CensusReport report) {
  all_.edge_sum += report.edge_sum;
  all_.fingerprint.compare(child, report.fingerprint);
  all_.labels = joined(all_.labels, report.labels);
  all_.most_edges = std::max(all_.most_edges, report.most_edges);
}

void Census::decide() {
  result_ = {all_.edge_sum,
             all_.fingerprint.other(),
             all_.labels == Labels{{0, size_, 0}},
             all_.labels,
             {},
             all_.most_edges};
  relate();
}

void Census::learn(CensusResult result) {
  result_ = std::move(result);
  relate();
}

void Census::relate() {
  if (result_.whole) return;
  for (int level = tree_.level - 1; level >= 0; --level) {
    const auto more = relations(result_.labels, tree_.blocks, tree_.rank, level);
    result_.relations.insert(result_.relations.end(), more.begin(), more.end());
  }
}

CensusResult Census::instruct(const RankTree::Child& child) {
  const int end =
      static_cast<int>(std::min<std::int64_t>(child.rank + tree_.blocks.size(child.level), size_));
  CensusResult result{result_.edge_sum,
                      result_.other_settings,
                      result_.whole,
                      part(result_.labels, child.rank, end),
                      {},
                      result_.most_edges};
  for (const Relation& relation : result_.relations) {
    if (relation.rank >= child.rank && relation.rank < end) result.relations.push_back(relation);
  }
  return result;
}

int Census::component() const { return label_of(result_.labels, tree_.rank); }

RankTree Census::component_tree() const {
  return result_.whole ? tree_ : vicinal::component_tree(tree_, result_.relations);
}

}  // namespace vicinal
