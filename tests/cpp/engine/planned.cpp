// The engine over MPI, on random patterns. For every planner, buffers hold what the pattern
// requires, forward and in reverse, in repeated executions with several in flight.
#include <mpi.h>

#include <chrono>
#include <sstream>
#include <thread>

#include "arrays.hpp"
#include "check.hpp"
#include "collectives/combine_of.hpp"
#include "collectives/graph.hpp"
#include "execute/agreed_plan.hpp"
#include "mpi/drive.hpp"
#include "random_patterns.hpp"

namespace vicinal::planned_tests {
namespace {

using testing::DelayedArray;
using testing::for_each_delivery;
using testing::HostArray;
using testing::RandomPatterns;

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::shared_ptr<Graph> graph_of(const Pattern& pattern, const std::string& regions,
                                MPI_Comm comm = MPI_COMM_WORLD) {
  std::vector<int> sources, destinations;
  for (const InEdge& edge : pattern.in) sources.push_back(edge.rank);
  for (const OutEdge& edge : pattern.out) destinations.push_back(edge.rank);
  Settings settings;
  settings.regions = regions;
  return std::make_shared<Graph>(comm, sources, destinations, settings);
}

constexpr std::int64_t untouched = -77;

/// Returns the value of word `word` at a position of a rank's source.
std::int64_t value(int rank, Index position, Index word, int round) {
  return (((std::int64_t{round} * 64 + rank) * 64 + position) * 8) + word;
}

struct Case {
  int rank = world_rank();
  int size = world_size();
  std::vector<Pattern> patterns;
  std::shared_ptr<Graph> graph;
  Index source_extent = 48;
  Index target_extent = 0;

  Case(RandomPatterns& random, bool identity)
      : patterns(random.make(size, identity, random.chance(0.5) ? 0.8 : 0.3)),
        graph(graph_of(mine(), random.regions(size))) {
    for (const Pattern& pattern : patterns) {
      for (const InEdge& edge : pattern.in) {
        for (const CopyRun& run : edge.slots) {
          target_extent = std::max(target_extent, run.target + run.count);
        }
      }
    }
  }
  const Pattern& mine() const { return patterns[static_cast<std::size_t>(rank)]; }

