// Tests graph creation on virtual ranks: what the ranks agree on, what they then know of their
// component, and the errors if they disagree.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>
#include <variant>

#include "check.hpp"
#include "negotiate/census.hpp"
#include "negotiate/neighborhood.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "random_patterns.hpp"

namespace vicinal::creation_tests {
namespace {

using testing::RandomPatterns;

struct Edges {
  std::vector<std::vector<int>> sources, destinations;  ///< by rank
  explicit Edges(int size)
      : sources(static_cast<std::size_t>(size)), destinations(static_cast<std::size_t>(size)) {}
  void add(int from, int to) {
    destinations[static_cast<std::size_t>(from)].push_back(to);
    sources[static_cast<std::size_t>(to)].push_back(from);
  }
  [[nodiscard]] int size() const { return static_cast<int>(sources.size()); }
};

/// Returns edges within groups of arbitrary ranks: several components, and ranks without
/// neighbours.
Edges random_edges(RandomPatterns& random, int size) {
  Edges edges(size);
  std::vector<int> group(static_cast<std::size_t>(size));
  const int groups = random.between(1, 4);
  for (int& each : group) each = random.between(0, groups);  // the last group has no edges
  const double density = random.chance(0.5) ? 0.6 : 2.0 / size;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const int common = group[static_cast<std::size_t>(from)];
      if (common != group[static_cast<std::size_t>(to)] || common == groups) continue;
      if (!random.chance(density)) continue;
      for (int left = random.chance(0.2) ? 3 : 1; left > 0; --left) edges.add(from, to);
    }
  }
  return edges;
}

/// Returns the lowest rank of each rank's component; -1 without neighbours. Follows the edges.
std::vector<int> components(const Edges& edges) {
  std::vector<int> label(edges.sources.size(), -1);
  for (int first = 0; first < edges.size(); ++first) {
    const auto f = static_cast<std::size_t>(first);
    if (label[f] >= 0 || (edges.sources[f].empty() && edges.destinations[f].empty())) continue;
    std::vector<int> open{first};
    label[f] = first;
    while (!open.empty()) {
      const auto rank = static_cast<std::size_t>(open.back());
      open.pop_back();
      for (const auto* peers : {&edges.sources[rank], &edges.destinations[rank]}) {
        for (const int peer : *peers) {
          if (std::exchange(label[static_cast<std::size_t>(peer)], first) != first) {
            open.push_back(peer);
          }
        }
      }
    }
  }
  return label;
}

using Outcome = std::variant<Neighborhood, Error>;

Task<Outcome> attempt(Conversation& talk, std::shared_ptr<const Machine> machine, int rank,
                      std::vector<int> sources, std::vector<int> destinations, Premises premises) {
  std::optional<Error> error;
  try {
    co_return co_await make_neighborhood(talk, std::move(machine), rank, std::move(sources),
                                         std::move(destinations), std::move(premises));
  } catch (const Error& fault) {
    if (!fault.is_on_all_ranks()) throw;
    error = fault;
  }
  co_return *error;
}

std::vector<Outcome> create(const std::shared_ptr<const Machine>& machine, const Edges& edges,
                            const std::function<Premises(int)>& premises) {
  return run_virtual<Outcome>(edges.size(), [&](int rank, Conversation& talk) {
    const auto r = static_cast<std::size_t>(rank);
    return attempt(talk, machine, rank, edges.sources[r], edges.destinations[r], premises(rank));
  });
}

std::vector<Neighborhood> create(const std::shared_ptr<const Machine>& machine,
                                 const Edges& edges) {
  std::vector<Neighborhood> made;
  for (Outcome& outcome : create(machine, edges, [](int) { return Premises{}; })) {
    if (const auto* error = std::get_if<Error>(&outcome)) throw *error;
    made.push_back(std::move(std::get<Neighborhood>(outcome)));
  }
  return made;
}

const Error& error_of(const Outcome& outcome) {
  CHECK(std::holds_alternative<Error>(outcome));
  return std::get<Error>(outcome);
}

