// Work that other ranks still need from a rank that waits for something else, has failed, or was
// given another size.
#include <algorithm>
#include <string>
#include <vector>

#include "memory/kind.hpp"
#include "progress/activity.hpp"
#include "world.hpp"

namespace vicinal::keeping_step_tests {
namespace {

using namespace testing;

/// An all-to-all of equal blocks, in which one rank may use another size.
struct Blocks {
  Duplicate comm;
  GraphHandle graph;
  int rank = world_rank(), size = world_size();

  Blocks(const std::string& strategy, const std::string& local) {
    std::vector<int> all;
    for (int other = 0; other < size; ++other) all.push_back(other);
    SUCCEEDS(create_graph(comm, all, all,
                          Hints{{"vicinal_strategy", strategy},
                                {"vicinal_local", local},
                                {"vicinal_regions", few_regions(size)}},
                          &graph));
  }
  /// Returns the call's error code; checks the received data after a success.
  int run(int bytes, int round) const {
    const auto length = static_cast<std::size_t>(bytes);
    const auto value = [&](int from) {
      return static_cast<char>(1 + (from * 31 + round * 7) % 100);
    };
    const std::vector<char> sent(length * static_cast<std::size_t>(size), value(rank));
    std::vector<char> received(length * static_cast<std::size_t>(size), 0);
    const int code = vicinal_neighbor_alltoall(sent.data(), bytes, MPI_CHAR, received.data(), bytes,
                                               MPI_CHAR, graph);
    if (code != MPI_SUCCESS) return code;
    for (int from = 0; from < size; ++from) {
      const auto block = received.begin() + static_cast<std::ptrdiff_t>(length) * from;
      const auto wrong =
          std::find_if(block, block + bytes, [&](char c) { return c != value(from); });
      if (wrong == block + bytes) continue;
      fail_check(__FILE__, __LINE__, "round ", round, ", ", bytes, " bytes from rank ", from,
                 ": byte ", wrong - block, " is ", static_cast<int>(*wrong), ", not ",
                 static_cast<int>(value(from)));
    }
    return code;
  }
};

void sizes_that_differ(int usual, int other) {
  const Forgiving forgiving;
  for (const char* strategy : {"direct", "aggregate", "two-step"}) {
    for (const char* local : {"shared", "messages"}) {
      const Blocks blocks(strategy, local);
      for (int round = 0; round < 24; ++round) {
        const bool differ = round % 6 == 5;
        const int culprit = round % blocks.size;
        const int code = blocks.run(differ && blocks.rank == culprit ? other : usual, round);
        if (!differ) {
          SUCCEEDS(code);
        } else if (blocks.rank != culprit) {
          CHECK(code != MPI_SUCCESS);
        }
      }
    }
  }
}

}  // namespace

TEST(who_waits_for_what_is_direct_relays_as_well) {
  // Half of the ranks complete a direct exchange first. The other half starts it only after the
  // relayed exchange, for which the first half must relay.
  for (const char* local : {"shared", "messages"}) {
    const Duplicate comm;
    const int size = world_size();
    const Shifts shifts(comm, {1, -1, 2, size / 2}, few_regions(size));
    Exchange relayed(shifts, "aggregate", local), direct(shifts, "direct", local);
    for (int round = 0; round < 20; ++round) {
      relayed.start(round);
      if ((world_rank() + round / 10) % 2 == 0) {
        direct.start(round + 100);
        direct.wait();
        relayed.wait();
      } else {
        relayed.wait();
        direct.start(round + 100);
        direct.wait();
      }
    }
  }
}

TEST(strict_progress_lets_mpi_block_between_start_and_wait) {
  // Odd ranks block inside MPI until the rank before has completed its exchange. They must not be
  // leaders.
  const int rank = world_rank(), size = world_size();
  if (!kind_of(&size).is_reachable()) skip("needs memory from which MPI sends by itself");
  const Duplicate comm;
  const Hints hints{{"vicinal_strategy", "aggregate"},
                    {"vicinal_progress", "strict"},
                    {"vicinal_regions", few_regions(size)}};
  int token = 0;
  const auto complete = [&](vicinal_request* request) {
    if (rank % 2 == 1) MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, comm, MPI_STATUS_IGNORE);
    SUCCEEDS(vicinal_wait(request));
    if (rank % 2 == 0 && rank + 1 < size) MPI_Send(&token, 1, MPI_INT, rank + 1, 0, comm);
  };
  const Shifts shifts(comm, {1, -1, 2, size / 2}, few_regions(size));
  Edges send = shifts.sending(), receive = shifts.receiving();
  RequestHandle persistent;
  SUCCEEDS(plan_exchange(send, receive, shifts.graph(), hints, &persistent));
  for (int round = 0; round < 10; ++round) {
    shifts.fill(send, round);
    SUCCEEDS(vicinal_start(&persistent));
    complete(&persistent);
    shifts.verify(receive, round);
  }
  const std::vector<int> peers{around(rank + 1, size), around(rank - 1, size)};
  GraphHandle graph;
  SUCCEEDS(create_graph(comm, peers, peers, hints, &graph));
  for (int round = 0; round < 20; ++round) {
    const int sent[] = {rank + round, rank + round};
    int received[] = {-1, -1};
    RequestHandle request;
    SUCCEEDS(vicinal_ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph, &request));
    complete(&request);
    for (std::size_t e = 0; e < 2; ++e) CHECK_EQUAL(received[e], peers[e] + round);
  }
}