  std::vector<std::int64_t> source(Index words, int round) const {
    std::vector<std::int64_t> result;
    for (Index i = 0; i < source_extent; ++i) {
      for (Index w = 0; w < words; ++w) result.push_back(value(rank, i, w, round));
    }
    return result;
  }
  std::vector<std::int64_t> expected(Index words, int round) const {
    std::vector<std::int64_t> result(static_cast<std::size_t>(target_extent * words), untouched);
    for_each_delivery(patterns, [&](int from, Index position, int to, Index slot) {
      if (to != rank) return;
      for (Index w = 0; w < words; ++w) {
        result[static_cast<std::size_t>(slot * words + w)] = value(from, position, w, round);
      }
    });
    return result;
  }
  /// Returns the reverse result: ghosts hold value(rank, slot), and are added to the owned values.
  std::vector<std::int64_t> expected_sum(int round) const {
    std::vector<std::int64_t> result = source(1, 0);
    for_each_delivery(patterns, [&](int from, Index position, int to, Index slot) {
      if (from == rank) result[static_cast<std::size_t>(position)] += value(to, slot, 0, round);
    });
    return result;
  }
  std::vector<std::int64_t> ghosts(int round) const {
    std::vector<std::int64_t> result;
    for (Index i = 0; i < target_extent; ++i) result.push_back(value(rank, i, 0, round));
    return result;
  }
};

template <class Source, class Target>
Binding binding_of(const Source& source, Target& target, Index words) {
  Binding binding;
  binding.source = reinterpret_cast<const std::byte*>(source.data());
  binding.target = reinterpret_cast<std::byte*>(target.data());
  binding.element_bytes = words * 8;
  return binding;
}

template <class Source, class Target>
void exchange_everything(unsigned seed) {
  RandomPatterns random(seed);
  Case test(random, seed % 2 == 0);
  for (const Planner& planner : planners()) {
    PlanOptions options;
    options.with_reverse = true;
    options.shared_memory = seed % 3 != 0;
    options.split_bytes = 16;
    options.leader_shift = static_cast<int>(seed % 2);
    if (!serves(planner, options)) continue;
    const auto plan = test.graph->plan(test.mine(), planner, options, std::nullopt, 2);
    const auto complain = [&](const char* what) {
      std::ostringstream text;
      text << planner.name << ", seed " << seed << ": " << what << " differ";
      throw std::runtime_error(text.str());
    };

    Execution first(plan, false, 0), second(plan, false, 1), back(plan, true, 0);
    for (int round = 1; round <= 3; ++round) {
      const Index words = round == 2 ? 3 : 1;  // the geometry changes and changes back
      const Source a = test.source(words, round), b = test.source(words, round + 10);
      const std::vector<std::int64_t> nothing(static_cast<std::size_t>(test.target_extent * words),
                                              untouched);
      Target into_a = nothing, into_b = nothing, owned = test.source(1, 0);
      const Source ghosts = test.ghosts(round);
      first->start(binding_of(a, into_a, words));
      second->start(binding_of(b, into_b, words));
      Binding reverse = binding_of(ghosts, owned, 1);
      reverse.combine = combine_of(MPI_SUM, MPI_INT64_T, 1);
      back->start(reverse);
      // The order of completion differs from rank to rank.
      if ((test.rank + round) % 2 == 0) {
        second->wait();
        back->wait();
        first->wait();
      } else {
        first->wait();
        second->wait();
        back->wait();
      }
      if (into_a.values() != test.expected(words, round)) complain("the first exchange's values");
      if (into_b.values() != test.expected(words, round + 10))
        complain("the second exchange's values");
      if (owned.values() != test.expected_sum(round)) complain("the sums");
    }
  }
}

/// Every rank has one element, which every other rank needs.
Pattern one_element_for_all() {
  Pattern pattern;
  for (int other = 0; other < world_size(); ++other) {
    if (other == world_rank()) continue;
    pattern.in.push_back({other, 1, {{0, static_cast<Index>(pattern.in.size()), 1}}});
    pattern.out.push_back({other, {{0, 0, 1}}});
  }
  return pattern;
}

}  // namespace

TEST(who_executes_after_a_failed_one_in_the_same_channel_goes_on_behind_it) {
  const int rank = world_rank(), size = world_size();
  if (size < 2) testing::skip("needs 2 ranks");
  const Pattern pattern = one_element_for_all();
  const auto graph = graph_of(pattern, size < 4 ? "blocks:1" : "blocks:2");
  std::vector<std::int64_t> expected;
  for (const auto& edge : pattern.in) expected.push_back(edge.rank);
  const std::vector<std::int64_t> source{rank};
  for (const Planner& planner : planners()) {
    if (planner.name != std::string("direct") && planner.name != std::string("aggregate")) continue;
    const auto plan = graph->plan(pattern, planner, {}, std::nullopt, 1);
    for (int round = 0; round < 20; ++round) {
      std::vector<std::int64_t> target(expected.size(), untouched);
      if (rank == 0) {
        Execution(plan, false, 0)->start_after_failure();
      } else {
        // Rank 0's work for this rank is still in progress when rank 0 continues.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        Execution first(plan, false, 0);
        first->start(binding_of(source, target, 1));
        try {
          first->wait();
        } catch (const Error& error) {
          CHECK(error.fault() == Fault::elsewhere);
        }
      }
      target.assign(expected.size(), untouched);
      Execution second(plan, false, 0);
      second->start(binding_of(source, target, 1));
      second->wait();
      CHECK(target == expected);
    }
  }
}

TEST(a_lost_plan_keeps_its_fault) {
  const int rank = world_rank(), size = world_size();
  if (size < 2) testing::skip("needs 2 ranks");
  const Pattern pattern = one_element_for_all();
  const auto graph = graph_of(pattern, size < 4 ? "blocks:1" : "blocks:2");
  const std::vector<std::int64_t> source{rank};
  std::vector<std::int64_t> target(static_cast<std::size_t>(size) - 1);
  for (const Planner& planner : planners()) {
    if (planner.name != std::string("direct") && planner.name != std::string("aggregate")) continue;
    const auto plan = graph->plan(pattern, planner, {}, std::nullopt, 1);
    Execution execution(plan, false, 0);
    // Rank 0 decides on plans, and has its own first; other ranks may still wait for its control
    // message.
    MPI_Barrier(MPI_COMM_WORLD);
    // As a rank does that finds MPI itself failing.
    if (rank == 0) abandon_plan(plan, 0);
    for (int round = 0; round < 3 && rank > 0; ++round) {
      bool failed = false;
      try {
        execution->start(binding_of(source, target, 1));
        execution->wait();
      } catch (const Error& fault) {
        failed = true;
        CHECK_EQUAL(fault.origin(), 0);
      }
      CHECK(failed);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Operations that were in progress must not write to user memory any more.
    const std::vector<std::int64_t> sentinel(target.size(), untouched);
    target = sentinel;
    MPI_Barrier(MPI_COMM_WORLD);
    mpi::Communicator& communicator = plan->communicator();
    for (const Operation& operation : plan->forward().operations) {
      if (rank != 0 || operation.kind != OperationKind::send) continue;
      const int tag = mpi::Communicator::data_tag(operation.tag, 0, false);
      MPI_Send(source.data(), 8, MPI_BYTE, operation.peer, tag, communicator.handle());
    }
    MPI_Barrier(communicator.handle());
    CHECK(target == sentinel);
  }
}

TEST(whoever_waits_for_what_is_passed_on_hears_that_a_plan_is_lost) {
  const int rank = world_rank(), size = world_size();
  if (size != 4 && size < 7) testing::skip("needs 4 ranks, or 7 or more");
  // Each edge spans three places: hops of one and of two. Rank 0 thus forwards data from the last
  // rank to rank 2, to which it has no edge.
  Pattern pattern;
  pattern.out.push_back({(rank + 3) % size, {{0, 0, 1}}});
  pattern.in.push_back({(rank + size - 3) % size, 1, {{0, 0, 1}}});
  const auto graph = graph_of(pattern, "blocks:1");
  PlanOptions options;
  options.radix = 2;
  const auto plan = graph->plan(pattern, find_planner("cascade"), options, std::nullopt, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) abandon_plan(plan, 0);
  if (rank == 2) {
    // All other ranks are busy elsewhere, and do not learn of it.
    const std::vector<std::int64_t> source{rank};
    std::vector<std::int64_t> target(1);
    Execution execution(plan, false, 0);
    try {
      execution->start(binding_of(source, target, 1));
      execution->wait();
      CHECK(false);
    } catch (const Error& fault) {
      CHECK_EQUAL(fault.origin(), 0);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(every_planner_moves_what_the_pattern_says) {
  const unsigned cases = world_size() <= 8 ? 8 : 3;
  for (unsigned seed = 0; seed < cases; ++seed) exchange_everything<HostArray, HostArray>(seed);
}

TEST(every_planner_moves_what_mpi_cannot_reach) {
  const unsigned cases = world_size() <= 8 ? 4 : 1;
  for (unsigned seed = 0; seed < cases; ++seed) {
    exchange_everything<DelayedArray, DelayedArray>(seed);
    if (!testing::delayed_goes_with_host()) continue;
    exchange_everything<DelayedArray, HostArray>(seed);
    exchange_everything<HostArray, DelayedArray>(seed);
  }
}

}  // namespace vicinal::planned_tests
