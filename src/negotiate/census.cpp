// Implements the census as reports and decisions of a tree allreduce. Labels of components are
// merged by a sweep over both lists. Overlapping runs show that two labels name one component.
//
// In the search, each rank reports its edges. An edge is settled where both reports of it meet and
// agree. Only unsettled edges and edges that lead out of the block go further up.
#include "negotiate/census.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/scramble.hpp"

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
  RankTree tree;
  tree.blocks = all.blocks;
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

namespace {

/// Number of times that each end has named an edge; -1 before its report.
struct Named {
  std::int64_t by_source = -1;
  std::int64_t by_destination = -1;
};
void fields(auto&& take, Is<Named> auto& it) { take(it.by_source, it.by_destination); }

struct Ends {
  int source = -1;
  int destination = -1;
  friend auto operator<=>(const Ends&, const Ends&) = default;
};
void fields(auto&& take, Is<Ends> auto& it) { take(it.source, it.destination); }

struct NamedEdge {
  Ends ends;
  Named named;
};
void fields(auto&& take, Is<NamedEdge> auto& it) { take(it.ends, it.named); }

/// Unsettled edges of a block.
struct OddEdges {
  static constexpr std::string_view name = "odd edges";
  std::vector<NamedEdge> edges;
};
void fields(auto&& take, Is<OddEdges> auto& it) { take(it.edges); }

/// Unsettled edges with an end in a block, and one edge for every rank.
struct FoundEdges {
  static constexpr std::string_view name = "edges found";
  NamedEdge first;
  std::vector<NamedEdge> edges;
};
void fields(auto&& take, Is<FoundEdges> auto& it) { take(it.first, it.edges); }

constexpr std::size_t most_told = 4;

std::string edges(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " edge" : " edges");
}

class EdgeSearch final : public TreeAllreduce<OddEdges, FoundEdges> {
 public:
  EdgeSearch(const RankTree& tree, std::span<const int> sources, std::span<const int> destinations)
      : blocks_(tree.blocks), rank_(tree.rank) {
    for (const int peer : destinations) count(edges_[{rank_, peer}].by_source);
    for (const int peer : sources) count(edges_[{peer, rank_}].by_destination);
    settle_within();
  }
  void hear(int, OddEdges report) override {
    for (const NamedEdge& edge : report.edges) {
      Named& named = edges_[edge.ends];
      if (edge.named.by_source >= 0) named.by_source = edge.named.by_source;
      if (edge.named.by_destination >= 0) named.by_destination = edge.named.by_destination;
    }
    settle_within();
  }
  OddEdges report() override {
    OddEdges report;
    for (const auto& [ends, named] : edges_) report.edges.push_back({ends, named});
    return report;
  }
  void decide() override {
    for (auto& [ends, named] : edges_) {
      if (named.by_source < 0) named.by_source = 0;
      if (named.by_destination < 0) named.by_destination = 0;
    }
    require(!edges_.empty(), Fault::internal,
            "the sum over all edges is not 0, but both ends of each know it");
    first_ = {edges_.begin()->first, edges_.begin()->second};
  }
  void learn(FoundEdges found) override {
    first_ = found.first;
    edges_.clear();
    for (const NamedEdge& edge : found.edges) edges_[edge.ends] = edge.named;
  }
  FoundEdges instruct(const RankTree::Child& child) override {
    FoundEdges found{first_, {}};
    const std::int64_t end = child.rank + blocks_.size(child.level);
    const auto within = [&](int rank) { return rank >= child.rank && rank < end; };
    for (const auto& [ends, named] : edges_) {
      if (within(ends.source) || within(ends.destination)) found.edges.push_back({ends, named});
    }
    return found;
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    std::size_t told = 0, own = 0;
    for (const auto& [ends, named] : edges_) {
      if (ends.source != rank_ && ends.destination != rank_) continue;
      if (++own > most_told) continue;
      text << (told++ > 0 ? "; " : "") << sentence(ends, named);
    }
    if (own > most_told) text << "; and so with " << own - most_told << " more";
    if (own == 0) text << sentence(first_.ends, first_.named);
    text << "; both ends of a graph's edges must name them, and equally often";
    return text.str();
  }

 private:
  static void count(std::int64_t& named) { named = named < 0 ? 1 : named + 1; }
  static std::string sentence(const Ends& ends, const Named& named) {
    std::ostringstream text;
    const auto [from, to] = ends;
    text << "rank " << from << " has " << edges(named.by_source) << " to rank " << to
         << ", but rank " << to << " has " << edges(named.by_destination) << " from rank " << from;
    return text.str();
  }
  void settle_within() {
    std::erase_if(edges_, [](const auto& edge) {
      return edge.second.by_source == edge.second.by_destination;
    });
  }

  RankBlocks blocks_;
  int rank_;
  std::map<Ends, Named> edges_;
  NamedEdge first_;
};

}  // namespace

std::uint64_t edge_sum(int rank, std::span<const int> sources, std::span<const int> destinations) {
  const auto number = [](int from, int to) {
    return scramble((static_cast<std::uint64_t>(from) << 32U) | static_cast<std::uint32_t>(to));
  };
  std::uint64_t sum = 0;
  for (const int peer : destinations) sum += number(rank, peer);
  for (const int peer : sources) sum -= number(peer, rank);
  return sum;
}

Task<Error> find_odd_edges(Conversation& talk, const RankTree& tree, FaultRecord& faults,
                           std::span<const int> sources, std::span<const int> destinations) {
  EdgeSearch search(tree, sources, destinations);
  co_await tree_allreduce(talk, tree, faults, search);
  faults.settle();
  co_return Error(Fault::count, search.text());
}

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