std::shared_ptr<const Machine> blocks(int size, int ranks) {
  std::vector<int> region(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) region[static_cast<std::size_t>(rank)] = rank / ranks;
  return std::make_shared<const Machine>(region, region);
}

/// Returns the links of a rank's component and region, from the edges of all ranks.
std::vector<RegionLink> links(const Edges& edges, const std::vector<int>& label,
                              const Machine& machine, int rank, bool out) {
  std::map<int, RegionLink> found;
  const auto& peers = out ? edges.destinations : edges.sources;
  for (const int member : machine.members(machine.region_of(rank))) {
    const auto m = static_cast<std::size_t>(member);
    if (label[m] < 0 || label[m] != label[static_cast<std::size_t>(rank)]) continue;
    for (const int peer : peers[m]) {
      const int region = machine.region_of(peer);
      if (region == machine.region_of(rank)) continue;
      RegionLink& link =
          found.try_emplace(region, RegionLink{region, member, peer, {}}).first->second;
      link.contact_there = std::min(link.contact_there, peer);
      if (link.members.empty() || link.members.back() != member) link.members.push_back(member);
    }
  }
  std::vector<RegionLink> result;
  for (auto& [region, link] : found) result.push_back(std::move(link));
  return result;
}

void check_links(const std::vector<RegionLink>& links, const std::vector<RegionLink>& expected) {
  CHECK_EQUAL(links.size(), expected.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    CHECK_EQUAL(links[i].region, expected[i].region);
    CHECK_EQUAL(links[i].contact_here, expected[i].contact_here);
    CHECK_EQUAL(links[i].contact_there, expected[i].contact_there);
    CHECK(links[i].members == expected[i].members);
  }
}

/// Checks that each rank's knowledge is correct and limited to its component.
void check_knowledge(const Machine& machine, const Edges& edges,
                     const std::vector<Neighborhood>& made) {
  const std::vector<int> label = components(edges);
  for (int rank = 0; rank < edges.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Neighborhood& mine = made[r];
    std::vector<int> active;
    for (const int member : machine.members(machine.region_of(rank))) {
      if (label[r] >= 0 && label[static_cast<std::size_t>(member)] == label[r])
        active.push_back(member);
    }
    CHECK(mine.active() == active);
    check_links(mine.out(), links(edges, label, machine, rank, true));
    check_links(mine.in(), links(edges, label, machine, rank, false));
    for (const int other : mine.dependents())
      CHECK_EQUAL(label[static_cast<std::size_t>(other)], label[r]);
  }
}

struct Counted {
  static constexpr std::string_view name = "sum";
  std::int64_t sum = 0;
  std::int64_t ranks = 1;
};
void fields(auto&& take, Is<Counted> auto& it) { take(it.sum, it.ranks); }

/// Sums and counts the ranks of the tree.
class Sum final : public TreeAllreduce<Counted, Counted> {
 public:
  explicit Sum(int rank) : all_{rank} {}
  void hear(int child, Counted report) override {
    CHECK(child > last_child_);
    last_child_ = child;
    all_.sum += report.sum;
    all_.ranks += report.ranks;
  }
  Counted report() override { return all_; }
  void decide() override {}
  void learn(Counted decision) override { all_ = decision; }
  Counted instruct(const RankTree::Child&) override { return all_; }
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> result() const {
    return {all_.sum, all_.ranks};
  }

 private:
  int last_child_ = -1;
  Counted all_;
};

using Sums = std::pair<std::int64_t, std::int64_t>;

Task<Sums> sum_up(Conversation& talk, const RankTree& tree, bool takes_part) {
  Sum sum(tree.rank);
  FaultRecord faults(tree.rank, "ranks");
  if (takes_part) co_await tree_allreduce(talk, tree, faults, sum);
  faults.settle();
  co_return sum.result();
}

