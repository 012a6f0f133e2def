// Faults and disagreements in discovery: graphs from one side, sparse exchanges, queries, halos.
// One rank fails, or gets other arguments, and no rank waits for it forever.
#include <array>
#include <string>
#include <vector>

#include "base/setting.hpp"
#include "world.hpp"

namespace vicinal::discovery_faults_tests {
namespace {

using namespace testing;

using ReceivedHandle = Owned<vicinal_received, vicinal_received_free>;

struct Asker {
  int rank = world_rank();
  int size = world_size();
  bool last = rank == size - 1;
  int next = around(rank + 1, size);
  Duplicate comm;

  /// Returns the error class on the last rank for its own fault, and on the other ranks.
  [[nodiscard]] int error(int own) const { return last ? own : MPI_ERR_OTHER; }
};

/// Every rank sends its number to the next one.
void exchange_numbers(const Asker& at, MPI_Info info) {
  const int one = 1, none = 0;
  ReceivedHandle received;
  SUCCEEDS(vicinal_sparse_alltoallv(&at.rank, 1, &at.next, &one, &none, MPI_INT, MPI_INT, at.comm,
                                    info, &received));
  const void* data = nullptr;
  SUCCEEDS(vicinal_received_get(received, nullptr, nullptr, nullptr, nullptr, &data));
  CHECK_EQUAL(*static_cast<const int*>(data), around(at.rank - 1, at.size));
}

constexpr std::array<std::array<const char*, 2>, 5> settings{{{"vicinal_regions", "blocks:1"},
                                                              {"vicinal_regions", "blocks:2"},
                                                              {"vicinal_exchange", "nonblocking"},
                                                              {"vicinal_exchange", "personalized"},
                                                              {"vicinal_local", "messages"}}};

}  // namespace

TEST(faults_of_graphs_from_one_side_are_told_whatever_the_settings) {
  const Asker at;
  for (const auto& [key, value] : settings) {
    const Hints hints{{key, value}};
    const int wrong = at.last ? at.size : at.next, degree = at.last ? -1 : 1;
    GraphHandle graph;
    FAILS(at.error(MPI_ERR_RANK),
          vicinal_graph_create_from_destinations(at.comm, 1, &wrong, hints, &graph),
          "communicator has ranks 0 to");
    FAILS(at.error(MPI_ERR_ARG),
          vicinal_graph_create_from_sources(at.comm, degree, &at.next, hints, &graph), "is -1");
    FAILS(
        at.error(MPI_ERR_ARG),
        vicinal_graph_create_from_sources(at.comm, 1, &at.next, hints, at.last ? nullptr : &graph),
        "null");
    SUCCEEDS(vicinal_graph_create_from_sources(at.comm, 1, &at.next, hints, &graph));
  }
}

TEST(settings_of_what_ranks_find_out_together_are_compared) {
  const Asker at;
  if (at.size < 2) skip("needs 2 ranks");
  if (environment_value("vicinal_exchange")) skip("the environment wins");
  const Hints hints{{"vicinal_exchange", at.last ? "personalized" : "nonblocking"}};
  GraphHandle graph;
  FAILS(MPI_ERR_INFO_VALUE, vicinal_graph_create_from_sources(at.comm, 1, &at.next, hints, &graph),
        "vicinal_exchange is 'nonblocking' on rank 0, but 'personalized' on rank");
  const int one = 1, none = 0;
  ReceivedHandle received;
  FAILS(MPI_ERR_INFO_VALUE,
        vicinal_sparse_alltoallv(&at.rank, 1, &at.next, &one, &none, MPI_INT, MPI_INT, at.comm,
                                 hints, &received),
        "vicinal_exchange is 'nonblocking' on rank 0, but 'personalized' on rank");
  const Hints typing_error{{"vicinal_exchange", at.last ? "fastest" : "nonblocking"}};
  FAILS(at.error(MPI_ERR_INFO_VALUE),
        vicinal_sparse_alltoallv(&at.rank, 1, &at.next, &one, &none, MPI_INT, MPI_INT, at.comm,
                                 typing_error, &received),
        "vicinal_exchange is 'fastest', but 'automatic', 'personalized'");
  exchange_numbers(at, Hints{{"vicinal_exchange", "nonblocking"}});
  // Default regions, which no info key names.
  SUCCEEDS(vicinal_set_regions(at.comm, at.last ? "blocks:1" : "blocks:2"));
  const std::int64_t needed = at.next;
  HaloHandle halo;
  FAILS(MPI_ERR_INFO_VALUE,
        vicinal_halo_create(at.comm, at.rank, at.rank + 1, 1, &needed, MPI_INFO_NULL, &halo),
        "vicinal_regions is 'blocks:2' on rank 0, but 'blocks:1' on rank");
}

TEST(a_halo_without_a_place_for_its_handle_is_told_to_all) {
  const Asker at;
  const std::int64_t needed = at.next;
  HaloHandle halo;
  FAILS(at.error(MPI_ERR_ARG),
        vicinal_halo_create(at.comm, at.rank, at.rank + 1, 1, &needed, MPI_INFO_NULL,
                            at.last ? nullptr : &halo),
        "null");
}

TEST(messages_without_memory_to_pack_them_are_told_to_all) {
#if defined(SANITIZED)
  skip("the address sanitizer ends who asks for too much memory");
#endif
  const Asker at;
  exchange_numbers(at, MPI_INFO_NULL);
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
  MPI_Type_commit(&gaps);
  const MPI_Aint start = 0;
  const MPI_Count too_much = at.last ? MPI_Count{1} << 48U : 0;
  ReceivedHandle received;
  FAILS(at.error(MPI_ERR_NO_MEM),
        vicinal_sparse_alltoallv_c(&at.rank, 1, &at.next, &too_much, &start, gaps, MPI_INT, at.comm,
                                   MPI_INFO_NULL, &received),
        "");
  MPI_Type_free(&gaps);
  exchange_numbers(at, MPI_INFO_NULL);
}

TEST(messages_of_more_bytes_than_mpi_can_take_are_told_to_all) {
  const Asker at;
  exchange_numbers(at, MPI_INFO_NULL);
  const MPI_Aint start = 0;
  const MPI_Count too_long = at.last ? MPI_Count{1} << 52U : 0;
  ReceivedHandle received;
  FAILS(at.error(MPI_ERR_COUNT),
        vicinal_sparse_alltoallv_c(&at.rank, 1, &at.next, &too_long, &start, MPI_BYTE, MPI_BYTE,
                                   at.comm, MPI_INFO_NULL, &received),
        "bytes; at most");
  exchange_numbers(at, MPI_INFO_NULL);
}

TEST(a_request_that_cannot_be_read_is_refused_to_who_asks) {
  const Asker at;
  if (at.size < 2) skip("needs 2 ranks");
  for (const char* method : {"personalized", "nonblocking", "locality"}) {
    const Hints hints{{"vicinal_exchange", method}, {"vicinal_regions", few_regions(at.size)}};
    const bool all_meet = std::string(method) == "locality";
    // Rank 0 queries the last rank, which reads the request with a longer type.
    const int to = at.size - 1, one = 1, none = 0, asks = at.rank == 0 ? 1 : 0;
    ReceivedHandle requests, replies;
    const auto ask = [&](MPI_Datatype received) {
      return vicinal_sparse_query(&at.rank, asks, &to, &one, &none, MPI_INT, received, at.comm,
                                  hints, &requests);
    };
    if (at.last) {
      FAILS(MPI_ERR_COUNT, ask(MPI_DOUBLE), "no whole number of elements");
    } else {
      SUCCEEDS(ask(MPI_INT));
      const int code =
          vicinal_sparse_answer(requests, nullptr, nullptr, nullptr, MPI_INT, MPI_INT, &replies);
      CHECK_EQUAL(code, at.rank == 0 || all_meet ? MPI_ERR_OTHER : MPI_SUCCESS);
    }
    requests.free();
    replies.free();
    // The next query succeeds.
    SUCCEEDS(ask(MPI_INT));
    const int answer = 7;
    SUCCEEDS(vicinal_sparse_answer(requests, &answer, &one, &none, MPI_INT, MPI_INT, &replies));
    int messages = 0;
    SUCCEEDS(vicinal_received_get(replies, &messages, nullptr, nullptr, nullptr, nullptr));
    CHECK_EQUAL(messages, asks);
  }
}

TEST(a_query_is_answered_once_and_nothing_else_is) {
  const Asker at;
  const int one = 1, none = 0;
  ReceivedHandle requests, replies, received;
  SUCCEEDS(vicinal_sparse_query(&at.rank, 1, &at.next, &one, &none, MPI_INT, MPI_INT, at.comm,
                                MPI_INFO_NULL, &requests));
  const auto answer = [&](vicinal_received what) {
    return vicinal_sparse_answer(what, &at.rank, &one, &none, MPI_INT, MPI_INT, &replies);
  };
  SUCCEEDS(answer(requests));
  FAILS(MPI_ERR_ARG, answer(requests), "answered already");
  SUCCEEDS(vicinal_sparse_alltoallv(&at.rank, 1, &at.next, &one, &none, MPI_INT, MPI_INT, at.comm,
                                    MPI_INFO_NULL, &received));
  FAILS(MPI_ERR_ARG, answer(received), "no requests");
}

TEST(arrays_of_a_halo_that_cannot_be_are_told_to_its_neighbours) {
  const Asker at;
  if (at.size < 2) skip("needs 2 ranks");
  const std::int64_t needed = at.next;
  constexpr std::array<std::array<const char*, 2>, 2> carriers{
      {{"aggregate", "shared"}, {"direct", "messages"}}};
  for (const auto& [strategy, local] : carriers) {
    HaloHandle halo;
    SUCCEEDS(vicinal_halo_create(at.comm, at.rank, at.rank + 1, 1, &needed,
                                 Hints{{"vicinal_regions", few_regions(at.size)},
                                       {"vicinal_strategy", strategy},
                                       {"vicinal_local", local},
                                       {"vicinal_in_flight", "1"}},
                                 &halo));
    for (const bool in_place : {false, true}) {
      // The last rank's neighbors fail, even if the same requests succeeded before.
      double mine = at.rank, ghost = -1, sum = 0;
      void* const none = in_place ? MPI_IN_PLACE : nullptr;
      const int code = vicinal_halo_exchange(halo, at.last ? none : &mine, &ghost, 1, MPI_DOUBLE);
      if (at.last) CHECK_EQUAL(code, MPI_ERR_BUFFER);
      if (at.next == at.size - 1) CHECK_EQUAL(code, MPI_ERR_OTHER);
      MPI_Barrier(at.comm);
      const int back =
          vicinal_halo_reverse(halo, &sum, at.last ? none : &ghost, 1, MPI_DOUBLE, MPI_SUM);
      if (at.last) CHECK_EQUAL(back, MPI_ERR_BUFFER);
      if (at.rank == 0) CHECK_EQUAL(back, MPI_ERR_OTHER);
      MPI_Barrier(at.comm);
      SUCCEEDS(vicinal_halo_exchange(halo, &mine, &ghost, 1, MPI_DOUBLE));
      CHECK_EQUAL(ghost, at.next);
      SUCCEEDS(vicinal_halo_reverse(halo, &sum, &ghost, 1, MPI_DOUBLE, MPI_SUM));
    }
  }
}

}  // namespace vicinal::discovery_faults_tests
