/* A persistent all-to-all along a ring, from C11 with the public header alone: the form with
 * 32-bit counts, with 64-bit counts, and with identities. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vicinal/vicinal.h>

static int rank, size, faults;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (last message: %s)\n", rank, what, vicinal_error_message());
  ++faults;
}

static void run(vicinal_request* request, const int received[3], int sent[4], int left, int right) {
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 4; ++i) sent[i] = rank * 10000 + round * 10 + i % 2;
    expect(vicinal_start(request) == MPI_SUCCESS, "start");
    int done = 0;
    if (round % 2 == 0) {
      expect(vicinal_wait(request) == MPI_SUCCESS, "wait");
    } else {
      while (!done) expect(vicinal_test(request, &done) == MPI_SUCCESS, "test");
    }
    expect(received[0] == left * 10000 + round * 10 &&
               received[1] == left * 10000 + round * 10 + 1 &&
               received[2] == right * 10000 + round * 10,
           "the values of a round");
  }
  expect(vicinal_request_free(request) == MPI_SUCCESS && *request == VICINAL_REQUEST_NULL, "free");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int sources[2] = {left, right}, destinations[2] = {right, left};
  expect(strlen(vicinal_version()) >= 5, "the version");

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  expect(vicinal_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations,
                                       MPI_UNWEIGHTED, info, 0, &graph) == MPI_SUCCESS,
         "create a graph");

  int sent[4], received[3];
  const int send_counts[2] = {2, 1}, send_places[2] = {0, 2};
  const int receive_counts[2] = {2, 1}, receive_places[2] = {0, 2};
  vicinal_request request = VICINAL_REQUEST_NULL;
  expect(vicinal_neighbor_alltoallv_init(sent, send_counts, send_places, MPI_INT, received,
                                         receive_counts, receive_places, MPI_INT, graph,
                                         MPI_INFO_NULL, &request) == MPI_SUCCESS,
         "init");
  run(&request, received, sent, left, right);

  const MPI_Count large_counts[2] = {2, 1};
  const MPI_Aint large_places[2] = {0, 2};
  expect(vicinal_neighbor_alltoallv_init_c(sent, large_counts, large_places, MPI_INT, received,
                                           large_counts, large_places, MPI_INT, graph, info,
                                           &request) == MPI_SUCCESS,
         "init with 64-bit counts");
  run(&request, received, sent, left, right);

  const int64_t items[3] = {70, 71, 70}; /* left gets the first of right's two */
  expect(vicinal_neighbor_alltoallv_items_init(sent, send_counts, send_places, items, MPI_INT,
                                               received, receive_counts, receive_places, MPI_INT,
                                               graph, info, &request) == MPI_SUCCESS,
         "init with identities");
  run(&request, received, sent, left, right);

  expect(vicinal_graph_free(&graph) == MPI_SUCCESS && graph == VICINAL_GRAPH_NULL,
         "free the graph");
  MPI_Info_free(&info);
  MPI_Finalize();
  return faults > 0;
}
