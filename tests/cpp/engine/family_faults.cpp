// Misuse of the neighborhood collectives. The faulty rank gets an error of the right class, and
// ranks that would wait for it get an error. No rank hangs.
#include <string>

#include "family.hpp"

namespace vicinal::family_faults_tests {
namespace {

using namespace testing;

/// A ring in which each rank also has an edge to itself.
struct Ring {
  int rank = world_rank();
  int size = world_size();
  Duplicate comm;
  std::vector<int> sources{around(rank - 1, size), rank};
  std::vector<int> destinations{around(rank + 1, size), rank};
  GraphHandle graph;
  std::int64_t sent[2] = {std::int64_t{10} * rank, std::int64_t{10} * rank + 1};
  std::int64_t received[2] = {-1, -1};

  explicit Ring(const std::string& strategy = "automatic") {
    SUCCEEDS(create_graph(
        comm, sources, destinations,
        Hints{{"vicinal_strategy", strategy}, {"vicinal_regions", few_regions(size)}}, &graph));
  }
  int alltoall(int count = 1) {
    return vicinal_neighbor_alltoall(sent, count, MPI_INT64_T, received, 1, MPI_INT64_T, graph);
  }
  int alltoallv(const std::vector<int>& counts = {1, 1}) {
    const std::vector<int> ones{1, 1}, places{0, 1};
    return vicinal_neighbor_alltoallv(sent, counts.data(), places.data(), MPI_INT64_T, received,
                                      ones.data(), places.data(), MPI_INT64_T, graph);
  }
  /// Makes one rank's call fail. The rank that receives from it fails as well; other ranks may.
  template <class Call>
  void one_fails(int error_class, const std::string& part, Call call) {
    const int culprit = size - 1;
    MPI_Barrier(MPI_COMM_WORLD);  // the other ranks have completed earlier calls
    const int code = call(rank == culprit);
    if (rank == culprit) {
      FAILS(error_class, code, part);
    } else if (rank == around(culprit + 1, size)) {
      FAILS(MPI_ERR_OTHER, code, "failed on rank");
    } else if (code != MPI_SUCCESS) {
      FAILS(MPI_ERR_OTHER, code, "failed on rank");
    }
  }
};

}  // namespace

TEST(a_call_of_one_failed_rank_is_heard_of) {
  {
    Ring ring;  // before there is a plan
    ring.one_fails(MPI_ERR_COUNT, "is -2", [&](bool bad) { return ring.alltoall(bad ? -2 : 1); });
  }
  for (const char* strategy : {"direct", "aggregate"}) {
    Ring ring(strategy);
    for (int i = 0; i < 6; ++i) SUCCEEDS(ring.alltoall());
    ring.one_fails(MPI_ERR_COUNT, "is -2", [&](bool bad) { return ring.alltoall(bad ? -2 : 1); });
    SUCCEEDS(ring.alltoall());
    CHECK_EQUAL(ring.received[0], std::int64_t{10} * ring.sources[0]);
  }
  {
    Ring ring;
    for (int i = 0; i < 3; ++i) SUCCEEDS(ring.alltoallv());
    ring.one_fails(MPI_ERR_COUNT, "sendcounts[1] is -1", [&](bool bad) {
      return ring.alltoallv(bad ? std::vector<int>{1, -1} : std::vector<int>{1, 1});
    });
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(blocks_of_two_sizes_on_one_rank) {
  Ring ring;
  FAILS(MPI_ERR_COUNT, ring.alltoall(2), "one size");
  SUCCEEDS(ring.alltoall());
  CHECK_EQUAL(ring.received[1], std::int64_t{10} * ring.rank + 1);
}

TEST(types_of_nothing_are_not_looked_at) {
  Ring ring;
  const std::vector<int> none{0, 0}, places{0, 1};
  const std::vector<MPI_Aint> offsets{0, 8};
  const std::vector<MPI_Datatype> types{MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  for (int iteration = 0; iteration < 10; ++iteration) {
    SUCCEEDS(vicinal_neighbor_alltoallv(ring.sent, none.data(), places.data(), MPI_DATATYPE_NULL,
                                        ring.received, none.data(), places.data(),
                                        MPI_DATATYPE_NULL, ring.graph));
    SUCCEEDS(vicinal_neighbor_alltoallw(ring.sent, none.data(), offsets.data(), types.data(),
                                        ring.received, none.data(), offsets.data(), types.data(),
                                        ring.graph));
    SUCCEEDS(vicinal_neighbor_allgather(ring.sent, 0, MPI_DATATYPE_NULL, ring.received, 0,
                                        MPI_DATATYPE_NULL, ring.graph));
  }
}

TEST(counts_that_differ_along_an_edge) {
  {
    Ring ring;  // to itself
    SUCCEEDS(ring.alltoallv());
    MPI_Barrier(MPI_COMM_WORLD);
    FAILS(MPI_ERR_COUNT, ring.alltoallv({1, 0}), "to itself");
  }
  if (world_size() > 1) {
    Ring ring;  // a receive of more than was sent
    SUCCEEDS(ring.alltoallv());
    MPI_Barrier(MPI_COMM_WORLD);
    FAILS(MPI_ERR_OTHER, ring.alltoallv({0, 1}), "sent nothing where 8 bytes were expected");
    MPI_Barrier(MPI_COMM_WORLD);
    // Only part of it is sent.
    const std::vector<int> eight{8, 0}, four{4, 0}, places{0, 8};
    FAILS(MPI_ERR_COUNT,
          vicinal_neighbor_alltoallv(ring.sent, four.data(), places.data(), MPI_CHAR, ring.received,
                                     eight.data(), places.data(), MPI_CHAR, ring.graph),
          "has sent 4 bytes where 8 were expected");
    SUCCEEDS(ring.alltoallv());
  }
  Ring ring;
  RequestHandle request;
  const std::vector<int> ones{1, 1}, places{0, 1};
  FAILS(MPI_ERR_COUNT,
        vicinal_neighbor_allgatherv_init(ring.sent, 2, MPI_INT64_T, ring.received, ones.data(),
                                         places.data(), MPI_INT64_T, ring.graph, MPI_INFO_NULL,
                                         &request),
        "differ");
}

TEST(buffers_that_cannot_be) {
  const std::vector<int> ones{1, 1};
  const std::vector<MPI_Aint> places{0, 8};
  const std::vector<MPI_Datatype> types{MPI_INT64_T, MPI_INT64_T};
  for (const bool persistent : {true, false}) {
    const auto allgather = [&](Ring& ring, const void* from, void* to) {
      RequestHandle request;
      return persistent
                 ? vicinal_neighbor_allgather_init(from, 1, MPI_INT64_T, to, 1, MPI_INT64_T,
                                                   ring.graph, MPI_INFO_NULL, &request)
                 : vicinal_neighbor_allgather(from, 1, MPI_INT64_T, to, 1, MPI_INT64_T, ring.graph);
    };
    Ring a, b, c, d;
    FAILS(MPI_ERR_BUFFER, allgather(a, nullptr, a.received), "send buffer is null");
    FAILS(MPI_ERR_BUFFER, allgather(b, b.sent, nullptr), "receive buffer is null");
    FAILS(MPI_ERR_BUFFER, allgather(c, MPI_IN_PLACE, c.received), "MPI_IN_PLACE");
    FAILS(MPI_ERR_BUFFER, allgather(d, d.sent, MPI_IN_PLACE), "MPI_IN_PLACE");
  }
  Ring ring;
  FAILS(MPI_ERR_ARG,
        vicinal_neighbor_alltoallw(ring.sent, ones.data(), places.data(), nullptr, ring.received,
                                   ones.data(), places.data(), types.data(), ring.graph),
        "null array of datatypes");
  // Addresses as displacements are valid.
  Ring fine;
  std::vector<MPI_Aint> from(2), to(2);
  for (std::size_t i = 0; i < 2; ++i) {
    MPI_Get_address(&fine.sent[i], &from[i]);
    MPI_Get_address(&fine.received[i], &to[i]);
  }
  SUCCEEDS(vicinal_neighbor_alltoallw(MPI_BOTTOM, ones.data(), from.data(), types.data(),
                                      MPI_BOTTOM, ones.data(), to.data(), types.data(),
                                      fine.graph));
  RequestHandle request;
  SUCCEEDS(vicinal_neighbor_alltoallw_init(MPI_BOTTOM, ones.data(), from.data(), types.data(),
                                           MPI_BOTTOM, ones.data(), to.data(), types.data(),
                                           fine.graph, MPI_INFO_NULL, &request));
  fine.received[0] = fine.received[1] = -1;
  SUCCEEDS(vicinal_start(&request));
  SUCCEEDS(vicinal_wait(&request));
  CHECK_EQUAL(fine.received[0], around(fine.rank - 1, fine.size) * 10);
  CHECK_EQUAL(fine.received[1], fine.rank * 10 + 1);
}

TEST(handles_that_are_null) {
  Ring ring;
  vicinal_request request = VICINAL_REQUEST_NULL;
  // Without a graph, the world's error handler applies.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  FAILS(MPI_ERR_ARG,
        vicinal_ineighbor_allgather(ring.sent, 1, MPI_INT64_T, ring.received, 1, MPI_INT64_T,
                                    VICINAL_GRAPH_NULL, &request),
        "null graph");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  FAILS(MPI_ERR_ARG,
        vicinal_ineighbor_allgather(ring.sent, 1, MPI_INT64_T, ring.received, 1, MPI_INT64_T,
                                    ring.graph, nullptr),
        "null request");
}

TEST(topologies_that_cannot_be) {
  const Duplicate plain;
  GraphHandle graph;
  FAILS(MPI_ERR_TOPOLOGY, vicinal_graph_create_from_topology(plain, MPI_INFO_NULL, &graph),
        "has no topology");
  CHECK(static_cast<vicinal_graph>(graph) == nullptr);
}

TEST(topologies_of_edges_that_one_end_names) {
  const int size = world_size();
  if (size < 2) skip("needs 2 ranks");
  const Duplicate plain;
  GraphHandle graph;
  // Rank 0 names rank 1 as a neighbor, but not the reverse.
  std::vector<int> index(static_cast<std::size_t>(size), 1);
  const std::vector<int> edges{1};
  MPI_Comm one_way = MPI_COMM_NULL;
  MPI_Graph_create(plain, size, index.data(), edges.data(), 0, &one_way);
  if (one_way == MPI_COMM_NULL) skip("this MPI makes no such topology");
  MPI_Comm_set_errhandler(one_way, MPI_ERRORS_RETURN);
  FAILS(MPI_ERR_TOPOLOGY, vicinal_graph_create_from_topology(one_way, MPI_INFO_NULL, &graph),
        "rank 0 names rank 1 1 times");
  MPI_Comm_free(&one_way);
}

}  // namespace vicinal::family_faults_tests
