/* Times MPI's neighborhood collectives in a program that knows nothing of vicinal.
 * tools/bench_preload.py runs it alternately with and without the preload library. Each output
 * line has a name, the number of calls, and seconds per call of each batch, on the slowest rank.
 *
 *   unmodified [random|stencil|tiny|gather|calls]
 *     random   64 values per rank, each needed by any other rank with probability 0.2
 *     stencil  27 points on a periodic grid of ranks: faces of 64 values, edges of 8, corners of 1
 *     tiny     one value with each neighbor in a ring
 *     gather   allgathers over all ranks
 *     calls    on one rank, calls without work, in processor time */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* GCC takes MPI_UNWEIGHTED for an array. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

enum { batches = 15, most_peers = 512 };

static int rank, ranks;
static int degree, peers[most_peers], send_counts[most_peers], receive_counts[most_peers];
static int sent_at[most_peers], received_at[most_peers], changed_send[most_peers],
    changed_receive[most_peers];
static double *sent, *received;
static int turn;

static uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

static int needed(int from, int to) {
  int count = 0;
  for (int value = 0; value < 64; ++value) {
    count += mixed(((uint64_t)from * 4096U + (uint64_t)to) * 64U + (uint64_t)value) % 1000 < 200;
  }
  return count;
}

static void random_exchange(void) {
  for (int other = 0; other < ranks; ++other) {
    if (other == rank) continue;
    peers[degree] = other;
    send_counts[degree] = needed(rank, other);
    receive_counts[degree++] = needed(other, rank);
  }
}

static void stencil(void) {
  int sizes[3] = {0}, periodic[3] = {1, 1, 1}, here[3];
  MPI_Comm grid;
  MPI_Dims_create(ranks, 3, sizes);
  MPI_Cart_create(MPI_COMM_WORLD, 3, sizes, periodic, 0, &grid);
  MPI_Cart_coords(grid, rank, 3, here);
  for (int x = -1; x <= 1; ++x) {
    for (int y = -1; y <= 1; ++y) {
      for (int z = -1; z <= 1; ++z) {
        int there[3] = {here[0] + x, here[1] + y, here[2] + z}, other;
        const int along = abs(x) + abs(y) + abs(z);
        MPI_Cart_rank(grid, there, &other);
        if (along == 0 || other == rank) continue;
        peers[degree] = other;
        send_counts[degree] = receive_counts[degree] = along == 1 ? 64 : along == 2 ? 8 : 1;
        ++degree;
      }
    }
  }
  MPI_Comm_free(&grid);
}

static void tiny(void) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  if (ranks > 1) peers[degree++] = before;
  if (ranks > 2) peers[degree++] = next;
  for (int i = 0; i < degree; ++i) send_counts[i] = receive_counts[i] = 1;
}

static MPI_Comm make_graph(void) {
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peers, MPI_UNWEIGHTED, degree, peers,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return graph;
}

