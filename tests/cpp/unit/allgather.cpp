// Tests the allgather planners on virtual ranks: the verifier proves plans for many machines; also
// message counts and faults.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "allgathers.hpp"
#include "check.hpp"
#include "plan/checks.hpp"

namespace vicinal::allgather_tests {
namespace {

using namespace testing;

const std::vector<std::string>& algorithms() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found{"automatic"};
    for (const Planner& planner : planners()) {
      if (planner.complete_only) found.emplace_back(planner.name);
    }
    return found;
  }();
  return names;
}

void prove(const std::shared_ptr<const Machine>& machine, const std::vector<Index>& counts,
           Index gap, const std::string& what) {
  const std::vector<Pattern> patterns = allgather_patterns(counts, gap);
  for (const std::string& name : algorithms()) {
    for (const bool shared : {true, false}) {
      try {
        verify(planned_allgather(name, machine, patterns, allgather_options(shared)), patterns);
      } catch (const Error& error) {
        std::string text = name;
        text.append(", ").append(what).append(shared ? ", shared: " : ", messages: ");
        throw std::runtime_error(text.append(error.what()));
      }
    }
  }
}

void prove_random(int size, unsigned first_seed, unsigned last_seed) {
  for (unsigned seed = first_seed; seed < last_seed; ++seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<Index> count(0, 3);
    std::vector<Index> counts(static_cast<std::size_t>(size), 2);
    if (seed % 2 == 0) std::generate(counts.begin(), counts.end(), [&] { return count(random); });
    prove(random_machine(size, seed), counts, seed % 3 == 0 ? 1 : 0,
          "seed " + std::to_string(seed));
  }
}

/// The largest number of messages that one rank sends to other regions, and inside its own.
struct Most {
  std::int64_t non_local = 0, local = 0;
  Index elements = 0;  ///< sent to other regions
};

Most most_sent(const std::string& planner, const std::shared_ptr<const Machine>& machine,
               bool shared) {
  const std::vector<Index> counts(static_cast<std::size_t>(machine->size()), 1);
  Most most;
  for (const Plan& plan :
       planned_allgather(planner, machine, allgather_patterns(counts), allgather_options(shared))) {
    const Statistics sent = statistics(plan);
    most.non_local = std::max(most.non_local, sent.non_local.messages);
    most.local = std::max(most.local, sent.local.messages);
    most.elements = std::max(most.elements, sent.non_local.elements);
  }
  return most;
}

}  // namespace

TEST(allgathers_on_one_to_five_ranks) {
  for (const int size : {1, 2, 3, 4, 5}) prove_random(size, 0, 30);
}
TEST(allgathers_on_seven_to_sixteen_ranks) {
  for (const int size : {7, 8, 12, 16}) prove_random(size, 100, 120);
}
TEST(allgathers_on_forty_ranks) { prove_random(40, 200, 204); }

TEST(allgathers_over_regions_of_all_sizes) {
  for (const int size : {6, 9, 24}) {
    const std::vector<Index> counts(static_cast<std::size_t>(size), 2);
    for (const int region : {1, 2, 3, 4, 5, size}) {
      for (const int host : std::set{1, 2, region, size}) {
        for (const int inner : {0, 2}) {
          prove(block_machine(size, region, host, inner), counts, 0,
                std::to_string(size) + " ranks, regions of " + std::to_string(region) +
                    ", hosts of " + std::to_string(host) + ", inner " + std::to_string(inner));
        }
      }
    }
  }
}

TEST(allgather_on_many_ranks_in_regions_of_unequal_size) {
  std::vector<int> regions;
  for (int region = 0; regions.size() < 250; ++region) {
    for (int i = 0; i < 1 + region * 7 % 12; ++i) regions.push_back(region);
  }
  const std::vector<Index> counts(regions.size(), 1);
  const std::vector<Pattern> patterns = allgather_patterns(counts);
  const auto machine = std::make_shared<const Machine>(regions, regions);
  for (const char* name : {"locality-bruck", "multi-lane", "hierarchical"}) {
    verify(planned_allgather(name, machine, patterns, allgather_options(true)), patterns);
  }
}

TEST(locality_bruck_sends_one_message_per_step_between_regions) {
  // If the number of regions is a power of their size, as in the paper: log of r to base p_l.
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(16, 4, 4), true).non_local, 1);
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(64, 4, 4), true).non_local, 2);
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(256, 4, 4), true).non_local, 3);
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(512, 8, 8), true).non_local, 2);
  // Example 2.1 of the paper: each rank sends four values; Bruck's algorithm sends 15 in four
  // messages.
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(16, 4, 4), true).elements, 4);
  CHECK_EQUAL(most_sent("bruck", block_machine(16, 4, 4), true).non_local, 4);
  CHECK_EQUAL(most_sent("bruck", block_machine(16, 4, 4), true).elements, 15);
  // For other numbers of regions, the logarithm is rounded up.
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(40, 8, 8), true).non_local, 1);
  CHECK_EQUAL(most_sent("locality-bruck", block_machine(12 * 6, 6, 6), true).non_local, 2);
  // The order of ranks does not matter.
  std::vector<int> dealt;
  for (int rank = 0; rank < 64; ++rank) dealt.push_back(rank % 16);
  const auto round_robin = std::make_shared<const Machine>(dealt, dealt);
  CHECK_EQUAL(most_sent("locality-bruck", round_robin, true).non_local, 2);
  CHECK_EQUAL(most_sent("bruck", round_robin, true).non_local, 4);
}

