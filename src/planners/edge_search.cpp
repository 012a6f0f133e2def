// Each rank reports its edges. Where both reports of an edge meet, it is done with, if they agree; so
// only those that do not, and those that lead out of the block, go further up.
#include "planners/edge_search.hpp"

#include <map>
#include <sstream>
#include <utility>

#include "base/scramble.hpp"

namespace vicinal {

namespace {

/// How often either end has named an edge; -1 where it has not reported yet.
struct Named {
  std::int64_t by_source = -1;
  std::int64_t by_destination = -1;
};
using Edges = std::map<std::pair<int, int>, Named>;  ///< by source and destination

constexpr std::size_t words_of_edge = 4;
constexpr std::size_t most_told = 4;

std::string edges(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " edge" : " edges");
}

class EdgeSearch final : public Consultation {
 public:
  EdgeSearch(int rank, std::span<const int> sources, std::span<const int> destinations)
      : rank_(rank) {
    for (const int peer : destinations) count(edges_[{rank, peer}].by_source);
    for (const int peer : sources) count(edges_[{peer, rank}].by_destination);
    settle_within();
  }
  void hear(int, std::span<const std::int64_t> report) override {
    for (; !report.empty(); report = report.subspan(words_of_edge)) {
      Named& named = edges_[ends(report)];
      if (report[2] >= 0) named.by_source = report[2];
      if (report[3] >= 0) named.by_destination = report[3];
    }
    settle_within();
  }
  Words report() override {
    Words words;
    for (const auto& [ends, named] : edges_) append(words, ends, named);
    return words;
  }
  void decide() override {
    for (auto& [ends, named] : edges_) {
      if (named.by_source < 0) named.by_source = 0;
      if (named.by_destination < 0) named.by_destination = 0;
    }
    require(!edges_.empty(), Fault::internal,
            "the sum over all edges is not 0, but both ends of each know it");
    first_ = *edges_.begin();
  }
  void learn(std::span<const std::int64_t> words) override {
    edges_.clear();
    first_ = {ends(words), {words[2], words[3]}};
    for (words = words.subspan(words_of_edge); !words.empty();
         words = words.subspan(words_of_edge)) {
      edges_[ends(words)] = {words[2], words[3]};
    }
  }
  Words instruct(const RankTree::Child& child) override {
    Words words;
    append(words, first_.first, first_.second);
    const std::int64_t end = child.rank + block_size(child.level);
    const auto within = [&](int rank) { return rank >= child.rank && rank < end; };
    for (const auto& [ends, named] : edges_) {
      if (within(ends.first) || within(ends.second)) append(words, ends, named);
    }
    return words;
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    std::size_t told = 0, own = 0;
    for (const auto& [ends, named] : edges_) {
      if (ends.first != rank_ && ends.second != rank_) continue;
      if (++own > most_told) continue;
      text << (told++ > 0 ? "; " : "") << sentence(ends, named);
    }
    if (own > most_told) text << "; and so with " << own - most_told << " more";
    if (own == 0) text << sentence(first_.first, first_.second);
    text << "; both ends of a graph's edges must name them, and equally often";
    return text.str();
  }

 private:
  static void count(std::int64_t& named) { named = named < 0 ? 1 : named + 1; }
  static std::pair<int, int> ends(std::span<const std::int64_t> words) {
    return {static_cast<int>(words[0]), static_cast<int>(words[1])};
  }
  static void append(Words& words, const std::pair<int, int>& ends, const Named& named) {
    for (const std::int64_t word : {std::int64_t{ends.first}, std::int64_t{ends.second},
                                    named.by_source, named.by_destination}) {
      words.push_back(word);
    }
  }
  static std::string sentence(const std::pair<int, int>& ends, const Named& named) {
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

  int rank_;
  Edges edges_;
  std::pair<std::pair<int, int>, Named> first_;
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
  EdgeSearch search(tree.rank, sources, destinations);
  co_await consult(talk, tree, faults, search);
  faults.settle();
  co_return Error(Fault::count, search.text());
}

}  // namespace vicinal