static void call(const int* send, const int* receive, MPI_Comm graph) {
  MPI_Neighbor_alltoallv(sent, send, sent_at, MPI_DOUBLE, received, receive, received_at,
                         MPI_DOUBLE, graph);
}
static void blocking(MPI_Comm graph) { call(send_counts, receive_counts, graph); }
static void nonblocking(MPI_Comm graph) {
  MPI_Request request;
  MPI_Ineighbor_alltoallv(sent, send_counts, sent_at, MPI_DOUBLE, received, receive_counts,
                          received_at, MPI_DOUBLE, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
/* The edge from each rank to the next loses `turn` % 7 elements. */
static void one_edge_changes(MPI_Comm graph) {
  const int lost = turn++ % 7;
  for (int i = 0; i < degree; ++i) {
    const int to_next = peers[i] == (rank + 1) % ranks,
              from_before = peers[i] == (rank + ranks - 1) % ranks;
    changed_send[i] = to_next && send_counts[i] > lost ? send_counts[i] - lost : send_counts[i];
    changed_receive[i] =
        from_before && receive_counts[i] > lost ? receive_counts[i] - lost : receive_counts[i];
  }
  call(changed_send, changed_receive, graph);
}
static void two_sets(MPI_Comm graph) {
  const int half = turn++ % 2;
  for (int i = 0; i < degree; ++i) {
    changed_send[i] = half ? send_counts[i] / 2 : send_counts[i];
    changed_receive[i] = half ? receive_counts[i] / 2 : receive_counts[i];
  }
  call(changed_send, changed_receive, graph);
}
static void barrier(MPI_Comm graph) { MPI_Barrier(graph); }
static void message(MPI_Comm graph) {
  MPI_Request request;
  char nothing = 0;
  MPI_Irecv(&nothing, 0, MPI_CHAR, rank, 0, graph, &request);
  MPI_Send(&nothing, 0, MPI_CHAR, rank, 0, graph);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double slowest(double seconds) {
  double all;
  MPI_Allreduce(&seconds, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

static double timed(void (*run)(MPI_Comm), MPI_Comm graph, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) run(graph);
  return slowest(MPI_Wtime() - begin) / calls;
}

static void report(const char* name, int calls, const double* seconds, int count) {
  if (rank != 0) return;
  printf("%s %d", name, calls);
  for (int i = 0; i < count; ++i) printf(" %.9g", seconds[i]);
  printf("\n");
}

static void steady(const char* name, void (*run)(MPI_Comm), int calls) {
  MPI_Comm graph = make_graph();
  double seconds[batches];
  timed(run, graph, 40); /* the plan is in effect from call 8 on */
  for (int i = 0; i < batches; ++i) seconds[i] = timed(run, graph, calls);
  report(name, calls, seconds, batches);
  MPI_Comm_free(&graph);
}

static void neighbor_alltoallv(MPI_Comm graph) { call(send_counts, receive_counts, graph); }
static void wait_for_nothing(MPI_Comm graph) {
  (void)graph;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void wait_for_eight(MPI_Comm graph) {
  MPI_Request requests[8];
  for (int i = 0; i < 8; ++i) MPI_Irecv(NULL, 0, MPI_CHAR, MPI_PROC_NULL, 0, graph, &requests[i]);
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

static int block; /* bytes of each rank */
static void allgather(MPI_Comm comm) {
  MPI_Allgather(sent, block, MPI_CHAR, received, block, MPI_CHAR, comm);
}
static void allgather_begun(MPI_Comm comm) {
  MPI_Request request;
  MPI_Iallgather(sent, block, MPI_CHAR, received, block, MPI_CHAR, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void take_processor_time(const char* name, void (*run)(MPI_Comm), MPI_Comm graph) {
  enum { calls = 200000 };
  double seconds[batches];
  for (int i = -1; i < batches; ++i) {
    const clock_t begin = clock();
    for (int k = 0; k < calls; ++k) run(graph);
    if (i >= 0) seconds[i] = (double)(clock() - begin) / CLOCKS_PER_SEC / calls;
  }
  report(name, calls, seconds, batches);
}

/* Measures the cost of interposing between a program and its MPI. */
static int calls_of_nothing(void) {
  MPI_Comm graph = make_graph();
  take_processor_time("alltoallv", neighbor_alltoallv, graph);
  take_processor_time("allgather", allgather, graph);
  take_processor_time("wait", wait_for_nothing, graph);
  take_processor_time("waitall-of-8", wait_for_eight, graph);
  MPI_Comm_free(&graph);
  MPI_Finalize();
  return 0;
}

static void gather(void) {
  static const int sizes[] = {8, 64, 1024, 65536};
  enum { largest = 65536, long_loop = 600 };
  sent = calloc(largest, 1), received = calloc((size_t)ranks, largest);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  block = 8;
  double first = timed(allgather, comm, long_loop);
  report("from-the-first", long_loop, &first, 1);
  for (int k = 0; k < 4; ++k) {
    char name[32];
    double seconds[batches];
    block = sizes[k];
    const int calls = block == largest ? 2 : 20;
    timed(allgather, comm, 40); /* the plan is in effect from call 8 on */
    for (int i = 0; i < batches; ++i) seconds[i] = timed(allgather, comm, calls);
    snprintf(name, sizeof name, "blocking-%d", block);
    report(name, calls, seconds, batches);
    for (int i = 0; i < batches; ++i) seconds[i] = timed(allgather_begun, comm, calls);
    snprintf(name, sizeof name, "nonblocking-%d", block);
    report(name, calls, seconds, batches);
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* pattern = argc > 1 ? argv[1] : "random";
  if (strcmp(pattern, "calls") == 0) return calls_of_nothing();
  if (strcmp(pattern, "gather") == 0) {
    gather();
    MPI_Finalize();
    return 0;
  }
  strcmp(pattern, "tiny") == 0      ? tiny()
  : strcmp(pattern, "stencil") == 0 ? stencil()
                                    : random_exchange();
  int all_sent = 0, all_received = 0;
  for (int i = 0; i < degree; ++i) {
    sent_at[i] = all_sent, received_at[i] = all_received;
    all_sent += send_counts[i], all_received += receive_counts[i];
  }
  sent = calloc((size_t)all_sent + 1, sizeof *sent),
  received = calloc((size_t)all_received + 1, sizeof *received);

  double creation[batches], first[5];
  for (int i = 0; i < batches; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Comm graph = make_graph();
    creation[i] = slowest(MPI_Wtime() - begin);
    MPI_Comm_free(&graph);
  }
  report("first-creation", 1, creation, 1);
  report("creation", 1, creation + 1, batches - 1);
  for (int i = 0; i < 5; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    MPI_Comm graph = make_graph();
    for (int k = 0; k < 200; ++k) blocking(graph);
    first[i] = slowest(MPI_Wtime() - begin) / 200;
    MPI_Comm_free(&graph);
  }
  report("from-the-first", 200, first, 5);
  const int calls = strcmp(pattern, "tiny") == 0 ? 2000 : 50;
  steady("blocking", blocking, calls);
  steady("nonblocking", nonblocking, calls);
  steady("one-edge-changes", one_edge_changes, calls);
  steady("two-sets", two_sets, calls);
  steady("barrier", barrier, calls);
  steady("message-to-self", message, 20000);
  MPI_Finalize();
  return 0;
}
