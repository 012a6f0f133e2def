// Tests the common-neighbor planner on virtual ranks: the verifier proves plans of many graphs;
// also message counts and faults.
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include "check.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "random_patterns.hpp"

namespace vicinal::common_neighbor_tests {
namespace {

using testing::RandomPatterns;

/// Returns an allgather: rank r sends its block of `block` elements along each of its edges.
std::vector<Pattern> allgather(int size, Index block, const std::function<bool(int, int)>& edge) {
  std::vector<Pattern> patterns(static_cast<std::size_t>(size));
  for (Pattern& pattern : patterns) pattern.identity = true;
  for (int to = 0; to < size; ++to) {
    Pattern& receiver = patterns[static_cast<std::size_t>(to)];
    for (int from = 0; from < size; ++from) {
      if (!edge(from, to)) continue;
      patterns[static_cast<std::size_t>(from)].out.push_back({to, {{0, 0, block}}});
      const Index slot = static_cast<Index>(receiver.in.size()) * block;
      receiver.in.push_back({from, block, {{0, slot, block}}});
    }
  }
  return patterns;
}

std::shared_ptr<const Machine> blocks(int size, int region_size, int host_size) {
  std::vector<int> regions, hosts;
  for (int rank = 0; rank < size; ++rank) {
    regions.push_back(rank / region_size);
    hosts.push_back(rank / host_size);
  }
  return std::make_shared<const Machine>(regions, hosts);
}

std::vector<Plan> planned(std::shared_ptr<const Machine> machine,
                          const std::vector<Pattern>& patterns, const PlanOptions& options) {
  std::vector<Plan> result;
  for (Plans& plans :
       plan_virtually(find_planner("common-neighbor"), std::move(machine), patterns, options)) {
    result.push_back(std::move(plans.forward));
  }
  return result;
}

void plan_and_verify(const std::shared_ptr<const Machine>& machine,
                     const std::vector<Pattern>& patterns, const std::string& what) {
  for (const int group_size : {0, 1, 2, 3, 8}) {
    for (const bool shared : {true, false}) {
      PlanOptions options;
      options.group_size = group_size;
      options.shared_memory = shared;
      try {
        verify(planned(machine, patterns, options), patterns);
      } catch (const Error& error) {
        std::ostringstream text;
        text << what << ", groups of " << group_size << (shared ? ", shared" : ", messages") << ": "
             << error.what();
        throw std::runtime_error(text.str());
      }
    }
  }
}

void plan_random(int size, unsigned first_seed, unsigned last_seed) {
  for (unsigned seed = first_seed; seed < last_seed; ++seed) {
    RandomPatterns random(seed);
    const auto [machine, regions] = random.machine(size);
    const std::string what = "seed " + std::to_string(seed) + ", regions " + regions;
    plan_and_verify(machine, random.make(size, seed % 2 == 0, random.chance(0.5) ? 0.7 : 0.2),
                    what);
    const double density = random.chance(0.5) ? 0.6 : 0.15;
    plan_and_verify(
        machine,
        allgather(size, random.between(0, 5), [&](int, int) { return random.chance(density); }),
        what + ", allgather");
  }
}

struct Sent {
  Index messages = 0;
  Index elements = 0;
  friend bool operator==(const Sent&, const Sent&) = default;
};

std::vector<Sent> sent_between_regions(const std::vector<Plan>& plans) {
  std::vector<Sent> sent;
  for (const Plan& plan : plans) {
    const Traffic traffic = statistics(plan).non_local;
    sent.push_back({traffic.messages, traffic.elements});
  }
  return sent;
}

/// Returns the error of each rank, if any.
std::vector<std::optional<Error>> outcomes(const std::shared_ptr<const Machine>& machine,
                                           const std::vector<Pattern>& patterns, int failed_rank,
                                           const PlanOptions& options,
                                           std::vector<std::unique_ptr<Site>> sites = {}) {
  const int size = machine->size();
  const auto neighborhoods = run_virtual<Neighborhood>(size, [&](int rank, Conversation& talk) {
    const Pattern& pattern = patterns[static_cast<std::size_t>(rank)];
    std::vector<int> sources, destinations;
    for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
    for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
    return make_neighborhood(talk, machine, rank, std::move(sources), std::move(destinations));
  });
  for (auto i = sites.size(); i < static_cast<std::size_t>(size); ++i) {
    sites.push_back(std::make_unique<VirtualSite>());
  }
  using Outcome = std::optional<Error>;
  const auto plan = [&](PlanRequest request) -> Task<Outcome> {
    Outcome outcome;
    try {
      co_await find_planner("common-neighbor").plan(std::move(request));
    } catch (const Error& fault) {
      if (!fault.is_on_all_ranks()) throw;
      outcome = fault;
    }
    co_return outcome;
  };
  return run_virtual<Outcome>(size, [&](int rank, Conversation& talk) {
    const auto i = static_cast<std::size_t>(rank);
    std::optional<Error> fault;
    if (rank == failed_rank) fault = Error(Fault::count, "a count of -1");
    return plan(PlanRequest{talk, *sites[i], neighborhoods[i], patterns[i], options, fault});
  });
}

}  // namespace

TEST(common_neighbor_on_one_to_four_ranks) {
  plan_random(1, 0, 10);
  plan_random(2, 20, 60);
  plan_random(3, 100, 120);
  plan_random(4, 150, 170);
}
TEST(common_neighbor_on_seven_and_sixteen_ranks) {
  plan_random(7, 200, 230);
  plan_random(16, 300, 320);
}
TEST(common_neighbor_on_forty_ranks) { plan_random(40, 400, 403); }

TEST(common_neighbor_on_graphs_of_special_shapes) {
  const auto shapes = [](int size) {
    return std::vector<std::pair<const char*, std::function<bool(int, int)>>>{
        {"empty", [](int, int) { return false; }},
        {"star outward", [](int from, int) { return from == 1; }},
        {"star inward", [](int, int to) { return to == 1; }},
        {"clique", [](int from, int to) { return from != to; }},
        {"clique with self-edges", [](int, int) { return true; }},
        {"upward only", [](int from, int to) { return from < to; }},
        {"lower half to upper half",
         [size](int from, int to) { return from < size / 2 && to >= size / 2; }},
        {"two cliques", [](int from, int to) { return from % 2 == to % 2; }},
        {"ring", [size](int from, int to) { return (from + 1) % size == to; }},
    };
  };
  for (const int size : {5, 12}) {
    for (const auto& [name, edge] : shapes(size)) {
      for (const int region : {1, 3, 4, size}) {
        for (const int host : {1, 4, size}) {
          plan_and_verify(blocks(size, region, host), allgather(size, 3, edge), name);
        }
      }
    }
  }
}

TEST(common_neighbor_divides_the_messages_of_a_group) {
  // Two regions of four ranks. Each rank of the first sends to each rank of the second: 16 edges.
  const auto machine = blocks(8, 4, 8);
  const auto patterns = allgather(8, 10, [](int from, int to) { return from < 4 && to >= 4; });
  const auto sent = [&](int group_size, bool shared = true) {
    PlanOptions options;
    options.group_size = group_size;
    options.shared_memory = shared;
    const auto plans = planned(machine, patterns, options);
    verify(plans, patterns);
    const auto all = sent_between_regions(plans);
    CHECK(std::all_of(all.begin() + 4, all.end(), [](const Sent& it) { return it == Sent{}; }));
    return std::vector<Sent>(all.begin(), all.begin() + 4);
  };
  CHECK(sent(1) == std::vector<Sent>(4, {4, 40}));  // one message for each edge
  CHECK(sent(2) == std::vector<Sent>(4, {2, 40}));  // two pairs: each rank sends two, of 2 blocks
  CHECK(sent(4) == std::vector<Sent>(4, {1, 40}));  // one each, of 4 blocks
  CHECK(sent(8) == std::vector<Sent>(4, {1, 40}));
  CHECK(sent(4, false) == std::vector<Sent>(4, {1, 40}));
  CHECK(sent(0) == std::vector<Sent>(4, {1, 40}));  // short blocks: the cost model prefers this
}

TEST(common_neighbor_hands_a_block_over_once) {
  // Each rank sends to all eight ranks of the other region. In a pair, each member delivers to four
  // of them.
  const auto patterns = allgather(10, 10, [](int from, int to) { return from < 2 && to >= 2; });
  std::vector<int> regions(10, 1);
  regions[0] = regions[1] = 0;
  const auto machine = std::make_shared<const Machine>(regions, std::vector<int>(10, 0));
  PlanOptions options;
  options.group_size = 2;
  options.shared_memory = false;
  const auto plans = planned(machine, patterns, options);
  verify(plans, patterns);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Statistics of_rank = statistics(plans[rank]);
    CHECK_EQUAL(of_rank.local.messages, 1);
    CHECK_EQUAL(of_rank.local.elements, 10);
    CHECK_EQUAL(of_rank.non_local.messages, 4);
    CHECK_EQUAL(of_rank.non_local.elements, 80);
    CHECK_EQUAL(of_rank.copied_elements, 20);  // each assembles one message and sends it four times
  }
}

