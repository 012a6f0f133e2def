// Tests partitioned plans of every planner: correct plans are accepted, and data travel in as many
// messages as possible. The verifier refuses a plan in which an operation does not wait for its
// partition.
#include "plan/partitions.hpp"

#include <algorithm>
#include <sstream>

#include "../check.hpp"
#include "../random_patterns.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "plan/placement.hpp"

namespace vicinal::partitions_tests {
namespace {

using testing::RandomPatterns;
using Kind = OperationKind;

/// Returns a number of partitions that divides `count`.
int divisor(RandomPatterns& random, Index count) {
  if (count == 0) return random.between(1, 3);
  const int least = random.between(1, static_cast<int>(count));
  int partitions = least;
  while (count % partitions != 0) ++partitions;
  return partitions;
}

/// Returns random patterns with a separate position for each edge's items, and different partitions
/// at the two ends.
std::vector<Pattern> in_partitions(RandomPatterns& random, int size) {
  auto patterns = random.make(size, false, 0.5);
  for (Pattern& pattern : patterns) {
    Index place = 0;
    for (OutEdge& edge : pattern.out) {
      for (ItemRun& run : edge.items) {
        run.identity = run.position = place;
        place += run.count + random.between(0, 1);
      }
      edge.partitions = divisor(random, item_count(edge));
    }
    for (InEdge& edge : pattern.in) edge.partitions = divisor(random, edge.count);
  }
  return patterns;
}

std::vector<Plan> plan(const char* planner, std::shared_ptr<const Machine> machine,
                       const std::vector<Pattern>& patterns, bool shared_memory = true) {
  PlanOptions options;
  options.partitioned = true;
  options.shared_memory = shared_memory;
  options.split_bytes = 16;
  std::vector<Plan> forward;
  for (Plans& plans :
       plan_virtually(find_planner(planner), std::move(machine), patterns, options)) {
    forward.push_back(std::move(plans.forward));
  }
  return forward;
}

/// Two ranks: one sends eight elements in four partitions, and the other receives them in two.
struct Pair {
  std::vector<Pattern> patterns = std::vector<Pattern>(2);
  std::vector<Plan> plans;

  Pair() {
    patterns[0].out = {{1, {{0, 3, 8}}, 4}};
    patterns[1].in = {{0, 8, {{0, 0, 8}}, 2}};
    plans = plan("direct", std::make_shared<const Machine>(std::vector{0, 1}, std::vector{0, 1}),
                 patterns);
  }
  std::vector<Operation*> all(int rank, Kind kind) {
    std::vector<Operation*> found;
    for (Operation& it : plans[static_cast<std::size_t>(rank)].operations) {
      if (it.kind == kind) found.push_back(&it);
    }
    return found;
  }
  void check_finding(const char* part) const {
    CHECK_THROWS(Fault::internal, verify(plans, patterns), part);
  }
};

/// Removes a predecessor from an operation; returns whether it had it.
bool forget(Operation& it, int before) { return std::erase(it.after, before) > 0; }

}  // namespace

TEST(partitions_by_every_planner_are_proved) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomPatterns random(seed);
    const int size = random.between(1, 9);
    const auto [machine, regions] = random.machine(size);
    const auto patterns = in_partitions(random, size);
    for (const Planner& planner : planners()) {
      if (!serves(planner, {})) continue;
      try {
        auto plans = plan(planner.name.data(), machine, patterns, seed % 3 != 0);
        verify(plans, patterns);
        for (Plan& each : plans) each = with_staged(each, Staged::messages);
        verify(plans, patterns);
      } catch (const Error& error) {
        testing::fail_check(__FILE__, __LINE__, planner.name, ", seed ", seed, ", regions ",
                            regions, ": ", error.what());
      }
    }
  }
}

TEST(direct_sends_each_partition_by_itself) {
  for (unsigned seed = 50; seed < 60; ++seed) {
    RandomPatterns random(seed);
    const auto [machine, regions] = random.machine(6);
    const auto patterns = in_partitions(random, 6);
    const auto plans = plan("direct", machine, patterns);
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      std::size_t partitions = 0, sends = 0;
      for (const OutEdge& edge : patterns[rank].out) {
        const bool sent = edge.rank != static_cast<int>(rank) && item_count(edge) > 0;
        if (sent) partitions += static_cast<std::size_t>(edge.partitions);
      }
      for (const Operation& it : plans[rank].operations) {
        if (it.kind != Kind::send) continue;
        sends += it.count > 0 ? 1 : 0;
        // Through a copy if the items are not contiguous.
        const auto triggers = [&](const Operation& waiting) {
          return std::count_if(waiting.after.begin(), waiting.after.end(), [&](int before) {
            return plans[rank].operations[static_cast<std::size_t>(before)].kind == Kind::trigger;
          });
        };
        auto waits_for = triggers(it);
        for (const int before : it.after) {
          waits_for += triggers(plans[rank].operations[static_cast<std::size_t>(before)]);
        }
        CHECK_EQUAL(waits_for, it.count > 0 ? 1 : 0);
      }
      CHECK_EQUAL(sends, partitions);
    }
  }
}

