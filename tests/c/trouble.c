/* A program with failures, for tests/test_trouble.py. `trouble killed`: the last rank kills
 * itself during an exchange. `trouble dump FILE`: rank 0 waits for the others, which continue
 * only after a signal has made it write to FILE. `trouble dump-testing FILE`: likewise, but
 * ranks test and never wait. `trouble late MILLISECONDS`: the last rank comes that much later.
 * `trouble order LOG`: rank 0 creates a halo, other ranks a graph; each ends when the logs
 * LOG.RANK say that all ranks wait. Without an argument, no failure occurs. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <vicinal/vicinal.h>

enum { rounds = 40, most = 64 };

static int size;
static const char* log_path;

static int says_that_it_waits(int rank) {
  char path[1000];
  snprintf(path, sizeof path, "%s.%d", log_path, rank);
  FILE* file = fopen(path, "r");
  if (file == NULL) return 0;
  char text[1 << 12];
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return strstr(text, " waits for ") != NULL;
}

static void await_report(int rank) {
  const struct timespec pause = {0, 10000000};
  while (!says_that_it_waits(rank)) nanosleep(&pause, NULL);
}

static void* end_once_all_wait(void* nothing) {
  for (int rank = size - 1; rank >= 0; --rank) await_report(rank);
  _exit(0);
  return nothing;
}

static void call_out_of_order(int rank) {
  const int64_t needed = (rank + 1) % size;
  vicinal_halo halo = VICINAL_HALO_NULL;
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  pthread_t watcher;
  if (rank == 0) await_report(1);
  pthread_create(&watcher, NULL, end_once_all_wait, NULL);
  if (rank == 0) {
    vicinal_halo_create(MPI_COMM_WORLD, rank, rank + 1, 1, &needed, MPI_INFO_NULL, &halo);
  } else {
    vicinal_graph_create_complete(MPI_COMM_WORLD, MPI_INFO_NULL, &graph);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
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
  /* A second graph without relays or its own plan. */
  vicinal_graph straight = VICINAL_GRAPH_NULL;
  vicinal_request call = VICINAL_REQUEST_NULL;
  int arrived[most];
  MPI_Info_set(info, "vicinal_strategy", "direct");
  vicinal_graph_create_complete(MPI_COMM_WORLD, info, &straight);
  vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, arrived, counts, places, MPI_INT,
                             straight);
  if (strcmp(trouble, "order") == 0) {
    log_path = argv[2];
    call_out_of_order(rank);
  }
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
