// Tests cascade: its paths, the data sent along them, and the chosen radix. The tests of halving
// also verify cascade plans for many graphs and regions.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "block_graphs.hpp"
#include "check.hpp"
#include "cost/price.hpp"
#include "negotiate/planner.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "planners/cascade/choice.hpp"
#include "planners/cascade/paths.hpp"
#include "random_patterns.hpp"

namespace vicinal::cascade_tests {
namespace {

using cascade::Paths;
using testing::block_patterns;
using testing::OutEdges;
using testing::random_graph;
using testing::RandomPatterns;

using SharedMachine = std::shared_ptr<const Machine>;

SharedMachine blocks(int size, int per_region) {
  std::vector<int> labels;
  for (int rank = 0; rank < size; ++rank) labels.push_back(rank / per_region);
  return std::make_shared<const Machine>(labels, labels);
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<Plan> plan(const SharedMachine& machine, const std::vector<Pattern>& patterns,
                       const PlanOptions& options, const char* planner = "cascade") {
  std::vector<Plan> plans;
  for (Plans& each : plan_virtually(find_planner(planner), machine, patterns, options)) {
    plans.push_back(std::move(each.forward));
  }
  return plans;
}

PlanOptions options_with(int radix, bool shared_memory = true) {
  PlanOptions options;
  options.one_block = true;
  options.radix = radix;
  options.shared_memory = shared_memory;
  return options;
}

struct Sent {
  int messages = 0;  ///< to other regions
  Index elements = 0;
};

/// Returns what each region sends to other regions.
std::map<int, Sent> sent_by_regions(const std::vector<Plan>& plans, const Machine& machine) {
  std::map<int, Sent> sent;
  for (const Plan& each : plans) {
    for (const Operation& it : each.operations) {
      if (it.kind != OperationKind::send || machine.same_region(it.peer, each.rank)) continue;
      Sent& mine = sent[machine.region_of(each.rank)];
      ++mine.messages;
      mine.elements += it.count;
    }
  }
  return sent;
}

/// Allgather of one element among all ranks.
std::vector<Pattern> among_all(int size) {
  OutEdges graph(static_cast<std::size_t>(size));
  for (auto& destinations : graph) destinations = all_ranks(size);
  return block_patterns(graph, [](int) { return Index{1}; });
}

}  // namespace

TEST(paths_go_by_the_digits_of_distances) {
  // The example in paths.hpp: 6 regions of one rank, radix 3.
  const auto machine = blocks(6, 1);
  const Paths first(*machine, 0, all_ranks(6), 3);
  CHECK_EQUAL(first.steps(), 2);
  CHECK((first.takers(0) == std::vector<int>{1, 2}));
  CHECK((first.givers(0) == std::vector<int>{5, 4}));
  CHECK((first.takers(1) == std::vector<int>{3}));
  CHECK_EQUAL(first.taker(0, 4), 1);
  CHECK_EQUAL(first.taker(0, 5), 2);
  CHECK_EQUAL(first.taker(0, 3), -1);
  CHECK_EQUAL(first.taker(1, 3), 3);
  const Paths second(*machine, 1, all_ranks(6), 3);
  CHECK_EQUAL(second.taker(1, 4), 4);
  CHECK_EQUAL(second.taker(1, 1), -1);
}

TEST(members_share_the_values_of_digits_out) {
  // Regions of 3, 1 and 2 ranks; rank 1 does not participate.
  const Machine machine({0, 0, 0, 1, 2, 2}, {0, 0, 0, 1, 2, 2});
  const std::vector<int> ranks{0, 2, 3, 4, 5};
  const Paths of_0(machine, 0, ranks, 4), of_2(machine, 2, ranks, 4);
  CHECK_EQUAL(of_0.steps(), 2);
  // Rank 0 sends data that move one region on, rank 2 data that move two. Before, they hand each
  // other their parts.
  CHECK((of_0.takers(0) == std::vector<int>{2} && of_0.givers(0) == std::vector<int>{2}));
  CHECK_EQUAL(of_0.taker(0, 2), 2);
  CHECK_EQUAL(of_0.taker(0, 1), -1);
  CHECK_EQUAL(of_0.taker(1, 1), 3);
  CHECK_EQUAL(of_2.taker(1, 2), 5);
  CHECK((of_0.takers(1) == std::vector<int>{3} && of_2.takers(1) == std::vector<int>{5}));
}

TEST(both_ends_of_each_path_know_of_it) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomPatterns random(seed);
    const int size = 2 + static_cast<int>(seed);
    const auto [machine, regions] = random.machine(size);
    std::vector<int> ranks;
    for (int rank = 0; rank < size; ++rank) {
      if (random.chance(0.8)) ranks.push_back(rank);
    }
    for (const int radix : {2, 3, 5, 64}) {
      std::map<int, Paths> paths;
      for (const int rank : ranks) paths.try_emplace(rank, *machine, rank, ranks, radix);
      std::multiset<std::vector<int>> to, from;  // step, giver, taker
      for (const auto& [rank, it] : paths) {
        CHECK_EQUAL(it.steps(), paths.at(ranks.front()).steps());
        for (int step = 0; step < it.steps(); ++step) {
          for (const int taker : it.takers(step)) to.insert({step, rank, taker});
          for (const int giver : it.givers(step)) from.insert({step, giver, rank});
        }
      }
      CHECK(to == from);
      // Data for a region arrive there after the last step.
      for (const auto& [rank, unused] : paths) {
        for (const int other : ranks) {
          int holder = rank;
          for (int step = 0; step < paths.at(rank).steps(); ++step) {
            const int taker = paths.at(holder).taker(step, machine->region_of(other));
            if (taker >= 0) holder = taker;
          }
          CHECK(machine->same_region(holder, other));
        }
      }
    }
  }
}

