/* Under MPI_THREAD_FUNNELED, threads that never call MPI produce partitions of a ring exchange
 * and mark them ready, while the main thread waits. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <vicinal/vicinal.h>

enum { threads = 3, each = 4, rounds = 50, elements = threads * each * 5 };

static int rank, size, round_now;
static int sent[2][elements];
static vicinal_request request = VICINAL_REQUEST_NULL;

static int value(int from, int edge, int element, int in_round) {
  return ((in_round * size + from) * 2 + edge) * elements + element;
}

/* Produces this thread's partitions for both neighbours. */
static void* make(void* number) {
  const int thread = *(const int*)number, part = elements / (threads * each);
  for (int i = 0; i < each; ++i) {
    const int partition = i * threads + thread;
    for (int edge = 0; edge < 2; ++edge) {
      for (int k = partition * part; k < (partition + 1) * part; ++k) {
        sent[edge][k] = value(rank, edge, k, round_now);
      }
      if (vicinal_pready(request, edge, partition) != MPI_SUCCESS) abort();
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0, wrong = 0, received[2][elements];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int neighbours[2] = {(rank + 1) % size, (rank + size - 1) % size};
  const int counts[2] = {elements, elements}, places[2] = {0, elements};
  const int parts[2] = {threads * each, threads * each}, others[2] = {1, elements};
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  const int sources[2] = {neighbours[1], neighbours[0]};
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, neighbours,
                                MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  vicinal_neighbor_alltoallv_partitioned_init(sent, counts, places, parts, MPI_INT, received,
                                              counts, places, others, MPI_INT, graph, MPI_INFO_NULL,
                                              &request);
  for (round_now = 0; round_now < rounds; ++round_now) {
    pthread_t team[threads];
    int numbers[threads];
    vicinal_start(&request);
    for (int i = 0; i < threads; ++i) {
      numbers[i] = i;
      if (pthread_create(&team[i], NULL, make, &numbers[i]) != 0) abort();
    }
    vicinal_wait(&request);
    for (int i = 0; i < threads; ++i) pthread_join(team[i], NULL);
    for (int edge = 0; edge < 2; ++edge) {
      for (int k = 0; k < elements; ++k) {
        wrong += received[edge][k] != value(sources[edge], edge, k, round_now);
      }
    }
  }
  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, thread level %d\n", wrong, provided);
  MPI_Finalize();
  return wrong != 0;
}