TEST(common_neighbor_serves_edges_of_one_region_directly) {
  const auto patterns = allgather(4, 5, [](int from, int to) { return from != to; });
  const auto machine = blocks(4, 4, 4);
  const auto plans = planned(machine, patterns, {});
  verify(plans, patterns);
  PlanOptions without;
  without.shared_memory = false;
  const auto by_message = planned(machine, patterns, without);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK_EQUAL(statistics(plans[rank]).local.messages, 0);
    CHECK_EQUAL(statistics(by_message[rank]).local.messages, 3);
    CHECK_EQUAL(statistics(by_message[rank]).local.elements, 15);
  }
}

TEST(common_neighbor_ends_on_all_ranks_when_one_has_failed) {
  const auto machine = blocks(12, 4, 6);
  const auto patterns = allgather(12, 3, [](int from, int to) {
    return from / 4 == to / 4 || from / 4 + 1 == to / 4;  // a chain of regions
  });
  for (int failed_rank = 0; failed_rank < 12; ++failed_rank) {
    for (const bool shared : {true, false}) {
      PlanOptions options;
      options.group_size = 3;
      options.shared_memory = shared;
      const auto ends = outcomes(machine, patterns, failed_rank, options);
      for (int rank = 0; rank < 12; ++rank) {
        const auto& end = ends[static_cast<std::size_t>(rank)];
        const bool hears = std::abs(rank / 4 - failed_rank / 4) <= 1;
        CHECK_EQUAL(end.has_value(), hears);
        if (!hears) continue;
        CHECK(end->fault() == (rank == failed_rank ? Fault::count : Fault::elsewhere));
      }
    }
  }
}

