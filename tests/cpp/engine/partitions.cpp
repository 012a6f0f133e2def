// Partitioned exchanges: threads mark partitions in any order, and receivers see each arrival, for
// any planner and layout.
#include "partitioned.hpp"

#include <numeric>

namespace vicinal::partitions_tests {
namespace {

using namespace testing;

const std::vector<int> shifts{1, -1, 2, 0, 3, 3};
constexpr std::array strategies{
    "direct",   "nearest-first", "aggregate",       "aggregate-plain",         "split",
    "two-step", "automatic",     "common-neighbor", "distance-halving-pruned", "cascade"};

int rounds() { return world_size() <= 4 ? 10 : 3; }

}  // namespace

TEST(partitions_marked_by_threads_while_another_waits) {
  const Duplicate comm;
  for (const int salt : {0, 1}) {
    Partitioned exchange(comm, shifts, few_regions(world_size()), salt);
    for (const char* strategy : strategies) {
      for (const char* local : {"shared", "messages"}) {
        RequestHandle request;
        const Hints hints{
            {"vicinal_verify", "1"}, {"vicinal_strategy", strategy}, {"vicinal_local", local}};
        SUCCEEDS(exchange.init(hints, &request));
        for (int round = 0; round < rounds(); ++round) {
          std::fill(exchange.receive.data.begin(), exchange.receive.data.end(), -1);
          SUCCEEDS(vicinal_start(&request));
          exchange.make_by_threads(request, round, 2);
          exchange.verify_all(round);
        }
      }
    }
  }
}

TEST(partitions_are_heard_of_as_they_arrive) {
  const Duplicate comm;
  Partitioned exchange(comm, shifts, few_regions(world_size()));
  for (const char* strategy : {"direct", "aggregate", "distance-halving-pruned"}) {
    RequestHandle request;
    SUCCEEDS(exchange.init(Hints{{"vicinal_strategy", strategy}}, &request));
    for (int round = 0; round < rounds(); ++round) {
      SUCCEEDS(vicinal_start(&request));
      exchange.make_all(request, round);
      exchange.verify_as_they_arrive(request, round);
      SUCCEEDS(vicinal_wait(&request));
      exchange.verify_as_they_arrive(request, round);  // none is in flight
    }
  }
}

TEST(a_partition_may_follow_from_another_that_has_arrived) {
  // Each partition depends on the previous one, which has passed through all ranks.
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  constexpr int partitions = 5, rounds = 20;
  for (const char* strategy : {"direct", "nearest-first"}) {
    const GraphHandle graph =
        graph_of(comm, {around(rank - 1, size)}, {around(rank + 1, size)}, few_regions(size));
    const int count = partitions, place = 0, parts = partitions;
    std::array<std::int64_t, partitions> sent{}, received{};
    RequestHandle request;
    const Hints hints{{"vicinal_strategy", strategy}};
    SUCCEEDS(vicinal_neighbor_alltoallv_partitioned_init(
        sent.data(), &count, &place, &parts, MPI_INT64_T, received.data(), &count, &place, &parts,
        MPI_INT64_T, graph, hints, &request));
    for (int round = 0; round < rounds; ++round) {
      received.fill(-1);
      SUCCEEDS(vicinal_start(&request));
      for (int p = 0; p < partitions; ++p) {
        const auto i = static_cast<std::size_t>(p);
        const auto wait = [&](int partition) {
          for (int flag = 0; flag == 0;) SUCCEEDS(vicinal_parrived(request, 0, partition, &flag));
          return received[static_cast<std::size_t>(partition)];
        };
        // Rank 0 sends what has come around the ring; other ranks forward each partition at once.
        if (rank == 0) {
          sent[i] = p == 0 ? round * 1000 : wait(p - 1) + 1;
        } else {
          sent[i] = wait(p) + 1;
        }
        int flag = 1;
        if (rank == 0 && size > 1) {
          SUCCEEDS(vicinal_parrived(request, 0, p, &flag));
          CHECK_EQUAL(flag, 0);
        }
        SUCCEEDS(vicinal_pready(request, 0, p));
      }
      SUCCEEDS(vicinal_wait(&request));
      for (int p = 0; p < partitions; ++p) {
        const std::int64_t before = rank == 0 ? size - 1 : rank - 1;
        CHECK_EQUAL(received[static_cast<std::size_t>(p)], round * 1000 + p * size + before);
      }
    }
  }
}

TEST(partitions_started_again_and_again_with_others_in_flight) {
  const Duplicate comm;
  Partitioned first(comm, {1, 2}, few_regions(world_size()), 1);
  Partitioned second(comm, {-1, 0}, "round-robin:2", 2);
  for (const char* strategy : {"direct", "aggregate"}) {
    const Hints hints{{"vicinal_strategy", strategy}};
    RequestHandle a, b;
    SUCCEEDS(first.init(hints, &a));
    SUCCEEDS(second.init(hints, &b));
    for (int round = 0; round < (world_size() <= 4 ? 1000 : 50); ++round) {
      SUCCEEDS(vicinal_start(&a));
      SUCCEEDS(vicinal_start(&b));
      (round % 2 == 0 ? first : second).make_all(round % 2 == 0 ? a : b, round);
      (round % 2 == 0 ? second : first).make_all(round % 2 == 0 ? b : a, round);
      SUCCEEDS(vicinal_wait(&a));
      SUCCEEDS(vicinal_wait(&b));
      first.verify_all(round);
      second.verify_all(round);
    }
  }
}

TEST(partitions_in_ranges_and_lists_past_the_border_of_a_topology) {
  const int size = world_size(), rank = world_rank();
  const int open = 0;
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &open, 0, &row);
  MPI_Comm_set_errhandler(row, MPI_ERRORS_RETURN);
  {
    GraphHandle graph;
    SUCCEEDS(vicinal_graph_create_from_topology(row, MPI_INFO_NULL, &graph));
    const std::array counts{6, 6}, places{0, 6}, parts{3, 2}, other{1, 6};
    std::array<int, 12> sent{}, received{};
    RequestHandle request;
    SUCCEEDS(vicinal_neighbor_alltoallv_partitioned_init(
        sent.data(), counts.data(), places.data(), parts.data(), MPI_INT, received.data(),
        counts.data(), places.data(), other.data(), MPI_INT, graph, MPI_INFO_NULL, &request));
    for (int round = 0; round < 5; ++round) {
      received.fill(-1);
      SUCCEEDS(vicinal_start(&request));
      std::iota(sent.begin(), sent.end(), 100 * rank + 1000 * round);
      const std::array list{2, 0};
      SUCCEEDS(vicinal_pready_list(request, 0, 2, list.data()));
      SUCCEEDS(vicinal_pready_range(request, 1, 0, 1));
      SUCCEEDS(vicinal_pready(request, 0, 1));
      SUCCEEDS(vicinal_wait(&request));
      for (int i = 0; i < 12; ++i) {
        const int from = i < 6 ? rank - 1 : rank + 1;
        const bool none = from < 0 || from == size;
        const int expected = 100 * from + 1000 * round + (i + 6) % 12;
        CHECK_EQUAL(received[static_cast<std::size_t>(i)], none ? -1 : expected);
      }
      int flag = 0;
      SUCCEEDS(vicinal_parrived(request, 1, 5, &flag));
      CHECK_EQUAL(flag, 1);
    }
  }
  MPI_Comm_free(&row);
}

