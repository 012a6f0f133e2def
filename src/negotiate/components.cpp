// Merges labels by a sweep over both lists. Overlapping runs show that two labels name one
// component.
#include "negotiate/components.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace vicinal {

namespace {

/// A union-find of labels that name one component; the lowest of them is the root.
class SameLabels {
 public:
  int lowest(int label) {
    int root = label;
    for (auto up = above_.find(root); up != above_.end(); up = above_.find(root)) root = up->second;
    while (label != root) label = std::exchange(above_[label], root);
    return root;
  }
  void unite(int a, int b) {
    a = lowest(a);
    b = lowest(b);
    if (a != b) above_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::unordered_map<int, int> above_;
};

int end_of(const LabelRun& run) { return run.first + run.count; }

void append_run(Labels& labels, int first, int last, int label) {
  if (first >= last) return;
  if (!labels.empty() && end_of(labels.back()) == first && labels.back().label == label) {
    labels.back().count += last - first;
  } else {
    labels.push_back({first, last - first, label});
  }
}

/// Calls visit(first, last, run of one or null, run of other or null) for ascending stretches.
template <class Visit>
void sweep(const Labels& one, const Labels& other, Visit visit) {
  auto a = one.begin();
  auto b = other.begin();
  int at = 0;
  while (a != one.end() || b != other.end()) {
    // From here on, `at` lies before the end of both runs.
    const bool in_a = a != one.end() && a->first <= at, in_b = b != other.end() && b->first <= at;
    int next = -1;
    const auto consider = [&](int border) { next = next < 0 ? border : std::min(next, border); };
    if (a != one.end()) consider(in_a ? end_of(*a) : a->first);
    if (b != other.end()) consider(in_b ? end_of(*b) : b->first);
    if (in_a || in_b) visit(at, next, in_a ? &*a : nullptr, in_b ? &*b : nullptr);
    at = next;
    if (a != one.end() && end_of(*a) <= at) ++a;
    if (b != other.end() && end_of(*b) <= at) ++b;
  }
}

}  // namespace

Labels labels_of(int rank, std::span<const int> sources, std::span<const int> destinations) {
  if (sources.empty() && destinations.empty()) return {};
  std::vector<int> ranks(sources.begin(), sources.end());
  ranks.insert(ranks.end(), destinations.begin(), destinations.end());
  ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  Labels labels;
  for (const int each : ranks) append_run(labels, each, each + 1, ranks.front());
  return labels;
}

Labels joined(const Labels& one, const Labels& other) {
  SameLabels same;
  sweep(one, other, [&](int, int, const LabelRun* a, const LabelRun* b) {
    if (a != nullptr && b != nullptr) same.unite(a->label, b->label);
  });
  Labels result;
  sweep(one, other, [&](int first, int last, const LabelRun* a, const LabelRun* b) {
    append_run(result, first, last, same.lowest(a != nullptr ? a->label : b->label));
  });
  return result;
}

Labels part(const Labels& labels, int first, int last) {
  Labels result;
  auto run = std::lower_bound(labels.begin(), labels.end(), first,
                              [](const LabelRun& r, int rank) { return end_of(r) <= rank; });
  for (; run != labels.end() && run->first < last; ++run) {
    append_run(result, std::max(first, run->first), std::min(last, end_of(*run)), run->label);
  }
  return result;
}

int label_of(const Labels& labels, int rank) {
  const Labels own = part(labels, rank, rank + 1);
  return own.empty() ? -1 : own.front().label;
}

std::vector<Relation> relations(const Labels& labels, RankBlocks blocks, int first, int level) {
  std::vector<Relation> result;
  std::unordered_map<int, int> speakers;  // by label, of the whole block
  for (int i = 0; i < blocks.parts(level); ++i) {
    const std::int64_t begin = first + i * blocks.size(level), end = begin + blocks.size(level);
    if (labels.empty() || begin >= end_of(labels.back())) break;
    std::unordered_map<int, int> own;  // of this smaller block
    const int last = static_cast<int>(std::min<std::int64_t>(end, end_of(labels.back())));
    for (const LabelRun& run : part(labels, static_cast<int>(begin), last)) {
      if (!own.emplace(run.label, run.first).second) continue;
      const auto [speaker, fresh] = speakers.emplace(run.label, run.first);
      if (fresh) continue;
      result.push_back({run.first, level, speaker->second, true});
      result.push_back({speaker->second, level, run.first, false});
    }
  }
  return result;
}

RankTree component_tree(const RankTree& all, std::span<const Relation> known) {
  RankTree tree{all.blocks};
  tree.rank = all.rank;
  tree.levels = all.levels;
  tree.level = all.levels;
  for (const Relation& relation : known) {
    if (relation.rank != all.rank) continue;
    if (relation.parent) {
      tree.parent = relation.other;
      tree.level = relation.level;
    } else {
      tree.children.push_back({relation.level, relation.other});
    }
  }
  std::sort(tree.children.begin(), tree.children.end(),
            [](const RankTree::Child& a, const RankTree::Child& b) { return a.rank < b.rank; });
  return tree;
}

}  // namespace vicinal
