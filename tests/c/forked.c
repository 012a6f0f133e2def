/* A process that a rank forks, and that ends normally, has no effect on the rank. Exchanges
 * continue before, while and after it ends; shared memory keeps its contents; the progress
 * thread continues. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vicinal/vicinal.h>

enum { values = 1 << 18, children = 5, patience = 20 };

static vicinal_graph graph = VICINAL_GRAPH_NULL;
static vicinal_halo halo = VICINAL_HALO_NULL;
static vicinal_request request = VICINAL_REQUEST_NULL;

/* Frees inherited objects in a child, which then ends by exit(). */
static void let_go(void) {
  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  vicinal_halo_free(&halo);
}

static int is_refused(int code) {
  return code != MPI_SUCCESS && strstr(vicinal_error_message(), "forked") != NULL;
}

/* Uses inherited objects in a child, which is refused. */
static int use(int rank, int size, double* sent, double* received) {
  double value = rank, ghost = -1;
  vicinal_graph another = VICINAL_GRAPH_NULL;
  vicinal_request nonblocking = VICINAL_REQUEST_NULL;
  int next = (rank + 1) % size;
  vicinal_progress();
  return is_refused(vicinal_wait(&request)) && is_refused(vicinal_start(&request)) &&
         is_refused(vicinal_halo_exchange(halo, &value, &ghost, 1, MPI_DOUBLE)) &&
         is_refused(
             vicinal_neighbor_alltoall(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, graph)) &&
         is_refused(vicinal_ineighbor_alltoall(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE, graph,
                                               &nonblocking)) &&
         is_refused(vicinal_neighbor_alltoall_init(sent, 1, MPI_DOUBLE, received, 1, MPI_DOUBLE,
                                                   graph, MPI_INFO_NULL, &nonblocking)) &&
         is_refused(vicinal_graph_create_adjacent(MPI_COMM_WORLD, 1, &next, MPI_UNWEIGHTED, 1,
                                                  &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                                  &another));
}

/* Returns whether the child has ended without error and in time. */
static int has_ended_well(pid_t child) {
  const struct timespec pause = {0, 10000000};
  for (int i = 0; i < patience * 100; ++i) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    nanosleep(&pause, NULL);
  }
  kill(child, SIGKILL);
  return 0;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  int others[2] = {(rank + size - 1) % size, (rank + 1) % size};
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, 2, others, MPI_UNWEIGHTED, 2, others,
                                MPI_UNWEIGHTED, info, 0, &graph);
  /* The blocks are so large that freeing them returns their memory to the system. */
  double* sent = malloc(2 * values * sizeof *sent);
  double* received = malloc(2 * values * sizeof *received);
  vicinal_neighbor_alltoall_init(sent, values, MPI_DOUBLE, received, values, MPI_DOUBLE, graph,
                                 info, &request);
  const int64_t needed = (rank + 1) % size;
  vicinal_halo_create(MPI_COMM_WORLD, rank, rank + 1, 1, &needed, info, &halo);
  int wrong = 0;
  for (int round = 0; round < children; ++round) {
    for (int i = 0; i < 2 * values; ++i) sent[i] = rank * 100 + round;
    vicinal_start(&request);
    /* While an exchange is in flight: a child that just ends, one that frees first, one that
     * uses objects. */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      if (round % 3 == 1) let_go();
      exit(round % 3 == 2 && !use(rank, size, sent, received));
    }
    if (!has_ended_well(child)) {
      printf("rank %d: child %d did not end well\n", rank, round);
      ++wrong;
    }
    vicinal_wait(&request);
    for (int i = 0; i < 2 * values; ++i) {
      wrong += received[i] != others[i / values] * 100 + round;
    }
    double value = rank, ghost = -1;
    vicinal_halo_exchange(halo, &value, &ghost, 1, MPI_DOUBLE);
    wrong += ghost != (double)needed;
  }
  let_go();
  free(sent);
  free(received);
  MPI_Info_free(&info);
  MPI_Finalize();
  if (wrong > 0) printf("rank %d: %d values or children are wrong\n", rank, wrong);
  return wrong > 0;
}
