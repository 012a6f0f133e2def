/* Every neighborhood collective, blocking and nonblocking, on every kind of topology. Open MPI
 * 5.0.11 alone delivers wrong blocks in nonblocking ones on periodic dimensions of 1 or 2. It
 * crashes in those on a graph made from a Cartesian communicator. */
#include "programs.h"

enum { calls = 14, most = 64 };

static int wait_for(MPI_Request* request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }

/* The expected origin of source entry `i`: the rank, and the position among its destinations. */
typedef struct {
  int in, out, source[most], entry_there[most];
} Neighbours;

static int block_of(int from, int entry, int call) { return from * 10000 + entry * 100 + call; }

static void check_blocks(const char* what, const Neighbours* it, const int* got, int call) {
  for (int i = 0; i < it->in; ++i) {
    const int from = it->source[i];
    if (from == MPI_PROC_NULL) {
      if (got[i] != -1) fprintf(stderr, "%s: ", what);
      CHECK(got[i] == -1);
      continue;
    }
    if (got[i] != block_of(from, it->entry_there[i], call))
      fprintf(stderr, "%s, entry %d: ", what, i);
    CHECK(got[i] == block_of(from, it->entry_there[i], call));
  }
}

static void check_gathered(const char* what, const Neighbours* it, const int* got, int call) {
  for (int i = 0; i < it->in; ++i) {
    const int due = it->source[i] == MPI_PROC_NULL ? -1 : block_of(it->source[i], 99, call);
    if (got[i] != due) fprintf(stderr, "%s, entry %d: ", what, i);
    CHECK(got[i] == due);
  }
}

static void exchange_all(const Neighbours* it, MPI_Comm comm) {
  int send[most], got[most], ones[most], places[most];
  MPI_Aint offsets[most];
  MPI_Datatype types[most];
  for (int i = 0; i < most; ++i) {
    ones[i] = 1, places[i] = i, offsets[i] = i * (MPI_Aint)sizeof(int), types[i] = MPI_INT;
  }
  for (int call = 0; call < calls; ++call) {
    for (int blocking = 0; blocking < 2; ++blocking) {
      MPI_Request request;
      for (int i = 0; i < most; ++i) send[i] = block_of(rank, i, call);
      int own = block_of(rank, 99, call);
#define RUN(check, name, ...)                                              \
  memset(got, 0xff, sizeof got);                                           \
  if (blocking) {                                                          \
    MPI_Neighbor_##name(__VA_ARGS__, comm);                                \
  } else {                                                                 \
    MPI_Ineighbor_##name(__VA_ARGS__, comm, &request), wait_for(&request); \
  }                                                                        \
  check(blocking ? #name : "i" #name, it, got, call)
      RUN(check_blocks, alltoall, send, 1, MPI_INT, got, 1, MPI_INT);
      RUN(check_blocks, alltoallv, send, ones, places, MPI_INT, got, ones, places, MPI_INT);
      RUN(check_blocks, alltoallw, send, ones, offsets, types, got, ones, offsets, types);
      RUN(check_gathered, allgather, &own, 1, MPI_INT, got, 1, MPI_INT);
      RUN(check_gathered, allgatherv, &own, 1, MPI_INT, got, ones, places, MPI_INT);
    }
  }
}

/* Returns the neighbours in a graph with the same offsets on all ranks: rank r sends to r +
 * offsets[i]. */
static Neighbours ring(const int* offsets, int count) {
  Neighbours it = {.in = count, .out = count};
  for (int i = 0; i < count; ++i) {
    it.source[i] = ((rank - offsets[i]) % ranks + ranks) % ranks;
    it.entry_there[i] = i;
  }
  return it;
}

static MPI_Comm ring_on(MPI_Comm comm, const int* offsets, int count) {
  int from[most], to[most];
  for (int i = 0; i < count; ++i) {
    from[i] = ((rank - offsets[i]) % ranks + ranks) % ranks;
    to[i] = (rank + offsets[i]) % ranks;
  }
  MPI_Comm made;
  MPI_Dist_graph_create_adjacent(comm, count, from, MPI_UNWEIGHTED, count, to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
  return made;
}

/* MPI_Dist_graph_create() chooses the order of neighbours, so this asks for it. Edges of two
 * ranks pair in order. */
static void named_by_others(void) {
  /* Each rank gives the edges of the next one: two to the rank after it, one to the rank before
   * it. */
  const int next = (rank + 1) % ranks;
  int sources[] = {next}, degrees[] = {3};
  int to[] = {(next + 1) % ranks, (next + ranks - 1) % ranks, (next + 1) % ranks},
      weights[] = {5, 6, 7};
  MPI_Comm made;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, to, weights, MPI_INFO_NULL, 0, &made);
  int in, out, weighted, from[8], from_weights[8], to_weights[8], destinations[8];
  MPI_Dist_graph_neighbors_count(made, &in, &out, &weighted);
  CHECK(in == 3 && out == 3 && weighted);
  MPI_Dist_graph_neighbors(made, 3, from, from_weights, 3, destinations, to_weights);
  int sum = 0, send[3], got[3];
  for (int i = 0; i < 3; ++i) {
    sum += from_weights[i];
    send[i] = to_weights[i] * 1000 + rank;
  }
  CHECK(sum == 18);
  for (int call = 0; call < calls; ++call) {
    MPI_Neighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, made);
    for (int i = 0; i < 3; ++i) CHECK(got[i] == from_weights[i] * 1000 + from[i]);
  }
  MPI_Comm_free(&made);
}

/* Makes duplicates during an exchange on the original, and waits for both together. Each
 * duplicate has the original's neighbours and independent calls. */