TEST(locality_bruck_leaves_the_first_of_a_region_to_its_region) {
  const std::vector<Index> counts(16, 1);
  const auto plans = planned_allgather("locality-bruck", block_machine(16, 4, 4),
                                       allgather_patterns(counts), allgather_options(true));
  for (const Plan& plan : plans) {
    CHECK_EQUAL(statistics(plan).non_local.messages, plan.rank % 4 == 0 ? 0 : 1);
  }
}

TEST(every_block_enters_a_region_once_by_locality) {
  for (const char* name : {"locality-bruck", "hierarchical", "multi-lane"}) {
    const auto machine = block_machine(48, 6, 6);
    const std::vector<Index> counts(48, 1);
    Index crossing = 0;
    for (const Plan& plan :
         planned_allgather(name, machine, allgather_patterns(counts), allgather_options(true))) {
      const Statistics sent = statistics(plan);
      crossing += sent.non_local.elements;
      CHECK_EQUAL(sent.local.messages, 0);  // regions use shared memory
    }
    CHECK_EQUAL(crossing, 8 * (48 - 6));
  }
}

TEST(inner_regions_take_each_block_once) {
  // 4 nodes of 8 ranks with two NUMA domains each. A block that has arrived at a node crosses to
  // its other domain once and is shared there. Without inner regions, each rank reads it
  // separately.
  const auto crossings = [](const std::shared_ptr<const Machine>& machine) {
    const std::vector<Index> counts(32, 1);
    const auto plans = planned_allgather("locality-bruck", machine, allgather_patterns(counts),
                                         allgather_options(true));
    Index crossing = 0;
    for (const Plan& plan : plans) {
      for (const Operation& it : plan.operations) {
        if (it.kind != OperationKind::copy) continue;
        const Buffer& from = plan.buffers[static_cast<std::size_t>(it.from)];
        if (from.space != Space::shared || from.peer_index < 0) continue;
        if (from.owner / 4 != plan.rank / 4) crossing += total(it.runs);
      }
    }
    return crossing;
  };
  CHECK_EQUAL(crossings(block_machine(32, 8, 8, 4)), 8 * 16);
  CHECK_EQUAL(crossings(block_machine(32, 8, 8)), 4 * 8 * 16);
}

TEST(allgathers_with_counts_that_differ_are_refused) {
  for (const std::string& name : algorithms()) {
    std::vector<Pattern> patterns = allgather_patterns({3, 3, 3, 3});
    patterns[2].in[1].count = 2;
    patterns[2].in[1].slots[0].count = 2;
    const auto machine = block_machine(4, 2, 2);
    CHECK_THROWS(
        Fault::count, planned_allgather(name, machine, patterns, allgather_options(true)),
        "the block of rank 1 in this allgather is '3 elements' on rank 0, but '2 elements' on "
        "rank 2");
    patterns = allgather_patterns({3, 3, 3, 3});
    for (OutEdge& edge : patterns[1].out) edge.items[0].count = 4;
    CHECK_THROWS(Fault::count, planned_allgather(name, machine, patterns, allgather_options(true)),
                 "sends 4 elements");
  }
}

TEST(allgathers_with_counts_that_would_go_another_way_are_refused) {
  // One rank gets counts for which another planner is the fastest. It would wait for control
  // messages that no rank sends.
  const auto machine = block_machine(32, 8, 8);
  const std::vector<Index> small(32, 8);
  for (const Index block : {Index{1}, Index{1} << 10, Index{1} << 16, Index{1} << 20}) {
    const std::vector<Index> large(32, block);
    const auto planner = [&](const std::vector<Index>& counts) {
      const auto plans = planned_allgather("automatic", machine, allgather_patterns(counts),
                                           allgather_options(true));
      return plans.front().planner;
    };
    if (block >= 1 << 16) CHECK(planner(small) != planner(large));
    for (const std::size_t odd : {std::size_t{0}, std::size_t{13}, std::size_t{31}}) {
      std::vector<Pattern> patterns = allgather_patterns(small);
      patterns[odd] = allgather_patterns(large)[odd];
      CHECK_THROWS(Fault::count,
                   planned_allgather("automatic", machine, patterns, allgather_options(true)),
                   "the block of rank 0 in this allgather is");
    }
  }
}

TEST(allgather_planners_refuse_other_patterns) {
  PlanOptions options = allgather_options(true);
  options.complete = false;
  CHECK_THROWS(Fault::info, require_serves(find_planner("bruck"), options),
               "'bruck' serves allgathers over a whole communicator only");
  options = allgather_options(true);
  options.one_block = false;
  CHECK_THROWS(Fault::info, require_serves(find_planner("ring"), options),
               "'ring' serves allgathers only");
}

}  // namespace vicinal::allgather_tests