TEST(regions_send_as_many_messages_as_there_are_values_of_digits) {
  const int size = 64, per_region = 4, regions = size / per_region;
  const auto machine = blocks(size, per_region);
  const auto patterns = among_all(size);
  const std::map<int, int> expected{{2, 4}, {4, 6}, {16, 15}};  // by radix
  for (const auto& [radix, messages] : expected) {
    const auto plans = plan(machine, patterns, options_with(radix));
    verify(plans, patterns);
    for (const auto& [region, sent] : sent_by_regions(plans, *machine)) {
      CHECK_EQUAL(sent.messages, messages);
      // Each other region gets each item once, over any path. All regions send equally much.
      CHECK_EQUAL(sent.elements, per_region * (regions - 1));
    }
  }
}

TEST(cascades_of_all_radices_are_right) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    RandomPatterns random(seed);
    const int size = 3 + static_cast<int>(seed);
    const auto [machine, regions] = random.machine(size);
    const auto patterns = random.make(size, seed % 2 == 0, seed % 3 == 0 ? 0.7 : 0.15);
    for (const int radix : {2, 3, 7}) {
      PlanOptions options = options_with(radix, seed % 4 != 0);
      options.one_block = false;
      options.with_reverse = true;
      std::vector<Plan> forward, reverse;
      for (Plans& each : plan_virtually(find_planner("cascade"), machine, patterns, options)) {
        forward.push_back(std::move(each.forward));
        reverse.push_back(std::move(*each.reverse));
      }
      verify(forward, patterns);
      verify(reverse, patterns);
    }
  }
}

/// Returns the price with the chosen radix, relative to the best of several.
double regret(const SharedMachine& machine, double density, Index block) {
  const auto patterns =
      block_patterns(random_graph(machine->size(), density, 3), [](int) { return Index{1}; });
  const auto seconds = [&](int radix) {
    PlanOptions options = options_with(radix);
    options.element_bytes = block;
    return price(plan(machine, patterns, options), *machine, options.profile, block).seconds;
  };
  double best = seconds(2);
  for (const int radix : {3, 4, 6, 8, 11, 16, 32, 64}) {
    if (radix < 2 * machine->regions()) best = std::min(best, seconds(radix));
  }
  return seconds(0) / best;
}

TEST(the_radix_is_chosen_near_the_best) {
  testing::skip_if_sanitized();
  for (const int per_region : {1, 4}) {
    for (const double density : {0.05, 0.5}) {
      for (const Index block : {32, 4096}) {
        const double of_it = regret(blocks(64 * per_region, per_region), density, block);
        CHECK(of_it < 1.5);
      }
    }
  }
}

}  // namespace vicinal::cascade_tests
