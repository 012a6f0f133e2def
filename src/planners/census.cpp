// The census as reports and decisions.
#include "planners/census.hpp"

#include <algorithm>

#include "planners/edge_search.hpp"

namespace vicinal {

Census::Census(const RankTree& tree, int size, std::span<const int> sources,
               std::span<const int> destinations, std::int64_t fingerprint)
    : tree_(tree),
      size_(size),
      edge_sum_(edge_sum(tree.rank, sources, destinations)),
      fingerprint_(fingerprint),
      labels_(labels_of(tree.rank, sources, destinations)) {}

void Census::hear(int child, std::span<const std::int64_t> report) {
  edge_sum_ += static_cast<std::uint64_t>(report[0]);
  fingerprint_.compare(child, {report[1], static_cast<int>(report[2])});
  report = report.subspan(3);
  labels_ = joined(labels_, take_labels(report));
}

Words Census::report() {
  Words words{static_cast<std::int64_t>(edge_sum_), fingerprint_.own(), fingerprint_.other()};
  append(words, labels_);
  return words;
}

void Census::decide() {
  whole_ = labels_ == Labels{{0, size_, 0}};
  relate();
}

void Census::learn(std::span<const std::int64_t> words) {
  edge_sum_ = static_cast<std::uint64_t>(words[0]);
  fingerprint_ = {fingerprint_.own(), static_cast<int>(words[1])};
  whole_ = words[2] != 0;
  words = words.subspan(3);
  labels_ = take_labels(words);
  for (; !words.empty(); words = words.subspan(3)) {
    relations_.push_back({static_cast<int>(words[0]), static_cast<int>(words[1] / 2),
                          static_cast<int>(words[2]), words[1] % 2 != 0});
  }
  relate();
}

void Census::relate() {
  if (whole_) return;
  for (int level = tree_.level - 1; level >= 0; --level) {
    const auto more = relations(labels_, tree_.rank, level);
    relations_.insert(relations_.end(), more.begin(), more.end());
  }
}

Words Census::instruct(const RankTree::Child& child) {
  const int end =
      static_cast<int>(std::min<std::int64_t>(child.rank + block_size(child.level), size_));
  Words words{static_cast<std::int64_t>(edge_sum_), fingerprint_.other(), whole_ ? 1 : 0};
  append(words, part(labels_, child.rank, end));
  for (const Relation& relation : relations_) {
    if (relation.rank < child.rank || relation.rank >= end) continue;
    words.insert(words.end(),
                 {relation.rank, 2 * relation.level + (relation.parent ? 1 : 0), relation.other});
  }
  return words;
}

int Census::component() const { return label_of(labels_, tree_.rank); }

RankTree Census::component_tree() const {
  return whole_ ? tree_ : vicinal::component_tree(tree_.rank, tree_.levels, relations_);
}

}  // namespace vicinal