TEST(common_neighbor_names_counts_that_differ) {
  const auto machine = blocks(8, 4, 8);
  auto patterns = allgather(8, 4, [](int, int) { return true; });
  // Rank 6 expects less from rank 1, which another member may deliver. Rank 2 expects less from
  // itself.
  patterns[6].in[1].count = 3;
  patterns[6].in[1].slots = {{0, 4, 3}};
  patterns[2].in[2].count = 0;
  patterns[2].in[2].slots.clear();
  for (const int group_size : {1, 4}) {
    PlanOptions options;
    options.group_size = group_size;
    const auto ends = outcomes(machine, patterns, -1, options);
    for (std::size_t rank = 0; rank < 8; ++rank) {
      CHECK_EQUAL(ends[rank].has_value(), rank == 1 || rank == 6 || rank == 2);
    }
    for (const std::size_t end : {1, 6}) {
      CHECK(ends[end]->fault() == Fault::count);
      CHECK(std::string(ends[end]->what())
                .find("the edge from rank 1 to rank 6 differ: rank 1 sends 4 elements, but rank 6 "
                      "expects 3") != std::string::npos);
    }
    CHECK(std::string(ends[2]->what()).find("the edge from rank 2 to rank 2 differ") !=
          std::string::npos);
  }
}

TEST(common_neighbor_settles_when_slots_or_tags_run_out) {
  class Exhausted final : public Site {
   public:
    std::int64_t new_tag() override { fail(Fault::memory, "no more tags"); }
    std::int64_t new_slot(int) override { fail(Fault::memory, "no more slots"); }
  };
  const auto machine = blocks(8, 4, 8);
  const auto patterns = allgather(8, 4, [](int from, int to) { return from != to; });
  for (const bool shared : {true, false}) {
    PlanOptions options;
    options.group_size = 4;
    options.shared_memory = shared;
    std::vector<std::unique_ptr<Site>> sites;
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == 3) {
        sites.push_back(std::make_unique<Exhausted>());
      } else {
        sites.push_back(std::make_unique<VirtualSite>());
      }
    }
    const auto ends = outcomes(machine, patterns, -1, options, std::move(sites));
    CHECK(ends[3].has_value() && ends[3]->fault() == Fault::memory);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(ends[rank].has_value() && ends[rank]->fault() == Fault::elsewhere);
    }
  }
}

TEST(common_neighbor_plans_two_thousand_ranks) {
  testing::skip_if_sanitized();
  const int size = 2048;
  const auto machine = blocks(size, 32, 32);
  RandomPatterns random(7);
  const auto patterns =
      allgather(size, 1, [&](int from, int to) { return from != to && random.chance(0.05); });
  PlanOptions options;
  options.element_bytes = 8;
  const auto plans = planned(machine, patterns, options);
  verify(plans, patterns);
  Index direct = 0, combined = 0;
  for (int rank = 0; rank < size; ++rank) {
    for (const OutEdge& edge : patterns[static_cast<std::size_t>(rank)].out) {
      direct += machine->same_region(rank, edge.rank) ? 0 : 1;
    }
    combined += statistics(plans[static_cast<std::size_t>(rank)]).non_local.messages;
  }
  // All 32 ranks of a region form one group. It reaches 1 - 0.95^32 = 80.6 % of the others, with
  // one message each.
  CHECK(direct > 200000);
  const double expected = 64 * (1 - std::pow(0.95, 32)) * (size - 32);
  CHECK(std::abs(static_cast<double>(combined) - expected) < 0.01 * expected);
}

}  // namespace vicinal::common_neighbor_tests