/// Checks that the tree of each component has exactly its ranks.
void check_trees(const Edges& edges, const std::vector<Neighborhood>& made) {
  const std::vector<int> label = components(edges);
  std::map<int, Sums> expected;
  for (int rank = 0; rank < edges.size(); ++rank) {
    Sums& sums = expected[label[static_cast<std::size_t>(rank)]];
    sums.first += rank;
    ++sums.second;
  }
  const auto sums = run_virtual<Sums>(edges.size(), [&](int rank, Conversation& talk) {
    const Neighborhood& mine = made[static_cast<std::size_t>(rank)];
    return sum_up(talk, mine.tree, mine.has_edges());
  });
  for (int rank = 0; rank < edges.size(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (label[r] >= 0) CHECK(sums[r] == expected.at(label[r]));
  }
}

std::vector<Given> settings(std::string strategy, std::string bytes) {
  return {{"vicinal_strategy", std::move(strategy)}, {"vicinal_split_bytes", std::move(bytes)}};
}

Premises with_settings(const std::string& strategy, const std::string& bytes) {
  return {fingerprint(settings(strategy, bytes)),
          [strategy, bytes] { return settings(strategy, bytes); }};
}

/// Returns a ring of `size` ranks.
Edges ring(int size) {
  Edges edges(size);
  for (int rank = 0; rank < size; ++rank) edges.add(rank, (rank + 1) % size);
  return edges;
}

}  // namespace

TEST(creation_keeps_components_apart) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    RandomPatterns random(seed);
    constexpr std::array sizes{1, 2, 3, 5, 8, 9, 17, 40, 65, 90};
    const int size = sizes[seed % sizes.size()];
    const auto [machine, regions] = random.machine(size);
    const Edges edges = random_edges(random, size);
    try {
      const std::vector<Neighborhood> made = create(machine, edges);
      check_knowledge(*machine, edges, made);
      check_trees(edges, made);
    } catch (const std::exception& error) {
      testing::fail_check(__FILE__, __LINE__, "seed ", seed, ", ", size, " ranks, ", regions, ": ",
                          error.what());
    }
  }
}

TEST(creation_finds_edges_that_one_end_does_not_know) {
  for (const int size : {2, 9, 130}) {
    for (int culprit = 0; culprit < size; culprit += 7) {
      Edges edges = ring(size);
      const int to = (culprit + 3) % size;
      edges.destinations[static_cast<std::size_t>(culprit)].push_back(to);
      const bool neighbours = to == (culprit + 1) % size;
      std::ostringstream expected;
      expected << "rank " << culprit << " has " << (neighbours ? "2 edges" : "1 edge")
               << " to rank " << to << ", but rank " << to << " has "
               << (neighbours ? "1 edge" : "0 edges") << " from rank " << culprit
               << "; both ends of a graph's edges must name them, and equally often";
      for (const Outcome& outcome :
           create(blocks(size, 4), edges, [](int) { return Premises{}; })) {
        CHECK_EQUAL(name(error_of(outcome).fault()), std::string("count"));
        CHECK_EQUAL(std::string(error_of(outcome).what()), expected.str());
      }
    }
  }
}

TEST(creation_names_each_end_its_own_edges) {
  Edges edges = ring(20);
  edges.sources[3].push_back(17);        // rank 17 has no edge to 3
  edges.destinations[8].push_back(9);    // a second edge, unknown to rank 9
  edges.destinations[12].push_back(12);  // to itself, without a source
  const auto outcomes = create(blocks(20, 5), edges, [](int) { return Premises{}; });
  const auto text = [&](std::size_t rank) { return std::string(error_of(outcomes[rank]).what()); };
  for (const std::size_t rank : {3, 17}) {
    CHECK(text(rank).starts_with(
        "rank 17 has 0 edges to rank 3, but rank 3 has 1 edge from rank 17;"));
  }
  for (const std::size_t rank : {0, 8, 9, 19}) {
    CHECK(
        text(rank).starts_with("rank 8 has 2 edges to rank 9, but rank 9 has 1 edge from rank 8;"));
  }
  CHECK(
      text(12).starts_with("rank 12 has 1 edge to rank 12, but rank 12 has 0 edges from rank 12;"));
}

