// Calls in a loop use several plans until the fastest is known. All plans deliver the same data.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/shared.hpp"
#include "choose/decisions.hpp"
#include "counted_calls.hpp"
#include "progress/activity.hpp"

namespace vicinal::contested_calls_tests {
namespace {

using namespace counted;

/// More calls than a contest needs to decide, and a replan to announce the decision.
constexpr int enough = 530;

std::shared_ptr<AgreedPlan> plan_of(const GraphHandle& graph, CallKind kind) {
  return c_api::find(static_cast<vicinal_graph>(graph))->graph->plan_in_use(kind);
}

bool has_regions() { return world_size() >= 4; }

/// In each tenth call, some edges exceed their capacity.
int seldom_large(int number, int from, int to, int parallel) {
  const int usual = 3 + (from + 2 * to + parallel) % 5;
  return number % 10 == 9 && from % 2 == 0 && parallel == 0 ? 4 * usual : usual;
}

}  // namespace

TEST(calls_in_a_loop_deliver_while_they_are_measured) {
  for (const char* in_flight : {"1", "4"}) {
    const Circle circle("automatic", "shared", in_flight);
    constexpr std::size_t window = 6;
    std::vector<Call> calls;
    calls.reserve(enough);
    for (int number = 0; number < enough; ++number) {
      calls.emplace_back(circle, Form::alltoallv, number, seldom_large);
      SUCCEEDS(calls.back().begin());
      if (calls.size() % window != 0) continue;
      // The order differs from rank to rank.
      for (std::size_t i = 0; i < window; ++i) {
        const std::size_t shift = (i * 5 + static_cast<std::size_t>(circle.rank)) % window;
        calls[calls.size() - window + shift].wait();
      }
    }
    for (Call& call : calls) SUCCEEDS(vicinal_wait(&call.request));
  }
}

TEST(calls_go_back_to_a_message_per_edge_where_that_is_the_quickest) {
  if (!has_regions()) skip("needs several regions");
  const Variable bias("VICINAL_BIAS", "direct:0.000001,automatic:1000000,aggregate:1000000");
  const Variable cores("VICINAL_CORES", "0.5");  // makes automatic relay
  const int rank = world_rank(), size = world_size();
  const std::vector<int> to{around(rank + 1, size), around(rank + 2, size)};
  const std::vector<int> from{around(rank - 1, size), around(rank - 2, size)};
  const Duplicate comm;
  GraphHandle graph;
  SUCCEEDS(create_graph(
      comm, from, to, Hints{{"vicinal_local", "messages"}, {"vicinal_regions", few_regions(size)}},
      &graph));
  const std::vector<int> counts{1, 1}, places{0, 1};
  for (int number = 0; number < enough; ++number) {
    const std::vector<int> sent(2, number * size + rank);
    std::vector<int> received(2, -1);
    SUCCEEDS(vicinal_neighbor_alltoallv(sent.data(), counts.data(), places.data(), MPI_INT,
                                        received.data(), counts.data(), places.data(), MPI_INT,
                                        graph));
    for (std::size_t e = 0; e < 2; ++e) CHECK_EQUAL(received[e], number * size + from[e]);
    const auto plan = plan_of(graph, CallKind::alltoallv);
    if (number == 12) CHECK(plan != nullptr);  // may be the plan that competes
    if (number > 256) CHECK(plan == nullptr);
  }
}

TEST(calls_of_equal_blocks_go_by_the_quickest_plan) {
  if (!has_regions()) skip("needs several regions");
  const Variable bias("VICINAL_BIAS", "direct:0.000001,automatic:1000000,aggregate:1000000");
  const Variable cores("VICINAL_CORES", "0.5");
  const Circle circle("automatic");
  const std::size_t edges = circle.sources.size();
  for (int number = 0; number < 300; ++number) {
    std::vector<std::int64_t> sent, received(edges, -1);
    for (const int to : circle.destinations) sent.push_back(value(number, circle.rank, to, 0, 0));
    SUCCEEDS(vicinal_neighbor_alltoall(sent.data(), 1, MPI_INT64_T, received.data(), 1, MPI_INT64_T,
                                       circle.graph));
    for (std::size_t e = 0; e < edges; ++e) {
      CHECK_EQUAL(received[e], value(number, circle.sources[e], circle.rank, 0, 0));
    }
  }
  const auto plan = plan_of(circle.graph, CallKind::alltoall);
  CHECK(plan != nullptr && plan->forward().planner == "direct");
}

TEST(a_later_graph_of_the_same_pattern_knows_the_quickest_plan) {
  if (!has_regions()) skip("needs several regions");
  const Variable bias("VICINAL_BIAS", "direct:0.000001,automatic:1000000,aggregate:1000000");
  const Variable cores("VICINAL_CORES", "0.5");
  constexpr int most = 300;
  const auto calls_until_known = [](int at_most) {
    const Circle circle("automatic");
    const std::size_t edges = circle.sources.size();
    std::vector<std::int64_t> sent(circle.destinations.size()), received(edges, -1);
    int calls = 0;
    for (bool is_known = false; calls < at_most && !is_known; ++calls) {
      SUCCEEDS(vicinal_neighbor_alltoall(sent.data(), 1, MPI_INT64_T, received.data(), 1,
                                         MPI_INT64_T, circle.graph));
      const auto plan = plan_of(circle.graph, CallKind::alltoall);
      is_known = plan != nullptr && plan->forward().planner == "direct";
      MPI_Allreduce(MPI_IN_PLACE, &is_known, 1, MPI_CXX_BOOL, MPI_LAND, MPI_COMM_WORLD);
    }
    return calls;
  };
  forget_decisions();
  const int at_first = calls_until_known(most), later = calls_until_known(most);
  CHECK(at_first > 38 && later <= 38);
  // Where one rank forgets its decisions, no rank uses remembered ones.
  if (world_rank() == world_size() - 1) forget_decisions();
  CHECK(calls_until_known(most) > 38);
  // A graph that is freed before all plans were measured decides nothing.
  forget_decisions();
  CHECK_EQUAL(calls_until_known(40), 40);
  const int measured = calls_until_known(most);
  CHECK(measured > 38 && measured < most);
  forget_decisions();
}

TEST(a_person_says_after_how_many_calls_there_is_a_plan) {
  if (!has_regions()) skip("needs several regions");
  for (const int after : {1, 3, 100}) {
    const Variable setting("VICINAL_PLAN_AFTER", std::to_string(after));
    const Circle circle("aggregate");
    for (int number = 0; number < 110; ++number) {
      Call call(circle, Form::alltoallv, number, constant_size);
      SUCCEEDS(call.run());
      call.verify();
      // Planning begins a few calls earlier, and a progress thread may finish it at once.
      const bool is_made = plan_of(circle.graph, CallKind::alltoallv) != nullptr;
      if (number >= after) CHECK(is_made);
      if (number < after - std::min(4, after / 2)) CHECK(!is_made);
    }
  }
}

TEST(measured_calls_end_with_their_graph) {
  // This includes graphs that are freed while plans are made or measured.
  for (const int calls : {8, 16, 17, 30, 45, 60, 100, 200, enough}) {
    forget_decisions();
    const Circle circle("automatic");
    run_loop(circle, Form::alltoallv, constant_size, calls);
  }
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (active_count() > 0 && std::chrono::steady_clock::now() < patience) vicinal_progress();
  CHECK_EQUAL(active_count(), 0);
}

TEST(faults_in_measured_calls_are_those_of_one) {
  const Circle circle("automatic");
  // The last call succeeds, so that all ranks progress what failed ranks still do for others.
  for (int number = 0; number < 241; ++number) {
    const int failed_rank = number / 3 % circle.size;
    const bool bad = number % 3 == 2 && circle.rank == failed_rank;
    Call call(circle, Form::alltoallv, number, constant_size);
    const int code = call.begin(bad);
    if (bad) {
      CHECK(code != MPI_SUCCESS);
      continue;
    }
    SUCCEEDS(code);
    if (number % 3 == 2 && circle.hears(failed_rank)) {
      CHECK(vicinal_wait(&call.request) != MPI_SUCCESS);
    } else {
      call.wait();
    }
  }
}

}  // namespace vicinal::contested_calls_tests
