/* A program in trouble, for tests/test_trouble.py. `trouble killed`: the last rank kills itself in the
 * middle of an exchange. `trouble dump FILE`: rank 0 waits for the others, who come only once it has
 * written to FILE, as a signal has asked it to; `trouble dump-testing FILE`: the same where ranks test and
 * never wait. `trouble late MILLISECONDS`: the last rank comes so much
 * later. Without an argument nothing happens in the middle. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <vicinal/vicinal.h>

enum { rounds = 40, most = 64 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* trouble = argc > 1 ? argv[1] : "";

  /* All to all, relayed. */
  int others[most], counts[most], places[most], sent[most], received[most];
  for (int i = 0; i < size && i < most; ++i) {
    others[i] = i;
    counts[i] = 1;
    places[i] = i;
    sent[i] = rank * most + i;
  }
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request request = VICINAL_REQUEST_NULL;
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, size, others, MPI_UNWEIGHTED, size, others,
                                MPI_UNWEIGHTED, info, 0, &graph);
  vicinal_neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                                  graph, info, &request);
  /* And once straight, without a plan of its own. */
  vicinal_graph straight = VICINAL_GRAPH_NULL;
  vicinal_request call = VICINAL_REQUEST_NULL;
  int arrived[most];
  MPI_Info_set(info, "vicinal_strategy", "direct");
  vicinal_graph_create_complete(MPI_COMM_WORLD, info, &straight);
  vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, arrived, counts, places, MPI_INT,
                             straight);
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    if (strcmp(trouble, "killed") == 0 && round == rounds / 2 && rank == size - 1) {
      vicinal_start(&request);
      kill(getpid(), SIGKILL);
    }
    if (strcmp(trouble, "late") == 0 && round == rounds / 2 && rank == size - 1) {
      const long milliseconds = strtol(argv[2], NULL, 10);
      const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
      nanosleep(&pause, NULL);
    }
    if (strncmp(trouble, "dump", 4) == 0 && round == rounds / 2) {
      if (rank == 0) {
        if (freopen(argv[2], "w", stderr) == NULL) return 2;
        setvbuf(stderr, NULL, _IONBF, 0);
        raise(SIGUSR1);
      } else {
        struct stat file;
        const struct timespec pause = {0, 10000000};
        while (stat(argv[2], &file) != 0 || file.st_size == 0) nanosleep(&pause, NULL);
      }
    }
    vicinal_ineighbor_alltoallv(sent, counts, places, MPI_INT, arrived, counts, places, MPI_INT,
                                straight, &call);
    vicinal_start(&request);
    for (int done = strcmp(trouble, "dump-testing") != 0; done == 0;) vicinal_test(&request, &done);
    vicinal_wait(&request);
    vicinal_wait(&call);
    for (int i = 0; i < size; ++i) wrong += arrived[i] != i * most + rank;
    for (int i = 0; i < size; ++i) wrong += received[i] != i * most + rank;
  }
  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  vicinal_graph_free(&straight);
  MPI_Info_free(&info);
  MPI_Finalize();
  return wrong > 0;
}