static void duplicated_meanwhile(MPI_Comm original, const Neighbours* it, int count) {
  enum { most_copies = 3 };
  int send[most], send_there[most], got[most], got_there[most], kind, kind_of_original;
  MPI_Comm copies[most_copies];
  MPI_Topo_test(original, &kind_of_original);
  for (int k = 0; k < count; ++k) {
    MPI_Request both[2];
    for (int i = 0; i < most; ++i) send[i] = block_of(rank, i, 0);
    memset(got, 0xff, sizeof got);
    MPI_Ineighbor_alltoall(send, 1, MPI_INT, got, 1, MPI_INT, original, &both[0]);
    MPI_Comm_idup(original, &copies[k], &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    check_blocks("beside MPI_Comm_idup", it, got, 0);
    MPI_Topo_test(copies[k], &kind);
    CHECK(kind == kind_of_original);
    for (int call = 1; call < calls; ++call) {
      for (int i = 0; i < most; ++i) send[i] = block_of(rank, i, call);
      memset(got, 0xff, sizeof got), memset(got_there, 0xff, sizeof got_there);
      MPI_Ineighbor_alltoall(send, 1, MPI_INT, got_there, 1, MPI_INT, copies[k], &both[0]);
      for (int i = 0; i < most; ++i) send_there[i] = block_of(rank, i, 50 + call);
      MPI_Ineighbor_alltoall(send_there, 1, MPI_INT, got, 1, MPI_INT, original, &both[1]);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
      check_blocks("beside the duplicate", it, got, 50 + call);
      check_blocks("on the duplicate", it, got_there, call);
    }
  }
  for (int k = 0; k < count; ++k) exchange_all(it, copies[(k + 1) % count]);
  for (int k = 0; k < count; ++k) MPI_Comm_free(&copies[k]);
}

static void graphs(void) {
  const int offsets[] = {1, 0, ranks > 2 ? 2 : 1, ranks > 1 ? ranks - 1 : 0, 1};
  const Neighbours it = ring(offsets, 5);
  MPI_Comm made = ring_on(MPI_COMM_WORLD, offsets, 5), copy, copy_of_copy, from_graph;
  exchange_all(&it, made);
  duplicated_meanwhile(made, &it, 3);
  MPI_Comm_dup(made, &copy);
  from_graph = ring_on(made, offsets, 2);
  MPI_Comm_free(&made);
  const Neighbours two = ring(offsets, 2);
  exchange_all(&two, from_graph);
  MPI_Comm_dup(copy, &copy_of_copy);
  exchange_all(&it, copy_of_copy);
  exchange_all(&it, copy);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&from_graph);
  MPI_Comm_free(&copy_of_copy);

  /* On all ranks but the last, rank 0 lists all others, and they do not list it: MPI accepts
   * this. */
  int all_named[most], named[most];
  for (int i = 0; i < most; ++i) all_named[i] = ranks > 2 ? ranks - 2 : 0, named[i] = i + 1;
  MPI_Graph_create(MPI_COMM_WORLD, ranks > 1 ? ranks - 1 : 1, all_named, named, 0, &made);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);

  /* A path made by MPI_Graph_create() on all ranks but the last. */
  const int nodes = ranks > 1 ? ranks - 1 : 1;
  int index[most], edges[2 * most], total = 0;
  for (int node = 0; node < nodes; ++node) {
    if (node > 0) edges[total++] = node - 1;
    if (node + 1 < nodes) edges[total++] = node + 1;
    index[node] = total;
  }
  MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &made);
  if (made == MPI_COMM_NULL) return;
  Neighbours path = {0};
  if (rank > 0) path.source[path.in] = rank - 1, path.entry_there[path.in++] = rank - 1 > 0 ? 1 : 0;
  if (rank + 1 < nodes) path.source[path.in] = rank + 1, path.entry_there[path.in++] = 0;
  exchange_all(&path, made);
  MPI_Comm_free(&made);
}

static Neighbours grid(MPI_Comm comm, int dimensions) {
  Neighbours it = {.in = 2 * dimensions, .out = 2 * dimensions};
  for (int d = 0; d < dimensions; ++d) {
    MPI_Cart_shift(comm, d, 1, &it.source[2 * d], &it.source[2 * d + 1]);
    it.entry_there[2 * d] = 2 * d + 1;
    it.entry_there[2 * d + 1] = 2 * d;
  }
  return it;
}

static void grids(void) {
  for (int shape = 0; shape < 4; ++shape) {
    int sizes[3] = {0}, periodic[3] = {shape & 1, 1, shape == 3};
    const int dimensions = shape == 0 ? 1 : shape == 3 ? 3 : 2;
    if (shape == 2) sizes[1] = 1;
    MPI_Dims_create(ranks, dimensions, sizes);
    MPI_Comm made, copy, row, graph;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periodic, 0, &made);
    const Neighbours it = grid(made, dimensions);
    exchange_all(&it, made);
    duplicated_meanwhile(made, &it, 1);
    MPI_Comm_dup(made, &copy);
    exchange_all(&it, copy);
    if (dimensions > 1) {
      const int keep[3] = {0, 1, 0}, whole = rank;
      MPI_Cart_sub(made, keep, &row);
      MPI_Comm_rank(row, &rank);
      const Neighbours of_row = grid(row, 1);
      exchange_all(&of_row, row);
      rank = whole;
      MPI_Comm_free(&row);
    }
    const int offsets[] = {1, 0};
    graph = ring_on(made, offsets, 2);
    const Neighbours two = ring(offsets, 2);
    exchange_all(&two, graph);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&made);
    MPI_Comm_free(&copy);
  }
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  graphs();
  grids();
  named_by_others();
  return end_program();
}
