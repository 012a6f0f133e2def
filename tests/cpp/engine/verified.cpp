// Plans that are verified when made (vicinal_verify). Correct plans work as before, for any planner
// and interface. A wrong plan is refused on all ranks. A setting that affects planning, and differs
// between ranks, is named where a plan is made.
#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/setting.hpp"
#include "collectives/graph.hpp"
#include "world.hpp"

namespace vicinal::verified_tests {
namespace {

using namespace testing;

const std::pair<std::string, std::string> verified{"vicinal_verify", "1"};

/// A ring in which each rank sends one number each way, and one to itself.
struct Ring {
  int rank = world_rank();
  int size = world_size();
  std::vector<int> sources{around(rank - 1, size), rank, around(rank + 1, size)};
  std::vector<int> destinations{around(rank + 1, size), rank, around(rank - 1, size)};
};

/// Plans as `direct`, but drops all operations on the last rank.
Task<Plans> plan_nothing(PlanRequest request) {
  const bool liar = request.neighborhood.rank == request.neighborhood.machine->size() - 1;
  Task<Plans> making = find_planner("direct").plan(std::move(request));
  Plans plans = co_await making;
  if (liar) plans.forward.operations.clear();
  co_return plans;
}

std::string difference(const std::string& key, const std::string& a, const std::string& b,
                       int odd) {
  return key + " is '" + a + "' on rank 0, but '" + b + "' on rank " + std::to_string(odd);
}

}  // namespace

TEST(a_wrong_plan_is_refused_where_plans_are_to_be_proved) {
  const Ring ring;
  const Duplicate comm;
  const Planner liar{{"", plan_nothing}, "direct"};
  Settings settings = read_settings(Hints{verified, {"vicinal_regions", few_regions(ring.size)}});
  CHECK(settings.options.verify);
  PlanOptions options = settings.options;
  const auto graph =
      std::make_shared<Graph>(MPI_Comm{comm}, ring.sources, ring.destinations, std::move(settings));
  Pattern pattern;
  Index place = 0;
  for (const int to : graph->neighborhood().destinations) {
    pattern.out.push_back({to, {{place, place, 1}}});
    ++place;
  }
  place = 0;
  for (const int from : graph->neighborhood().sources) {
    pattern.in.push_back({from, 1, {{0, place, 1}}});
    ++place;
  }
  for (int round = 0; round < 3; ++round) {
    options.verify = true;
    CHECK_THROWS(Fault::internal, graph->plan(pattern, liar, options, std::nullopt),
                 "would not deliver what was asked for");
    CHECK(graph->plan(pattern, find_planner("direct"), options, std::nullopt) != nullptr);
    options.verify = false;
    CHECK(graph->plan(pattern, liar, options, std::nullopt) != nullptr);
  }
}

TEST(verified_persistent_exchanges_deliver) {
  const Duplicate comm;
  for (const int salt : {0, 1}) {
    const Shifts shifts(comm, {1, -1, 2, 0, 3, 3}, few_regions(world_size()), salt);
    for (const char* strategy :
         {"direct", "nearest-first", "aggregate", "aggregate-plain", "split", "two-step",
          "automatic", "common-neighbor", "distance-halving-pruned", "cascade"}) {
      for (const char* local : {"shared", "messages"}) {
        Edges send = shifts.sending(), receive = shifts.receiving();
        RequestHandle request;
        const Hints hints{verified, {"vicinal_strategy", strategy}, {"vicinal_local", local}};
        SUCCEEDS(plan_exchange(send, receive, shifts.graph(), hints, &request));
        for (int round = 0; round < 3; ++round) {
          shifts.fill(send, round);
          SUCCEEDS(vicinal_start(&request));
          SUCCEEDS(vicinal_wait(&request));
          shifts.verify(receive, round);
        }
      }
    }
  }
}

TEST(verified_calls_deliver) {
  const Ring ring;
  const Duplicate comm;
  for (const char* strategy :
       {"direct", "aggregate", "split", "two-step", "automatic", "common-neighbor"}) {
    const Hints hints{
        verified, {"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(ring.size)}};
    GraphHandle graph;
    SUCCEEDS(create_graph(comm, ring.sources, ring.destinations, hints, &graph));
    for (int round = 0; round < 8; ++round) {
      // Each edge carries the numbers of its two ranks, and the round.
      std::array<std::int64_t, 3> sent{}, received{-1, -1, -1};
      for (std::size_t i = 0; i < 3; ++i) {
        sent[i] = (ring.rank * 100 + ring.destinations[i]) * 100 + round;
      }
      SUCCEEDS(vicinal_neighbor_alltoall(sent.data(), 1, MPI_INT64_T, received.data(), 1,
                                         MPI_INT64_T, graph));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK_EQUAL(received[i], (ring.sources[i] * 100 + ring.rank) * 100 + round);
      }
      received = {-1, -1, -1};
      SUCCEEDS(vicinal_neighbor_allgather(sent.data() + 1, 1, MPI_INT64_T, received.data(), 1,
                                          MPI_INT64_T, graph));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK_EQUAL(received[i], (ring.sources[i] * 100 + ring.sources[i]) * 100 + round);
      }
    }
  }
}

TEST(verified_halos_deliver_both_ways) {
  const Ring ring;
  const Duplicate comm;
  for (const char* strategy : {"direct", "aggregate", "split", "two-step", "automatic"}) {
    const Hints hints{
        verified, {"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(ring.size)}};
    const std::int64_t first = std::int64_t{2} * ring.rank;
    const std::vector<std::int64_t> needed{std::int64_t{2} * ring.sources[0] + 1,
                                           std::int64_t{2} * ring.sources[2]};
    HaloHandle halo;
    SUCCEEDS(vicinal_halo_create(comm, first, first + 2, 2, needed.data(), hints, &halo));
    for (int round = 0; round < 5; ++round) {
      std::array<double, 2> owned{}, ghosts{-1, -1};
      for (std::size_t i = 0; i < 2; ++i) {
        owned[i] = static_cast<double>(first) + static_cast<double>(i) + 1000 * round;
      }
      SUCCEEDS(vicinal_halo_exchange(halo, owned.data(), ghosts.data(), 1, MPI_DOUBLE));
      for (std::size_t i = 0; i < 2; ++i) {
        CHECK_EQUAL(ghosts[i], static_cast<double>(needed[i]) + 1000 * round);
      }
      // Each owned value is the ghost of one rank, which returns it.
      const std::array<double, 2> before = owned;
      SUCCEEDS(vicinal_halo_reverse(halo, owned.data(), ghosts.data(), 1, MPI_DOUBLE, MPI_SUM));
      for (std::size_t i = 0; i < 2; ++i) CHECK_EQUAL(owned[i], 2 * before[i]);
    }
  }
}

TEST(verified_allgathers_deliver) {
  const Duplicate comm;
  const int size = world_size();
  SUCCEEDS(vicinal_set_regions(comm, few_regions(size).c_str()));
  std::vector<int> received(static_cast<std::size_t>(size));
  for (const Planner& planner : planners()) {
    int sent = 0;
    RequestHandle request;
    SUCCEEDS(vicinal_allgather_init(
        &sent, 1, MPI_INT, received.data(), 1, MPI_INT, comm,
        Hints{verified, {"vicinal_allgather", std::string(planner.name)}}, &request));
    for (int round = 0; round < 3; ++round) {
      std::fill(received.begin(), received.end(), -1);
      sent = world_rank() * 10 + round;
      SUCCEEDS(vicinal_start(&request));
      SUCCEEDS(vicinal_wait(&request));
      for (int rank = 0; rank < size; ++rank) {
        CHECK_EQUAL(received[static_cast<std::size_t>(rank)], rank * 10 + round);
      }
    }
  }
}

TEST(how_ranks_verify_and_progress_is_the_same_where_plans_are_made) {
  const Ring ring;
  if (ring.size < 2) skip("needs 2 ranks");
  const Duplicate comm;
  SUCCEEDS(vicinal_set_regions(comm, few_regions(ring.size).c_str()));
  const GraphHandle graph = graph_of(comm, ring.sources, ring.destinations, few_regions(ring.size));
  const int odd = ring.size - 1;
  const std::vector<std::array<std::string, 3>> all{{"vicinal_verify", "0", "1"},
                                                    {"vicinal_verify", "1", "0"},
                                                    {"vicinal_progress", "relaxed", "strict"},
                                                    {"vicinal_progress", "strict", "relaxed"}};
  const auto deliver = [&](MPI_Info info) {
    Edges send({1, 1, 1}, ring.rank), receive({1, 1, 1});
    RequestHandle request;
    SUCCEEDS(plan_exchange(send, receive, graph, info, &request));
    SUCCEEDS(vicinal_start(&request));
    SUCCEEDS(vicinal_wait(&request));
    for (std::size_t i = 0; i < 3; ++i) CHECK_EQUAL(receive.data[i], ring.sources[i]);
  };
  for (const auto& [key, common, other] : all) {
    if (environment_value(key)) continue;
    const std::string told = difference(key, common, other, odd);
    const std::string& here = ring.rank == odd ? other : common;
    for (const char* strategy : {"direct", "aggregate", "split", "automatic"}) {
      const Hints hints{{"vicinal_strategy", strategy}, {key, here}};
      Edges send({1, 1, 1}), receive({1, 1, 1});
      RequestHandle request;
      FAILS(MPI_ERR_INFO_VALUE, plan_exchange(send, receive, graph, hints, &request), told);
      deliver(Hints{{"vicinal_strategy", strategy}, {key, common}});
    }
    const Hints hints{{key, here}};
    GraphHandle other_graph;
    FAILS(MPI_ERR_INFO_VALUE,
          create_graph(comm, ring.sources, ring.destinations, hints, &other_graph), told);
    HaloHandle halo;
    const std::int64_t needed = ring.sources[0];
    FAILS(MPI_ERR_INFO_VALUE,
          vicinal_halo_create(comm, ring.rank, ring.rank + 1, 1, &needed, hints, &halo), told);
    std::vector<int> received(static_cast<std::size_t>(ring.size));
    RequestHandle request;
    FAILS(MPI_ERR_INFO_VALUE,
          vicinal_allgather_init(&ring.rank, 1, MPI_INT, received.data(), 1, MPI_INT, comm, hints,
                                 &request),
          told);
  }
}

TEST(a_rank_whose_settings_cannot_be_read_is_told_where_the_others_verify) {
  const Ring ring;
  if (environment_value("vicinal_local")) skip("needs VICINAL_LOCAL not to be set");
  const Duplicate comm;
  const GraphHandle graph = graph_of(comm, ring.sources, ring.destinations, few_regions(ring.size));
  const bool odd = ring.rank == ring.size - 1;
  for (int round = 0; round < 3; ++round) {
    Edges send({1, 1, 1}), receive({1, 1, 1});
    RequestHandle request;
    const Hints hints{verified, {"vicinal_local", odd ? "nowhere" : "shared"}};
    FAILS(odd ? MPI_ERR_INFO_VALUE : MPI_ERR_OTHER,
          plan_exchange(send, receive, graph, hints, &request), odd ? "nowhere" : "on rank");
    SUCCEEDS(plan_exchange(send, receive, graph, Hints{verified}, &request));
  }
}

}  // namespace vicinal::verified_tests
