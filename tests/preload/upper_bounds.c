/* Receive counts larger than what is sent. The standard requires equal counts at both ends, but
 * MPI's own messages accept fewer, and programs depend on that. Also uses MPI_DATATYPE_NULL for
 * empty blocks, if the MPI accepts it. */
#include "programs.h"

enum { room = 6, calls = 14, often = 24, most = 64 };

static int degree, others[most], counts[most], bounds[most], places[most];
static int source[most * 2 * room], target[most * 2 * room];
static MPI_Aint offsets[most];
static MPI_Datatype ints[most], pairs[most];
static MPI_Comm graph;

/* May be 0. */
static int sent(int from, int to, int turn) { return (from + 2 * to + turn) % room; }

/* Makes edges to this and all other ranks. */
static MPI_Comm make_graph(void) {
  MPI_Comm made;
  for (degree = 0; degree < ranks; ++degree) others[degree] = (rank + degree) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others, MPI_UNWEIGHTED, degree, others,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
  return made;
}

static void fill_blocks(int turn) {
  for (int k = 0; k < degree; ++k) {
    counts[k] = sent(rank, others[k], turn);
    for (int i = 0; i < room; ++i) source[2 * room * k + i] = value_of(rank, others[k], i, turn);
  }
  for (int i = 0; i < 2 * room * most; ++i) target[i] = -1;
}

/* `step` is 2 if each int is followed by a gap. */
static void check_block(const int* block, int from, int to, int count, int step, int turn) {
  for (int i = 0; i < room; ++i) {
    CHECK(block[i * step] == (i < count ? value_of(from, to, i, turn) : -1));
  }
}

static void wait_for(MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

#define RUN(name, ...)                                                      \
  if (turn % 2 == 0) {                                                      \
    MPI_Neighbor_##name(__VA_ARGS__, graph);                                \
  } else {                                                                  \
    MPI_Request request;                                                    \
    MPI_Ineighbor_##name(__VA_ARGS__, graph, &request), wait_for(&request); \
  }

static void among_neighbors(void) {
  for (int turn = 0; turn < 2 * calls; ++turn) {
    fill_blocks(turn);
    RUN(alltoallv, source, counts, places, MPI_INT, target, bounds, places, MPI_INT);
    for (int k = 0; k < degree; ++k) {
      check_block(target + places[k], others[k], rank, sent(others[k], rank, turn), 1, turn);
    }
    /* The last pair may be incomplete. */
    fill_blocks(turn);
    int halves[most];
    for (int k = 0; k < degree; ++k) halves[k] = room / 2;
    RUN(alltoallw, source, counts, offsets, ints, target, halves, offsets, pairs);
    for (int k = 0; k < degree; ++k) {
      check_block(target + places[k], others[k], rank, sent(others[k], rank, turn), 2, turn);
    }
    fill_blocks(turn);
    const int given = sent(rank, 0, turn);
    for (int i = 0; i < room; ++i) source[i] = value_of(rank, 0, i, turn);
    RUN(allgatherv, source, given, MPI_INT, target, bounds, places, MPI_INT);
    for (int k = 0; k < degree; ++k) {
      check_block(target + places[k], others[k], 0, sent(others[k], 0, turn), 1, turn);
    }
    for (int i = 0; i < room * most; ++i) target[i] = -1;
    RUN(allgather, source, 2, MPI_INT, target, room, MPI_INT);
    for (int k = 0; k < degree; ++k) check_block(target + room * k, others[k], 0, 2, 1, turn);
  }
}

#if MPI_VERSION >= 4 || defined(OPEN_MPI)
static void persistent_ones(void) {
  MPI_Request request;
  fill_blocks(0);
  MPI_Neighbor_alltoallv_init(source, counts, places, MPI_INT, target, bounds, places, MPI_INT,
                              graph, MPI_INFO_NULL, &request);
  for (int turn = 0; turn < calls; ++turn) {
    for (int i = 0; i < 2 * room * most; ++i) target[i] = -1;
    MPI_Start(&request);
    wait_for(&request);
    for (int k = 0; k < degree; ++k) {
      check_block(target + places[k], others[k], rank, sent(others[k], rank, 0), 1, 0);
    }
  }
  MPI_Request_free(&request);
}
#else
static void persistent_ones(void) {}
#endif

/* The remainder of a block is undefined: some algorithms forward whole blocks. */
static void among_all(void) {
  for (int turn = 0; turn < often; ++turn) {
    const int given = 1 + rank % 3;
    for (int i = 0; i < room; ++i) source[i] = value_of(rank, 0, i, turn);
    for (int i = 0; i < 2 * room * most; ++i) target[i] = -1;
    MPI_Allgatherv(source, given, MPI_INT, target, bounds, places, MPI_INT, graph);
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < 1 + from % 3; ++i) {
        CHECK(target[places[from] + i] == value_of(from, 0, i, turn));
      }
    }
    MPI_Allgather(source, 2, MPI_INT, target, room, MPI_INT, graph);
    for (int from = 0; from < ranks; ++from) {
      for (int i = 0; i < 2; ++i) CHECK(target[room * from + i] == value_of(from, 0, i, turn));
    }
  }
}

/* Every second edge has no elements and no type. */
static int exchange_without_types(MPI_Comm comm, int count, int turn) {
  MPI_Datatype types[most];
  int some[most];
  fill_blocks(turn);
  for (int k = 0; k < count; ++k) {
    some[k] = count > 1 && (rank + others[k]) % 2 == 0 ? room : 0;
    types[k] = some[k] > 0 ? MPI_INT : MPI_DATATYPE_NULL;
  }
  const int code =
      MPI_Neighbor_alltoallw(source, some, offsets, types, target, some, offsets, types, comm);
  for (int k = 0; code == MPI_SUCCESS && k < count; ++k) {
    check_block(target + places[k], others[k], rank, some[k], 1, turn);
  }
  return code;
}

static void null_types(void) {
  MPI_Comm alone;
  const int self = 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &alone);
  MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  const int are_taken = exchange_without_types(alone, 1, 0) == MPI_SUCCESS;
  MPI_Comm_free(&alone);
  for (int turn = 0; are_taken && turn < calls; ++turn) {
    CHECK(exchange_without_types(graph, degree, turn) == MPI_SUCCESS);
  }
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  graph = make_graph();
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &pair);
  MPI_Type_commit(&pair);
  for (int k = 0; k < most; ++k) {
    places[k] = 2 * room * k, bounds[k] = room, ints[k] = MPI_INT, pairs[k] = pair;
    offsets[k] = (MPI_Aint)sizeof(int) * places[k];
  }
  among_neighbors();
  persistent_ones();
  among_all();
  null_types();
  MPI_Type_free(&pair);
  MPI_Comm_free(&graph);
  return end_program();
}
