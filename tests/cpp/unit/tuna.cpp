// Tests store-and-forward on virtual ranks. The verifier proves plans for many numbers of ranks,
// radices and regions. Also tests message counts and faults; tuna_choice.cpp tests the choice.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "alltoalls.hpp"
#include "check.hpp"
#include "negotiate/comparison.hpp"
#include "plan/checks.hpp"
#include "plan/placement.hpp"
#include "planners/tuna/route.hpp"

namespace vicinal::tuna_tests {
namespace {

using namespace testing;

constexpr const char* planner_names[] = {"tuna", "tuna-hierarchical"};

/// Returns the number of messages that the index algorithm sends from one of `places` places: one
/// for each value of each digit of the distances.
int steps_among(int places, int radix) {
  int messages = 0;
  for (std::int64_t width = 1; width < places; width *= radix) {
    for (int digit = 1; digit < radix && digit * width < places; ++digit) ++messages;
  }
  return messages;
}

/// Returns the number of times that blocks of all distances are sent, in total.
int hops_among(int places, int radix) {
  int hops = 0;
  for (int distance = 1; distance < places; ++distance) {
    for (int rest = distance; rest > 0; rest /= radix) hops += rest % radix != 0 ? 1 : 0;
  }
  return hops;
}

void prove(const std::shared_ptr<const Machine>& machine, const std::vector<Pattern>& patterns,
           const char* planner, int radix, bool shared, const std::string& what) {
  PlanOptions options = alltoall_options(shared, radix);
  options.with_reverse = true;
  try {
    std::vector<Plan> forward, reverse;
    for (Plans& plans : plan_virtually(find_planner(planner), machine, patterns, options)) {
      forward.push_back(std::move(plans.forward));
      reverse.push_back(std::move(*plans.reverse));
    }
    verify(forward, patterns);
    verify(reverse, patterns);
    for (Plan& plan : forward) plan = with_staged(plan, Staged::messages);
    verify(forward, patterns);
  } catch (const std::exception& error) {
    fail_check(__FILE__, __LINE__, planner, ", ", machine->size(), " ranks, radix ", radix,
               shared ? ", shared, " : ", messages, ", what, ": ", error.what());
  }
}

}  // namespace

TEST(routes_lead_all_blocks_to_their_destinations) {
  for (const int size : {1, 2, 3, 5, 6, 8, 13, 24}) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      const auto machine = random_machine(size, seed);
      std::mt19937 random(seed);
      std::uniform_int_distribution<int> radix(2, size + 2);
      for (const bool by_region : {false, true}) {
        const tuna::Route route(*machine, {by_region, radix(random), radix(random)});
        for (int superstep = 0; superstep < route.supersteps(); ++superstep) {
          for (int rank = 0; rank < size; ++rank) {
            const auto takers = route.takers(superstep, rank);
            const std::set<int> once(takers.begin(), takers.end());
            CHECK_EQUAL(once.size(), takers.size());
            CHECK(!once.contains(rank));
            for (const int taker : takers) {
              const auto givers = route.givers(superstep, taker);
              CHECK_EQUAL(std::count(givers.begin(), givers.end(), rank), 1);
            }
          }
        }
        for (int origin = 0; origin < size; ++origin) {
          for (int destination = 0; destination < size; ++destination) {
            int holder = origin;
            for (int superstep = 0; superstep < route.supersteps(); ++superstep) {
              const int next = route.next(superstep, holder, destination);
              const auto takers = route.takers(superstep, holder);
              CHECK(next == holder || std::count(takers.begin(), takers.end(), next) == 1);
              holder = next;
            }
            CHECK_EQUAL(holder, destination);
          }
        }
      }
    }
  }
}

TEST(blocks_of_any_sizes_are_forwarded_on_one_to_nine_ranks) {
  for (int size = 1; size <= 9; ++size) {
    for (int radix = 2; radix <= size + 1; ++radix) {
      for (unsigned seed = 0; seed < 4; ++seed) {
        const auto machine = random_machine(size, 100 * seed + static_cast<unsigned>(size));
        const auto patterns = random_alltoall(size, seed);
        for (const char* planner : planner_names) {
          prove(machine, patterns, planner, radix, seed % 2 == 0, "seed " + std::to_string(seed));
        }
      }
    }
  }
}

TEST(blocks_are_forwarded_on_primes_and_in_regions_of_all_sizes) {
  for (const int size : {11, 12, 13, 16, 17, 31}) {
    for (const int radix : {0, 2, 3, 4, 7, size}) {
      for (const int region : {1, 2, 3, 5, size}) {
        for (const int host : {1, region, size}) {
          const auto machine = block_machine(size, region, host);
          const auto patterns = random_alltoall(size, static_cast<unsigned>(region + host));
          for (const char* planner : planner_names) {
            prove(machine, patterns, planner, radix, (radix + region) % 2 == 0,
                  "regions of " + std::to_string(region) + ", hosts of " + std::to_string(host));
          }
        }
      }
    }
  }
}

TEST(blocks_of_allgathers_are_forwarded_too) {
  const std::vector<Index> counts{3, 0, 2, 5, 1, 1, 4};
  const auto patterns = allgather_patterns(counts, 1);
  for (const char* planner : planner_names) {
    PlanOptions options = allgather_options(false);
    options.radix = 2;
    verify(planned_allgather(planner, block_machine(7, 3, 3), patterns, options), patterns);
  }
}