TEST(calls_that_are_over_are_forgotten) {
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::vector<int> peers{around(rank + 1, size), around(rank - 1, size)};
  GraphHandle graph;
  SUCCEEDS(create_graph(
      comm, peers, peers,
      Hints{{"vicinal_strategy", "aggregate"}, {"vicinal_regions", few_regions(size)}}, &graph));
  const int before = active_count();
  for (int round = 0; round < 60; ++round) {
    const int sent[] = {rank, rank};
    int received[] = {-1, -1};
    RequestHandle request;
    SUCCEEDS(vicinal_ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph, &request));
    // All data have arrived before the wait.
    MPI_Request others = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm, &others);
    for (int done = 0; done == 0;) MPI_Test(&others, &done, MPI_STATUS_IGNORE);
    SUCCEEDS(vicinal_wait(&request));
  }
  CHECK(active_count() <= before + 2);
}

TEST(a_type_that_was_never_committed_fails_for_all_whom_it_concerns) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::vector<int> after{around(rank + 1, size)}, before{around(rank - 1, size)};
  GraphHandle graph;
  SUCCEEDS(create_graph(comm, before, after, Hints{}, &graph));
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  const int one = 1, two = 2, none = 0;
  for (int round = 0; round < 4; ++round) {
    const int sent[] = {rank, -1, round};
    int received[] = {-1, -1};
    const bool bad = round % 2 == 0 && rank == size - 1;
    RequestHandle request;
    int code = vicinal_ineighbor_alltoallv(sent, bad ? &one : &two, &none, bad ? spread : MPI_INT,
                                           received, &two, &none, MPI_INT, graph, &request);
    if (code == MPI_SUCCESS) code = vicinal_wait(&request);
    if (bad) {
      FAILS(MPI_ERR_TYPE, code, "");
    } else if (round % 2 == 0 && before[0] == size - 1) {
      FAILS(MPI_ERR_OTHER, code, "failed on rank");
    } else {
      SUCCEEDS(code);
      CHECK_EQUAL(received[0], before[0]);
    }
  }
  MPI_Type_free(&spread);
}

TEST(block_sizes_that_differ_are_told_and_forgotten) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  sizes_that_differ(8, 16);
  sizes_that_differ(16, 8);
}

TEST(who_packs_first_with_another_size_is_told_of_by_who_sends_it_on) {
  // Half of the ranks send to the other half through a leader. One sender packs into its free slot
  // first. Only later does the leader learn that all others use another size.
  const Forgiving forgiving;
  const int size = world_size(), rank = world_rank(), half = size / 2;
  if (size < 4) testing::skip("needs 4 ranks");
  for (int culprit = 0; culprit < 2; ++culprit) {
    const Duplicate comm;
    const bool sends = rank < half;
    std::vector<int> others;
    for (int i = sends ? half : 0; i < (sends ? 2 * half : half); ++i) others.push_back(i);
    if (rank >= 2 * half) others.clear();
    GraphHandle graph;
    SUCCEEDS(create_graph(comm, sends ? std::vector<int>() : others,
                          sends ? others : std::vector<int>(),
                          Hints{{"vicinal_strategy", "aggregate"},
                                {"vicinal_in_flight", "1"},
                                {"vicinal_regions", "blocks:" + std::to_string(half)}},
                          &graph));
    for (int number = 0; number < 14; ++number) {
      const bool differ = number % 3 == 1 && number > 9, first = differ && rank == culprit;
      const bool alone = number == 12 && rank == culprit;
      const int bytes = (differ && !first) || alone ? 16 : 8;
      const std::vector<char> sent(others.size() * 16, static_cast<char>(rank + 1));
      std::vector<char> received(others.size() * 16, 0);
      RequestHandle request;
      if (differ && !first) MPI_Barrier(comm);
      SUCCEEDS(vicinal_ineighbor_alltoall(sent.data(), bytes, MPI_CHAR, received.data(), bytes,
                                          MPI_CHAR, graph, &request));
      if (first) MPI_Barrier(comm);
      const int code = vicinal_wait(&request);
      if (differ || number == 12) {
        if (alone || (!sends && !others.empty())) CHECK(code != MPI_SUCCESS);
        continue;
      }
      SUCCEEDS(code);
      for (std::size_t e = 0; !sends && e < others.size(); ++e) {
        CHECK_EQUAL(static_cast<int>(received[e * 8]), others[e] + 1);
      }
    }
  }
}

TEST(no_bytes_are_told_from_one_byte) {
  if (world_size() < 2) testing::skip("needs 2 ranks");
  sizes_that_differ(1, 0);
}

TEST(an_operator_that_does_not_fit_fails_each_time_and_spoils_nothing) {
  const Forgiving forgiving;
  const Duplicate comm;
  const int rank = world_rank(), size = world_size();
  const std::int64_t needed[] = {around(rank + 1, size)};
  HaloHandle halo;
  SUCCEEDS(vicinal_halo_create(comm, rank, rank + 1, 1, needed,
                               Hints{{"vicinal_regions", few_regions(size)}}, &halo));
  for (int round = 0; round < 3; ++round) {
    double owned = 1;
    const double given = 2;
    CHECK(vicinal_halo_reverse(halo, &owned, &given, 1, MPI_DOUBLE, MPI_BAND) != MPI_SUCCESS);
    owned = 1;
    SUCCEEDS(vicinal_halo_reverse(halo, &owned, &given, 1, MPI_DOUBLE, MPI_SUM));
    CHECK_EQUAL(owned, 3.0);
  }
}

}  // namespace vicinal::keeping_step_tests