TEST(partitions_of_types_with_gaps_and_of_places_that_overlap) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const int next = around(rank + 1, size), before = around(rank - 1, size);
  const GraphHandle graph = graph_of(comm, {before, before}, {next, next}, few_regions(size));
  MPI_Datatype pairs = MPI_DATATYPE_NULL;  // the first of every two
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &pairs);
  MPI_Type_commit(&pairs);
  // Both edges send four elements, two of which they share.
  const std::array counts{4, 4}, from{0, 2}, into{0, 4}, parts{2, 4}, other{4, 1};
  for (const MPI_Datatype type : {pairs, MPI_INT}) {
    const std::size_t stride = type == pairs ? 2 : 1;
    for (const char* strategy : {"direct", "aggregate"}) {
      std::vector<int> sent(6 * stride), received(8 * stride);
      RequestHandle request;
      const Hints hints{{"vicinal_strategy", strategy}, {"vicinal_verify", "1"}};
      SUCCEEDS(vicinal_neighbor_alltoallv_partitioned_init(
          sent.data(), counts.data(), from.data(), parts.data(), type, received.data(),
          counts.data(), into.data(), other.data(), type, graph, hints, &request));
      for (int round = 0; round < 5; ++round) {
        std::fill(received.begin(), received.end(), -1);
        std::fill(sent.begin(), sent.end(), -2);
        SUCCEEDS(vicinal_start(&request));
        for (std::size_t i = 0; i < 6; ++i) {
          sent[i * stride] = 100 * rank + 10 * round + static_cast<int>(i);
          if (i % 2 == 1 && i < 4) SUCCEEDS(vicinal_pready(request, 0, static_cast<int>(i) / 2));
          if (i >= 2) SUCCEEDS(vicinal_pready(request, 1, static_cast<int>(i) - 2));
        }
        SUCCEEDS(vicinal_wait(&request));
        for (std::size_t i = 0; i < received.size(); ++i) {
          const int element = static_cast<int>(i / stride);
          const int place = element < 4 ? element : element - 2;
          const int expected = i % stride == 0 ? 100 * before + 10 * round + place : -1;
          CHECK_EQUAL(received[i], expected);
        }
      }
    }
  }
  MPI_Type_free(&pairs);
}

}  // namespace vicinal::partitions_tests
