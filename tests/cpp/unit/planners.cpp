// Tests every planner on virtual ranks, over random patterns and regions. The verifier must accept
// the forward and the reverse plans, unchanged and staged.
#include <algorithm>
#include <sstream>
#include <utility>

#include "allgathers.hpp"
#include "block_graphs.hpp"
#include "check.hpp"
#include "gpu_profile.hpp"
#include "negotiate/virtual_ranks.hpp"
#include "plan/checks.hpp"
#include "plan/placement.hpp"
#include "planners/all.hpp"
#include "planners/relay/negotiation.hpp"
#include "random_patterns.hpp"

namespace vicinal::planners_tests {
namespace {

using testing::RandomPatterns;

std::vector<Plan> staged(const std::vector<Plan>& plans, Staged what) {
  std::vector<Plan> result;
  for (const Plan& plan : plans) result.push_back(with_staged(plan, what));
  return result;
}

void plan_and_verify(int size, unsigned first_seed, unsigned last_seed) {
  for (unsigned seed = first_seed; seed < last_seed; ++seed) {
    RandomPatterns random(seed);
    const auto [machine, regions] = random.machine(size);
    const auto patterns = random.make(size, seed % 2 == 0, random.chance(0.5) ? 0.7 : 0.2);
    for (const Planner& planner : planners()) {
      PlanOptions options;
      options.with_reverse = planner.forward_only.empty();
      options.shared_memory = seed % 3 != 0;
      options.split_bytes = 16;
      options.leader_shift = random.between(0, 2);
      if (seed % 5 == 0) {
        options.on_device = true;
        options.element_bytes = Index{1} << (10 + seed % 14);
        options.profile = testing::with_a_gpu();
      }
      if (!serves(planner, options)) continue;
      try {
        const auto plans = plan_virtually(planner, machine, patterns, options);
        std::vector<Plan> forward, reverse;
        for (const Plans& each : plans) {
          forward.push_back(each.forward);
          if (options.with_reverse) reverse.push_back(*each.reverse);
        }
        verify(forward, patterns);
        if (options.with_reverse) verify(reverse, patterns);
        for (const Staged what : {Staged::messages, Staged::messages_and_reductions}) {
          verify(staged(forward, what), patterns);
          if (options.with_reverse) verify(staged(reverse, what), patterns);
        }
      } catch (const Error& error) {
        std::ostringstream text;
        text << planner.name << ", seed " << seed << ", regions " << regions << ": "
             << error.what();
        throw std::runtime_error(text.str());
      }
    }
  }
}

/// Calls visit(planner, machine, plan) for each plan made from random patterns.
template <class Visit>
void for_each_plan(bool shared_memory, Visit visit) {
  for (unsigned seed = 600; seed < 612; ++seed) {
    RandomPatterns random(seed);
    const auto [machine, regions] = random.machine(9);
    const auto patterns = random.make(9, seed % 2 == 0, 0.5);
    for (const Planner& planner : planners()) {
      PlanOptions options;
      options.with_reverse = planner.forward_only.empty();
      options.shared_memory = shared_memory;
      if (!serves(planner, options)) continue;
      for (const Plans& plans : plan_virtually(planner, machine, patterns, options)) {
        visit(planner, *machine, plans.forward);
        if (plans.reverse) visit(planner, *machine, *plans.reverse);
      }
    }
  }
}

}  // namespace

TEST(messages_are_local_inside_a_region_and_only_there) {
  for (const bool shared_memory : {false, true}) {
    for_each_plan(shared_memory,
                  [](const Planner& planner, const Machine& machine, const Plan& plan) {
                    for (const Operation& it : plan.operations) {
                      if (it.kind != OperationKind::send && it.kind != OperationKind::receive)
                        continue;
                      const bool local = machine.region_of(plan.rank) == machine.region_of(it.peer);
                      if (it.local == local) continue;
                      testing::fail_check(__FILE__, __LINE__, planner.name,
                                          ": a message between ranks ", plan.rank, " and ", it.peer,
                                          " says that it is ", it.local ? "local" : "not local");
                    }
                  });
  }
}

TEST(messages_where_memory_is_not_to_be_shared) {
  for_each_plan(false, [](const Planner& planner, const Machine&, const Plan& plan) {
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.space != Space::shared) continue;
      testing::fail_check(__FILE__, __LINE__, planner.name, " uses a shared slot on rank ",
                          plan.rank, ", though memory is not to be shared");
    }
  });
}