TEST(creation_finds_random_odd_edges_wherever_they_are) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomPatterns random(seed);
    const int size = random.between(2, 130);
    Edges edges = random_edges(random, size);
    const int rank = random.between(0, size - 1), peer = random.between(0, size - 1);
    const bool source = random.chance(0.5);
    auto& side = (source ? edges.sources : edges.destinations)[static_cast<std::size_t>(rank)];
    const auto known = std::find(side.begin(), side.end(), peer);
    if (known != side.end() && random.chance(0.5)) {
      side.erase(known);
    } else {
      side.push_back(peer);
    }
    const int from = source ? peer : rank, to = source ? rank : peer;
    std::ostringstream expected;
    expected << " to rank " << to << ", but rank " << to << " has ";
    const auto outcomes =
        create(random.machine(size).machine, edges, [](int) { return Premises{}; });
    for (const Outcome& outcome : outcomes) {
      const std::string text = error_of(outcome).what();
      CHECK(text.starts_with("rank " + std::to_string(from) + " has "));
      CHECK(text.find(expected.str()) != std::string::npos);
    }
  }
}

TEST(creation_names_a_setting_that_differs) {
  for (const int size : {2, 9, 66}) {
    for (int culprit = 1; culprit < size; culprit += 8) {
      for (const bool second : {false, true}) {
        const auto outcomes = create(blocks(size, 3), ring(size), [&](int rank) {
          const bool odd = rank == culprit || rank == size - 1;
          return with_settings(odd && !second ? "direct" : "aggregate",
                               odd && second ? "100" : "65536");
        });
        std::ostringstream expected;
        expected << (second ? "vicinal_split_bytes is '65536'" : "vicinal_strategy is 'aggregate'")
                 << " on rank 0, but " << (second ? "'100'" : "'direct'") << " on rank " << culprit
                 << "; all ranks must give the same";
        for (const Outcome& outcome : outcomes) {
          CHECK_EQUAL(name(error_of(outcome).fault()), std::string("info"));
          CHECK(std::string(error_of(outcome).what()).starts_with(expected.str()));
        }
      }
    }
  }
}

TEST(creation_tells_everybody_of_a_fault_on_one_rank) {
  for (const int size : {1, 2, 9, 70}) {
    for (int culprit = 0; culprit < size; culprit += 5) {
      Edges edges = ring(size);
      edges.destinations[static_cast<std::size_t>(culprit)] = {-5, 1 << 30};
      const auto outcomes = create(blocks(size, 4), edges, [&](int rank) {
        Premises premises = with_settings(rank == culprit ? "direct" : "split", "1");
        if (rank == culprit) premises.fault = Error(Fault::rank, "a source is rank -3");
        return premises;
      });
      for (int rank = 0; rank < size; ++rank) {
        const Error& error = error_of(outcomes[static_cast<std::size_t>(rank)]);
        if (rank == culprit) {
          CHECK_EQUAL(std::string(error.what()), "a source is rank -3");
          continue;
        }
        CHECK_EQUAL(name(error.fault()), std::string("remote"));
        CHECK(std::string(error.what())
                  .starts_with("creating the graph failed because of a rank fault on rank " +
                               std::to_string(culprit)));
      }
    }
  }
}

TEST(creation_takes_few_messages) {
  // One message up and one down for each rank but the first, and one to each member of the region.
  const int size = 512, members = 4;
  const Edges edges = ring(size);
  const auto machine = blocks(size, members);
  const auto messages = run_virtual<std::size_t>(size, [&](int rank, Conversation& talk) {
    return [](Conversation& mine, auto graph) -> Task<std::size_t> {
      co_await std::move(graph);
      co_return mine.messages_sent();
    }(talk, make_neighborhood(talk, machine, rank, edges.sources[static_cast<std::size_t>(rank)],
                              edges.destinations[static_cast<std::size_t>(rank)]));
  });
  CHECK_EQUAL(std::accumulate(messages.begin(), messages.end(), std::size_t{0}),
              static_cast<std::size_t>(2 * (size - 1) + members * size));
}

}  // namespace vicinal::creation_tests
