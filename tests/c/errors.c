/* Errors as a C program sees them: a class through the communicator's error handler, and a
 * message. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vicinal/vicinal.h>

static int rank, size, faults, handled;

static void expect_error(int code, int expected, const char* part, const char* what) {
  if (code == expected && strstr(vicinal_error_message(), part) != NULL) return;
  fprintf(stderr, "rank %d: %s gave class %d, not %d, and says: %s\n", rank, what, code, expected,
          vicinal_error_message());
  ++faults;
}

static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++handled;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(comm, handler);

  if (strcmp(vicinal_error_message(), "") != 0) ++faults;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size, nowhere = size;
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  expect_error(vicinal_graph_create_adjacent(comm, 1, &last, MPI_UNWEIGHTED, 1, &nowhere,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph),
               MPI_ERR_RANK, "the communicator has ranks 0 to", "a destination that is no rank");
  expect_error(vicinal_set_regions(comm, "list:"), MPI_ERR_TOPOLOGY, "list", "a bad region text");
  if (vicinal_graph_create_adjacent(comm, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &graph) != MPI_SUCCESS) {
    ++faults;
  }

  int sent = rank, received = -1;
  const int one = 1, negative = -1, none = 0;
  vicinal_request request = VICINAL_REQUEST_NULL;
  expect_error(vicinal_neighbor_alltoallv_init(&sent, &negative, &none, MPI_INT, &received, &one,
                                               &none, MPI_INT, graph, MPI_INFO_NULL, &request),
               MPI_ERR_COUNT, "is -1", "a negative count");
  expect_error(vicinal_neighbor_alltoallv_init(NULL, &one, &none, MPI_INT, &received, &one, &none,
                                               MPI_INT, graph, MPI_INFO_NULL, &request),
               MPI_ERR_BUFFER, "send buffer is null", "a null buffer");
  if (vicinal_neighbor_alltoallv_init(&sent, &one, &none, MPI_INT, &received, &one, &none, MPI_INT,
                                      graph, MPI_INFO_NULL, &request) != MPI_SUCCESS) {
    ++faults;
  }
  if (vicinal_start(&request) != MPI_SUCCESS) ++faults;
  expect_error(vicinal_start(&request), MPI_ERR_REQUEST, "started again", "a second start");
  if (vicinal_wait(&request) != MPI_SUCCESS || received != last) ++faults;

  /* Halos report errors on all ranks. */
  const int64_t missing = size;
  vicinal_halo halo = VICINAL_HALO_NULL;
  expect_error(vicinal_halo_create(comm, rank, rank + 1, 1, &missing, MPI_INFO_NULL, &halo),
               MPI_ERR_ARG, "own", "an index that nobody owns");

  if (handled != 6) {
    fprintf(stderr, "rank %d: the error handler was called %d times\n", rank, handled);
    ++faults;
  }
  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return faults > 0;
}