TEST(what_is_passed_on_is_not_divided) {
  // Ranks 0 and 1 send through rank 0 or 1 to ranks 2 and 3, by messages alone.
  const auto machine =
      std::make_shared<const Machine>(std::vector{0, 0, 1, 1}, std::vector{0, 1, 2, 3});
  std::vector<Pattern> patterns(4);
  for (int from = 0; from < 2; ++from) {
    for (int to = 2; to < 4; ++to) {
      const Index place = to == 2 ? 0 : 8;
      patterns[static_cast<std::size_t>(from)].out.push_back({to, {{place, place, 8}}, 4});
      patterns[static_cast<std::size_t>(to)].in.push_back({from, 8, {{0, Index{8} * from, 8}}, 8});
    }
  }
  const auto plans = plan("aggregate", machine, patterns, false);
  verify(plans, patterns);
  Index sends = 0;
  for (const Plan& each : plans) sends += statistics(each).local.messages;
  CHECK_EQUAL(sends, 2);  // undivided: one to the leader that is not the sender, one from it
}

TEST(partitions_of_the_two_ends_need_not_be_alike) {
  Pair pair;
  verify(pair.plans, pair.patterns);
  CHECK_EQUAL(pair.all(0, Kind::send).size(), std::size_t{4});
  const auto told = pair.all(1, Kind::notify);
  CHECK_EQUAL(told.size(), std::size_t{2});
  for (const Operation* it : told) CHECK_EQUAL(it->after.size(), std::size_t{2});
}

TEST(verify_finds_what_does_not_wait_for_its_partition) {
  Pair pair;
  CHECK(forget(*pair.all(0, Kind::send)[2], 2));
  pair.check_finding(
      "rank 0, operation 6 (send, direct) reads element 7 of the source, but does not come after "
      "rank 0, operation 2 (trigger, direct)");
  Pair other;
  other.all(0, Kind::send)[2]->after = {1};
  other.check_finding("does not come after rank 0, operation 2 (trigger, direct)");
}

TEST(verify_finds_every_trigger_that_is_forgotten) {
  RandomPatterns random(7);
  const auto [machine, regions] = random.machine(5);
  const auto patterns = in_partitions(random, 5);
  for (const char* planner : {"direct", "aggregate", "split", "common-neighbor"}) {
    const auto plans = plan(planner, machine, patterns);
    int forgotten = 0;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
      for (std::size_t i = 0; i < plans[rank].operations.size(); ++i) {
        for (const int before : plans[rank].operations[i].after) {
          const Kind kind = plans[rank].operations[static_cast<std::size_t>(before)].kind;
          if (kind != Kind::trigger) continue;
          auto wrong = plans;
          forget(wrong[rank].operations[i], before);
          CHECK_THROWS(Fault::internal, verify(wrong, patterns), "before which that is not ready");
          ++forgotten;
        }
      }
    }
    CHECK(forgotten > 5);
  }
}

TEST(verify_finds_notifications_that_come_too_early) {
  Pair pair;
  pair.all(1, Kind::notify)[1]->after.pop_back();
  pair.check_finding("does not come after rank 1, operation 3 (receive, direct), which writes");
  Pair swapped;
  const auto told = swapped.all(1, Kind::notify);
  std::swap(told[0]->event, told[1]->event);
  swapped.check_finding("does not come after");
}

TEST(verify_finds_events_that_are_none) {
  Pair twice;
  twice.all(0, Kind::trigger)[1]->event = 0;
  twice.check_finding("names event 0, and so does rank 0, operation 0 (trigger, direct)");
  Pair beyond;
  beyond.all(0, Kind::trigger)[3]->event = 4;
  beyond.check_finding("names event 4, but the pattern has 4 partitions there");
  Pair missing;
  missing.plans[1].operations.pop_back();
  missing.check_finding("rank 1 has no operation of kind notify for event 1");
  Pair peer;
  peer.all(1, Kind::notify)[0]->peer = 1;
  peer.check_finding("names rank 1, but event 0 is a partition of an edge with rank 0");
  Pair outside;
  outside.all(0, Kind::trigger)[1]->after = {0};
  outside.check_finding("but it happens outside of the plan");
  Pair whole;
  whole.patterns[0].out[0].partitions = 0;
  whole.check_finding("names event 0, but the pattern has 0 partitions there");
}

TEST(partitions_that_share_a_place_are_refused) {
  const auto machine = std::make_shared<const Machine>(std::vector{0, 1}, std::vector{0, 1});
  std::vector<Pattern> patterns(2);
  patterns[0].out = {{1, {{0, 0, 4}}, 2}, {1, {{3, 3, 2}}, 1}};
  patterns[1].in = {{0, 4, {{0, 0, 4}}, 1}, {0, 2, {{0, 4, 2}}, 1}};
  CHECK_THROWS(Fault::internal, plan("direct", machine, patterns), "share element 3");
  patterns[0].out[0].partitions = 3;
  CHECK_THROWS(Fault::count, plan("direct", machine, patterns),
               "the edge to rank 1 carries 4 items, which are not to be divided into 3");
}

}  // namespace vicinal::partitions_tests
