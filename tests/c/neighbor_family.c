/* Calls each function of the neighborhood collectives once, from C11 with the public header
 * alone. Uses a ring made by hand, and a Cartesian one. */
#include <mpi.h>
#include <stdio.h>
#include <vicinal/vicinal.h>

static int rank, size, faults;
static vicinal_graph graph;
static vicinal_request request;

static int sent[2], received[2];
static const int counts[2] = {1, 1}, places[2] = {0, 1};
static const MPI_Count large_counts[2] = {1, 1};
static const MPI_Aint large_places[2] = {0, 1}, bytes[2] = {0, sizeof(int)};
static MPI_Datatype types[2];

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (last message: %s)\n", rank, what, vicinal_error_message());
  ++faults;
}

/* Entry 0 of the buffers belongs to the left neighbour, entry 1 to the right one. */
static void verify(int code, int gathers, int form, const char* what) {
  expect(code == MPI_SUCCESS, what);
  if (form == 2) expect(vicinal_start(&request) == MPI_SUCCESS, what);
  if (form >= 1) expect(vicinal_wait(&request) == MPI_SUCCESS, what);
  if (form == 2) expect(vicinal_request_free(&request) == MPI_SUCCESS, what);
  expect(request == VICINAL_REQUEST_NULL, what);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  expect(received[0] == left * 10 + (gathers ? 0 : 1) && received[1] == right * 10, what);
  received[0] = received[1] = -1;
}

#define BOTH_FORMS(name, gathers, ...)                                    \
  verify(vicinal_neighbor_##name(__VA_ARGS__, graph), gathers, 0, #name); \
  verify(vicinal_ineighbor_##name(__VA_ARGS__, graph, &request), gathers, 1, "i" #name)

static void run(void) {
  sent[0] = rank * 10;
  sent[1] = rank * 10 + 1;
  received[0] = received[1] = -1;

  BOTH_FORMS(alltoall, 0, sent, 1, MPI_INT, received, 1, MPI_INT);
  BOTH_FORMS(alltoall_c, 0, sent, 1, MPI_INT, received, 1, MPI_INT);
  verify(vicinal_neighbor_alltoall_init(sent, 1, MPI_INT, received, 1, MPI_INT, graph,
                                        MPI_INFO_NULL, &request),
         0, 2, "alltoall_init");
  verify(vicinal_neighbor_alltoall_init_c(sent, 1, MPI_INT, received, 1, MPI_INT, graph,
                                          MPI_INFO_NULL, &request),
         0, 2, "alltoall_init_c");

  BOTH_FORMS(alltoallv, 0, sent, counts, places, MPI_INT, received, counts, places, MPI_INT);
  BOTH_FORMS(alltoallv_c, 0, sent, large_counts, large_places, MPI_INT, received, large_counts,
             large_places, MPI_INT);
  verify(vicinal_neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts, places,
                                         MPI_INT, graph, MPI_INFO_NULL, &request),
         0, 2, "alltoallv_init");
  verify(vicinal_neighbor_alltoallv_init_c(sent, large_counts, large_places, MPI_INT, received,
                                           large_counts, large_places, MPI_INT, graph,
                                           MPI_INFO_NULL, &request),
         0, 2, "alltoallv_init_c");

  BOTH_FORMS(alltoallw, 0, sent, counts, bytes, types, received, counts, bytes, types);
  BOTH_FORMS(alltoallw_c, 0, sent, large_counts, bytes, types, received, large_counts, bytes,
             types);
  verify(vicinal_neighbor_alltoallw_init(sent, counts, bytes, types, received, counts, bytes, types,
                                         graph, MPI_INFO_NULL, &request),
         0, 2, "alltoallw_init");
  verify(vicinal_neighbor_alltoallw_init_c(sent, large_counts, bytes, types, received, large_counts,
                                           bytes, types, graph, MPI_INFO_NULL, &request),
         0, 2, "alltoallw_init_c");

  BOTH_FORMS(allgather, 1, sent, 1, MPI_INT, received, 1, MPI_INT);
  BOTH_FORMS(allgather_c, 1, sent, 1, MPI_INT, received, 1, MPI_INT);
  verify(vicinal_neighbor_allgather_init(sent, 1, MPI_INT, received, 1, MPI_INT, graph,
                                         MPI_INFO_NULL, &request),
         1, 2, "allgather_init");
  verify(vicinal_neighbor_allgather_init_c(sent, 1, MPI_INT, received, 1, MPI_INT, graph,
                                           MPI_INFO_NULL, &request),
         1, 2, "allgather_init_c");

  BOTH_FORMS(allgatherv, 1, sent, 1, MPI_INT, received, counts, places, MPI_INT);
  BOTH_FORMS(allgatherv_c, 1, sent, 1, MPI_INT, received, large_counts, large_places, MPI_INT);
  verify(vicinal_neighbor_allgatherv_init(sent, 1, MPI_INT, received, counts, places, MPI_INT,
                                          graph, MPI_INFO_NULL, &request),
         1, 2, "allgatherv_init");
  verify(vicinal_neighbor_allgatherv_init_c(sent, 1, MPI_INT, received, large_counts, large_places,
                                            MPI_INT, graph, MPI_INFO_NULL, &request),
         1, 2, "allgatherv_init_c");
  expect(vicinal_graph_free(&graph) == MPI_SUCCESS, "free the graph");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  types[0] = types[1] = MPI_INT;

  /* Edges between two ranks pair in order. On one or two ranks, both neighbours are the same
   * rank. */
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int destinations[2] = {left, right}, sources[2] = {left, right};
  if (size > 2) {
    expect(
        vicinal_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph) == MPI_SUCCESS,
        "create a graph");
    run();
  }

  const int around = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &around, 0, &ring);
  expect(vicinal_graph_create_from_topology(ring, MPI_INFO_NULL, &graph) == MPI_SUCCESS,
         "create a graph from a topology");
  run();
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return faults > 0;
}