TEST(a_rank_sends_a_message_for_each_digit) {
  for (const int size : {1, 2, 3, 4, 7, 8, 9, 16, 17, 25, 27, 40}) {
    const auto patterns = equal_alltoall(size, 2);
    for (int radix = 2; radix <= size + 1; ++radix) {
      const auto plans = planned_alltoall("tuna", block_machine(size, 4, 1), patterns,
                                          alltoall_options(false, radix));
      for (const Plan& plan : plans) {
        const Statistics sent = statistics(plan);
        CHECK_EQUAL(sent.local.messages + sent.non_local.messages, steps_among(size, radix));
        CHECK_EQUAL(sent.local.elements + sent.non_local.elements, 2 * hops_among(size, radix));
      }
    }
  }
  CHECK_EQUAL(steps_among(16, 2), 4);
  CHECK_EQUAL(steps_among(16, 4), 6);
  CHECK_EQUAL(steps_among(17, 4), 7);
  CHECK_EQUAL(steps_among(16, 16), 15);
}

TEST(between_equal_regions_counterparts_alone_exchange) {
  for (const int radix : {2, 3, 4}) {
    const auto plans = planned_alltoall("tuna-hierarchical", block_machine(24, 4, 4),
                                        equal_alltoall(24, 1), alltoall_options(false, radix));
    for (const Plan& plan : plans) {
      const Statistics sent = statistics(plan);
      CHECK_EQUAL(sent.local.messages, steps_among(4, radix));
      CHECK_EQUAL(sent.non_local.messages, 5);      // no forwarding between six regions
      CHECK_EQUAL(sent.non_local.elements, 5 * 4);  // of all members, for one member of each
      for (const Operation& it : plan.operations) {
        if (it.kind != OperationKind::send || it.local) continue;
        CHECK_EQUAL(it.peer % 4, plan.rank % 4);
      }
    }
  }
}

TEST(ranks_of_a_host_hand_over_what_is_forwarded_through_slots) {
  for (const char* planner : planner_names) {
    const auto plans = planned_alltoall(planner, block_machine(12, 4, 12), equal_alltoall(12, 3),
                                        alltoall_options(true, 3));
    for (const Plan& plan : plans) {
      const Statistics sent = statistics(plan);
      CHECK_EQUAL(sent.local.messages + sent.non_local.messages, 0);
    }
  }
}

TEST(nothing_is_sent_where_nobody_has_anything) {
  std::vector<Pattern> patterns = equal_alltoall(9, 0);
  for (const char* planner : planner_names) {
    for (const Plan& plan :
         planned_alltoall(planner, block_machine(9, 3, 1), patterns, alltoall_options(false, 2))) {
      CHECK(plan.operations.empty());
    }
  }
  // One block only: rank 0's for rank 7, binary 111, which travels in three messages.
  patterns[0].out[7].items = {{0, 0, 5}};
  patterns[7].in[0] = {0, 5, {{0, 0, 5}}};
  int messages = 0;
  for (const Plan& plan :
       planned_alltoall("tuna", block_machine(9, 3, 1), patterns, alltoall_options(false, 2))) {
    const Statistics sent = statistics(plan);
    messages += static_cast<int>(sent.local.messages + sent.non_local.messages);
  }
  CHECK_EQUAL(messages, 3);
}

TEST(counts_of_forwarded_blocks_that_differ_are_named_on_both_ends) {
  const int size = 10;
  for (const char* planner : planner_names) {
    for (const int radix : {0, 2, 3, size}) {
      for (const auto& [from, to] : {std::pair(0, 1), std::pair(8, 3), std::pair(3, 8)}) {
        std::vector<Pattern> patterns = equal_alltoall(size, 4);
        patterns[static_cast<std::size_t>(to)].in[static_cast<std::size_t>(from)].count = 3;
        patterns[static_cast<std::size_t>(to)].in[static_cast<std::size_t>(from)].slots[0].count =
            3;
        const auto faults = faults_of_alltoall(planner, block_machine(size, 3, 3), patterns,
                                               alltoall_options(true, radix));
        const std::string expected = "the counts of the edge from rank " + std::to_string(from) +
                                     " to rank " + std::to_string(to) + " differ: rank " +
                                     std::to_string(from) + " sends 4 elements, but rank " +
                                     std::to_string(to) + " expects 3";
        for (int rank = 0; rank < size; ++rank) {
          const auto& fault = faults[static_cast<std::size_t>(rank)];
          CHECK_EQUAL(fault.has_value(), rank == from || rank == to);
          if (!fault) continue;  // other ranks learn of it when all compare their plans
          CHECK(fault->fault() == Fault::count);
          CHECK(std::string(fault->what()).starts_with(expected));
        }
      }
    }
  }
}

TEST(a_fault_of_one_rank_is_told_to_all_who_forward) {
  const int size = 11;
  for (const char* planner : {"tuna", "tuna-hierarchical", "automatic"}) {
    for (const int radix : {0, 3}) {
      for (const int culprit : {0, 4, size - 1}) {
        const auto faults =
            faults_of_alltoall(planner, block_machine(size, 4, 4), equal_alltoall(size, 1),
                               alltoall_options(false, radix), culprit);
        for (int rank = 0; rank < size; ++rank) {
          const auto& fault = faults[static_cast<std::size_t>(rank)];
          CHECK(fault.has_value());
          CHECK(fault->fault() == (rank == culprit ? Fault::buffer : Fault::elsewhere));
        }
      }
    }
  }
}

TEST(what_is_forwarded_must_be_between_all_ranks) {
  for (const char* planner : planner_names) {
    const std::string expected = std::string("the strategy '") + planner +
                                 "' serves exchanges over a whole communicator only: all ranks "
                                 "pass on what is for others";
    CHECK_THROWS(Fault::info, require_serves(find_planner(planner), {}), expected);
    CHECK(serves(find_planner(planner), alltoall_options(true, 0)));
  }
}

}  // namespace vicinal::tuna_tests