TEST(planners_on_one_and_two_ranks) {
  plan_and_verify(1, 0, 20);
  plan_and_verify(2, 0, 60);
}
TEST(planners_on_three_to_eight_ranks) {
  plan_and_verify(3, 100, 150);
  plan_and_verify(7, 200, 240);
  plan_and_verify(8, 300, 340);
}
TEST(planners_on_sixteen_ranks) { plan_and_verify(16, 400, 420); }
TEST(planners_on_forty_ranks) { plan_and_verify(40, 500, 504); }

TEST(counts_that_differ_are_named) {
  const auto machine =
      std::make_shared<const Machine>(std::vector{0, 0, 1, 1}, std::vector{0, 0, 0, 0});
  std::vector<Pattern> patterns(4);
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
      patterns[f].out.push_back({to, {{0, 0, 5}}});
      const Index expected = from == 1 && to == 2 ? 4 : 5;
      patterns[t].in.push_back({from, expected, {{0, Index{5} * from, expected}}});
    }
  }
  for (const Planner& planner : planners()) {
    if (!serves(planner, {})) continue;
    CHECK_THROWS(Fault::count, plan_virtually(planner, machine, patterns, {}),
                 "the edge from rank 1 to rank 2 differ: rank 1 sends 5 elements, but rank 2 "
                 "expects 4");
  }
}

TEST(an_unknown_strategy_is_answered_with_the_names) {
  CHECK_THROWS(Fault::info, find_planner("fastest"), "choose one of direct, nearest-first");
}

TEST(nearest_first_goes_outward) {
  CHECK(nearest_first(4, {0, 1, 3, 6, 9}) == (std::vector<int>{3, 1, 6, 0, 9}));
  CHECK(nearest_first(5, {1, 2, 3}) == (std::vector<int>{3, 2, 1}));
  CHECK(nearest_first(0, {1, 2, 3}) == (std::vector<int>{1, 2, 3}));
  CHECK(nearest_first(0, {}).empty());
}

TEST(aggregation_sends_one_message_per_region_pair_and_each_item_once) {
  // Ranks 0 to 2 form region 0. Each sends the same two items to all of region 1, ranks 3 to 5.
  const std::vector<int> regions{0, 0, 0, 1, 1, 1};
  const auto machine = std::make_shared<const Machine>(regions, std::vector<int>(6, 0));
  std::vector<Pattern> patterns(6);
  for (Pattern& pattern : patterns) pattern.identity = true;
  for (int from = 0; from < 3; ++from) {
    for (int to = 3; to < 6; ++to) {
      patterns[static_cast<std::size_t>(from)].out.push_back({to, {{7, 7, 2}}});
      patterns[static_cast<std::size_t>(to)].in.push_back({from, 2, {{0, Index{2} * from, 2}}});
    }
  }
  const auto sent = [&](const char* name) {
    Traffic traffic;
    for (const Plans& plans : plan_virtually(find_planner(name), machine, patterns, {})) {
      const Traffic mine = statistics(plans.forward).non_local;
      traffic.messages += mine.messages;
      traffic.elements += mine.elements;
    }
    return traffic;
  };
  CHECK_EQUAL(sent("direct").messages, 9);
  CHECK_EQUAL(sent("direct").elements, 18);
  CHECK_EQUAL(sent("aggregate").messages, 1);
  CHECK_EQUAL(sent("aggregate").elements, 6);
  CHECK_EQUAL(sent("aggregate-plain").messages, 1);
  CHECK_EQUAL(sent("aggregate-plain").elements, 18);
  CHECK_EQUAL(sent("two-step").messages, 3);
  CHECK_EQUAL(sent("two-step").elements, 6);
}

