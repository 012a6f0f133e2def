/* Reports of waiting ranks, for tests/test_trouble.py. With `slow FILE`, rank 0 reports there.
 * The last rank enters each operation only after rank 0 has reported that it waits. Without an
 * argument, no rank is late. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <vicinal/vicinal.h>

enum { most = 64 };

static int rank, size;
static const char* path;

/* Returns whether rank 0 has reported a wait since it wrote `what`. */
static int waits(const char* what) {
  static char text[1 << 16];
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char* since = strstr(text, what);
  return since != NULL && strstr(since, " waits for ") != NULL;
}

/* Lets all ranks reach this point, then delays the last rank. */
static void before(const char* what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (path == NULL) return;
  if (rank == 0) fprintf(stderr, "%s:\n", what);
  const struct timespec pause = {0, 10000000};
  while (rank == size - 1 && !waits(what)) nanosleep(&pause, NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    path = argv[1];
    if (rank == 0 && freopen(path, "w", stderr) == NULL) return 2;
    if (rank == 0) setvbuf(stderr, NULL, _IONBF, 0);
  }

  int others[most], counts[most], places[most], sent[most], received[most], again[most];
  for (int i = 0; i < size && i < most; ++i) {
    others[i] = i;
    counts[i] = 1;
    places[i] = i;
    sent[i] = rank * most + i;
  }
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:1");
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request requests[2] = {VICINAL_REQUEST_NULL, VICINAL_REQUEST_NULL};
  int wrong = 0;

  before("communicator");
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, size, others, MPI_UNWEIGHTED, size, others,
                                MPI_UNWEIGHTED, info, 0, &graph);
  before("plan");
  vicinal_neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph);
  for (int i = 0; i < size; ++i) wrong += received[i] != i * most + rank;
  before("planned");
  vicinal_neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph);
  vicinal_neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                                  graph, info, &requests[0]);
  before("direct");
  vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, again, counts, places, MPI_INT, graph);
  for (int i = 0; i < size; ++i) wrong += again[i] != i * most + rank;
  before("any");
  vicinal_start(&requests[0]);
  vicinal_ineighbor_alltoallv(sent, counts, places, MPI_INT, again, counts, places, MPI_INT, graph,
                              &requests[1]);
  int which = -1;
  vicinal_waitany(2, requests, &which);
  vicinal_waitall(2, requests);
  for (int i = 0; i < size; ++i) wrong += received[i] != i * most + rank;
  before("sparse");
  const int next = (rank + 1) % size, one = 1, none = 0;
  vicinal_received messages = VICINAL_RECEIVED_NULL;
  vicinal_sparse_alltoallv(&rank, 1, &next, &one, &none, MPI_INT, MPI_INT, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &messages);
  vicinal_received_free(&messages);

  MPI_Barrier(MPI_COMM_WORLD);
  vicinal_request_free(&requests[0]);
  vicinal_graph_free(&graph);
  MPI_Info_free(&info);
  MPI_Finalize();
  return wrong > 0;
}
