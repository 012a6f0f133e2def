/* Calls with changing buffers: values must be right, and memory must not grow. `rebinding WAY
 * CALLS STRATEGY` measures; WAY is halo, init (a new persistent request each time) or
 * nonblocking. It fails if a rank's writable memory grows after the first tenth of the calls by
 * more than 1 MiB and 16 bytes a call. This limit is less than the smallest possible leak, and
 * more than MPI retains when a rank is late. Without arguments, all forms run a few times, for
 * their values. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vicinal/vicinal.h>

enum { sets = 3, count = 64 };

static int rank, size, before, after;
static int neighbours[2];
static vicinal_graph graph = VICINAL_GRAPH_NULL;
static vicinal_halo halo = VICINAL_HALO_NULL;
static MPI_Info info;
static double sent[sets][2 * count], received[sets][2 * count];

/* Returns mapped rather than resident memory: the kernel may page memory out and in. */
static long writable(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*d %*d %*d %*d %*d %ld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static void exchange(const char* way, double* from, double* to) {
  const int counts[] = {count, count}, places[] = {0, count};
  vicinal_request request = VICINAL_REQUEST_NULL;
  if (strcmp(way, "halo") == 0) {
    vicinal_halo_exchange(halo, from, to, 1, MPI_DOUBLE);
    return;
  }
  if (strcmp(way, "init") == 0) {
    vicinal_neighbor_alltoallv_init(from, counts, places, MPI_DOUBLE, to, counts, places,
                                    MPI_DOUBLE, graph, info, &request);
    vicinal_start(&request);
    vicinal_wait(&request);
    vicinal_request_free(&request);
    return;
  }
  vicinal_ineighbor_alltoall(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, graph, &request);
  vicinal_wait(&request);
}

/* Each rank sends `rank` and the number of the call to its two neighbours. */
static int wrong_after(const char* way, long call) {
  double* const from = sent[call % sets];
  double* const to = received[(call / 2) % sets];
  for (int i = 0; i < 2 * count; ++i) {
    from[i] = rank + 1000.0 * (double)(call % 1000);
    to[i] = -1;
  }
  exchange(way, from, to);
  int wrong = 0;
  for (int i = 0; i < 2 * count; ++i) {
    wrong += to[i] != (i < count ? before : after) + 1000.0 * (double)(call % 1000);
  }
  return wrong;
}

/* Returns the number of wrong values; sets `growth` to the growth of memory. */
static int run(const char* way, long calls, long* growth) {
  int wrong = 0;
  long first = 0;
  for (long call = 0; call < calls; ++call) {
    if (call == calls / 10) first = writable();
    wrong += wrong_after(way, call);
  }
  *growth = writable() - first;
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  before = (rank + size - 1) % size;
  after = (rank + 1) % size;
  neighbours[0] = before;
  neighbours[1] = after;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", size < 4 ? "blocks:1" : "blocks:2");
  MPI_Info_set(info, "vicinal_strategy", argc > 3 ? argv[3] : "aggregate");
  vicinal_graph_create_adjacent(MPI_COMM_WORLD, 2, neighbours, MPI_UNWEIGHTED, 2, neighbours,
                                MPI_UNWEIGHTED, info, 0, &graph);
  /* Each rank owns 2 * count indices; the ghosts are half of each neighbour's. */
  int64_t needed[2 * count];
  for (int i = 0; i < count; ++i) {
    needed[i] = (int64_t)before * 2 * count + i;
    needed[count + i] = (int64_t)after * 2 * count + i;
  }
  vicinal_halo_create(MPI_COMM_WORLD, (int64_t)rank * 2 * count, (int64_t)(rank + 1) * 2 * count,
                      2 * count, needed, info, &halo);
  int failed = 0;
  long growth = 0;
  if (argc > 2) {
    failed = run(argv[1], atol(argv[2]), &growth) > 0;
    if (failed) printf("rank %d: wrong values\n", rank);
    if (growth > (1 << 20) + 16 * atol(argv[2])) {
      printf("rank %d: %s calls by %s took %ld bytes more\n", rank, argv[2], argv[1], growth);
      failed = 1;
    }
  } else {
    const char* const ways[] = {"halo", "init", "nonblocking"};
    for (int way = 0; way < 3; ++way) {
      const int wrong = run(ways[way], 20, &growth);
      if (wrong > 0) printf("rank %d, %s: %d values are wrong\n", rank, ways[way], wrong);
      failed = failed || wrong > 0;
    }
  }
  vicinal_halo_free(&halo);
  vicinal_graph_free(&graph);
  MPI_Info_free(&info);
  MPI_Finalize();
  return failed;
}