namespace {

/// Returns the plans of an exchange by regions of 4. Only the first rank of each region has edges:
/// to and from each other region's.
std::vector<Plan> plans_of_first_ranks(int regions, const char* planner, bool idle_ranks_lead) {
  std::vector<int> region_of;
  for (int rank = 0; rank < 4 * regions; ++rank) region_of.push_back(rank / 4);
  const auto machine = std::make_shared<const Machine>(region_of, region_of);
  std::vector<Pattern> patterns(region_of.size());
  for (int from = 0; from < 4 * regions; from += 4) {
    for (int to = 0; to < 4 * regions; to += 4) {
      if (from == to) continue;
      patterns[static_cast<std::size_t>(from)].out.push_back({to, {{0, 0, 1}}});
      auto& in = patterns[static_cast<std::size_t>(to)].in;
      in.push_back({from, 1, {{0, static_cast<Index>(in.size()), 1}}});
    }
  }
  PlanOptions options;
  options.element_bytes = 8;
  options.idle_ranks_lead = idle_ranks_lead;
  std::vector<Plan> plans;
  for (Plans& each : plan_virtually(find_planner(planner), machine, patterns, options)) {
    plans.push_back(std::move(each.forward));
  }
  verify(plans, patterns);
  return plans;
}

/// Returns the peers in other regions of the plan's sends or receives, in its order.
std::vector<int> far_peers(const Plan& plan, OperationKind kind) {
  std::vector<int> peers;
  for (const Operation& it : plan.operations) {
    if (it.kind == kind && it.peer / 4 != plan.rank / 4) peers.push_back(it.peer);
  }
  return peers;
}

/// Returns how many messages the busiest rank exchanges with other regions.
Index most_of_one(int regions, const char* planner, bool idle_ranks_lead) {
  Index most = 0;
  for (const Plan& plan : plans_of_first_ranks(regions, planner, idle_ranks_lead)) {
    const auto sent = far_peers(plan, OperationKind::send).size();
    const auto received = far_peers(plan, OperationKind::receive).size();
    most = std::max(most, static_cast<Index>(sent + received));
  }
  return most;
}

}  // namespace

TEST(receives_are_posted_in_the_order_in_which_messages_come) {
  const auto plans = plans_of_first_ranks(5, "automatic", false);
  CHECK(far_peers(plans[8], OperationKind::send) == std::vector<int>({12, 16, 0, 4}));
  CHECK(far_peers(plans[8], OperationKind::receive) == std::vector<int>({4, 0, 16, 12}));
}

TEST(ranks_without_edges_share_the_messages_of_a_busy_one_where_they_may) {
  CHECK_EQUAL(most_of_one(17, "direct", false), 32);
  CHECK_EQUAL(most_of_one(17, "automatic", false), 32);
  CHECK_EQUAL(most_of_one(17, "automatic", true), 8);
  CHECK_EQUAL(most_of_one(17, "direct", true), 32);
  CHECK_EQUAL(most_of_one(2, "automatic", true), 2);
}

TEST(members_with_edges_inside_the_region_do_not_relieve_others) {
  // The first ranks of the two regions exchange data. The other two ranks of each region exchange
  // data inside it.
  const auto machine = std::make_shared<const Machine>(std::vector<int>{0, 0, 0, 1, 1, 1},
                                                       std::vector<int>{0, 0, 0, 1, 1, 1});
  std::vector<Pattern> patterns(6);
  for (const auto& [from, to] : {std::pair{0, 3}, {3, 0}, {1, 2}, {4, 5}}) {
    patterns[static_cast<std::size_t>(from)].out.push_back({to, {{0, 0, 1}}});
    patterns[static_cast<std::size_t>(to)].in.push_back({from, 1, {{0, 0, 1}}});
  }
  PlanOptions options;
  options.idle_ranks_lead = true;
  for (const Plans& plans : plan_virtually(find_planner("automatic"), machine, patterns, options)) {
    const bool has_far_edges = plans.forward.rank % 3 == 0;
    CHECK_EQUAL(statistics(plans.forward).non_local.messages, has_far_edges ? 1 : 0);
  }
}

TEST(aggregate_says_how_many_regions_it_reaches_by_leaders) {
  const auto machine = testing::block_machine(4, 2, 2);
  const auto reason = [&](const testing::OutEdges& graph) {
    const auto patterns = testing::block_patterns(graph, [](int) { return Index{1}; });
    return plan_virtually(find_planner("aggregate"), machine, patterns, {}).front().reason;
  };
  CHECK_EQUAL(reason({{1}, {}, {}, {}}), std::string("has nothing of its own for other regions"));
  CHECK_EQUAL(
      reason({{2}, {}, {}, {}}),
      std::string("goes by leaders to none of 1 other regions, since that would save no messages"));
  CHECK_EQUAL(reason({{2, 3}, {2, 3}, {}, {}}),
              std::string("goes by leaders to 1 of 1 other regions, where that saves messages"));
}

}  // namespace vicinal::planners_tests
