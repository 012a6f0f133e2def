/* Errors that the library detects from its own tables: each has a message, and later calls
 * succeed. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vicinal/vicinal.h>

static int rank, size, next, last, faults;
static MPI_Comm comm;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, vicinal_error_message());
  ++faults;
}

static void expect_error(int code, int expected, const char* part, const char* what) {
  if (code == expected && strstr(vicinal_error_message(), part) != NULL) return;
  fprintf(stderr, "rank %d: %s gave class %d, not %d, and says: %s\n", rank, what, code, expected,
          vicinal_error_message());
  ++faults;
}

static vicinal_halo halo_of_next(const char* in_flight) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_in_flight", in_flight);
  const int64_t needed = next;
  vicinal_halo halo = VICINAL_HALO_NULL;
  expect(vicinal_halo_create(comm, rank, rank + 1, 1, &needed, info, &halo) == MPI_SUCCESS,
         "a halo");
  MPI_Info_free(&info);
  return halo;
}

static vicinal_graph ring(void) {
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  expect(vicinal_graph_create_adjacent(comm, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &graph) == MPI_SUCCESS,
         "a graph");
  return graph;
}

static void handles(void) {
  const char* freed = "has been freed, or never was one";
  double owned = rank, ghost = -1;

  vicinal_halo halo = halo_of_next("2"), halo_copy = halo;
  vicinal_request request = VICINAL_REQUEST_NULL, copy;
  expect(vicinal_halo_start(halo, &owned, &ghost, 1, MPI_DOUBLE, &request) == MPI_SUCCESS, "start");
  copy = request;
  expect(vicinal_wait(&request) == MPI_SUCCESS && request == VICINAL_REQUEST_NULL, "wait");
  expect_error(vicinal_wait(&copy), MPI_ERR_REQUEST, freed, "an exchange waited for twice");
  expect(vicinal_halo_start(halo, &owned, &ghost, 1, MPI_DOUBLE, &request) == MPI_SUCCESS, "start");
  expect(vicinal_halo_free(&halo) == MPI_SUCCESS && ghost == next, "a free halo with an exchange");
  copy = request;
  int flag = 0, index = 0;
  expect_error(vicinal_wait(&request), MPI_ERR_REQUEST, freed, "a wait after the halo is freed");
  expect_error(vicinal_test(&copy, &flag), MPI_ERR_REQUEST, freed, "a test of it");
  expect_error(vicinal_waitany(1, &copy, &index), MPI_ERR_REQUEST, freed, "any of it");
  expect_error(vicinal_halo_free(&halo_copy), MPI_ERR_ARG, "a halo was given that", "freed twice");
  expect_error(vicinal_halo_exchange(halo_copy, &owned, &ghost, 1, MPI_DOUBLE), MPI_ERR_ARG, freed,
               "an exchange by it");

  vicinal_graph graph = ring(), graph_copy = graph;
  int sent = rank, received = -1, sources[1], degree;
  expect(vicinal_neighbor_alltoall_init(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph,
                                        MPI_INFO_NULL, &request) == MPI_SUCCESS,
         "a persistent request");
  copy = request;
  expect(vicinal_request_free(&request) == MPI_SUCCESS, "a free request");
  expect_error(vicinal_start(&copy), MPI_ERR_REQUEST, freed, "the start of a freed request");
  expect_error(vicinal_request_free(&copy), MPI_ERR_REQUEST, freed, "a request freed twice");
  expect(vicinal_ineighbor_alltoall(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph, &request) ==
             MPI_SUCCESS,
         "a call");
  copy = request;
  expect(vicinal_wait(&request) == MPI_SUCCESS && received == last, "a wait");
  expect_error(vicinal_wait(&copy), MPI_ERR_REQUEST, freed, "a call waited for twice");

  expect(vicinal_graph_free(&graph) == MPI_SUCCESS, "a free graph");
  expect_error(vicinal_graph_free(&graph_copy), MPI_ERR_ARG, "a graph was given that",
               "freed twice");
  expect_error(vicinal_graph_neighbors(graph_copy, &degree, sources, NULL, NULL), MPI_ERR_ARG,
               freed, "neighbours of a freed graph");
  /* The slot of the freed graph is in use again. */
  vicinal_graph another = ring();
  expect_error(vicinal_neighbor_alltoall(&sent, 1, MPI_INT, &received, 1, MPI_INT, graph_copy),
               MPI_ERR_ARG, freed, "a call on it");
  vicinal_graph_free(&another);

  vicinal_received arrived = VICINAL_RECEIVED_NULL, arrived_copy;
  const int one = 1, none = 0;
  expect(vicinal_sparse_alltoallv(&sent, 1, &next, &one, &none, MPI_INT, MPI_INT, comm,
                                  MPI_INFO_NULL, &arrived) == MPI_SUCCESS,
         "a sparse exchange");
  arrived_copy = arrived;
  vicinal_received_free(&arrived);
  expect_error(vicinal_received_free(&arrived_copy), MPI_ERR_ARG, freed, "received, freed twice");
  /* A pointer that never was a handle, and a handle of another kind. */
  double something[8] = {0};
  vicinal_graph garbage = (vicinal_graph)(void*)something;
  expect_error(vicinal_graph_free(&garbage), MPI_ERR_ARG, freed, "garbage");
  graph = ring();
  vicinal_halo wrong_kind = (vicinal_halo)(void*)graph;
  expect_error(vicinal_halo_free(&wrong_kind), MPI_ERR_ARG, freed, "a graph for a halo");
  vicinal_graph_free(&graph);
}

/* Receive regions that overlap, in any order. */
static void overlaps(void) {
  const int around[3] = {next, last, rank};
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_graph_create_adjacent(comm, 3, around, MPI_UNWEIGHTED, 3, around, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, 0, &graph);
  int sent[6] = {0}, received[6];
  const int counts[3] = {2, 2, 2}, places[3] = {0, 2, 4}, upside_down[3] = {4, 2, 0};
  const int ascending[3] = {0, 1, 4}, shuffled[3] = {4, 0, 3};
  const char* first = "the receive blocks of entries 0 and 1 share memory";
  vicinal_request request = VICINAL_REQUEST_NULL;
  expect_error(vicinal_neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts,
                                               ascending, MPI_INT, graph, MPI_INFO_NULL, &request),
               MPI_ERR_BUFFER, first, "a persistent exchange that overlaps");
  expect_error(vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts,
                                          ascending, MPI_INT, graph),
               MPI_ERR_BUFFER, first, "a call that overlaps");
  expect_error(vicinal_neighbor_allgatherv_init(sent, 2, MPI_INT, received, counts, shuffled,
                                                MPI_INT, graph, MPI_INFO_NULL, &request),
               MPI_ERR_BUFFER, "entries 0 and 2", "a gather that overlaps");
  expect(vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, upside_down,
                                    MPI_INT, graph) == MPI_SUCCESS,
         "blocks in descending order");
  /* Columns of a matrix interleave but share no memory. */
  MPI_Datatype column, resized;
  MPI_Type_vector(2, 1, 3, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &resized);
  MPI_Type_commit(&resized);
  const int ones[3] = {1, 1, 1}, columns[3] = {0, 1, 2};
  expect(vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, received, ones, columns, resized,
                                    graph) == MPI_SUCCESS,
         "columns of a matrix");
  MPI_Type_free(&column);
  MPI_Type_free(&resized);
  vicinal_graph_free(&graph);

  vicinal_halo halo = halo_of_next("1");
  double array[4] = {rank, -1, -1, -1};
  request = VICINAL_REQUEST_NULL;
  expect_error(vicinal_halo_exchange(halo, array, array, 1, MPI_DOUBLE), MPI_ERR_BUFFER,
               "the ghosts share memory with the owned values", "ghosts over owned values");
  expect_error(vicinal_halo_start_vectors(halo, array, 2, array + 1, 0, 2, 1, MPI_DOUBLE, &request),
               MPI_ERR_ARG, "the ghosts of vectors share memory", "vectors over each other");
  expect(vicinal_halo_exchange(halo, array, array + 1, 1, MPI_DOUBLE) == MPI_SUCCESS &&
             array[1] == next,
         "ghosts at the end");
  vicinal_halo_free(&halo);
}

static void operators(void) {
  vicinal_halo halo = halo_of_next("1");
  double owned[2] = {1, 1}, ghost[2] = {1, 1};
  const int code = vicinal_halo_reverse(halo, owned, ghost, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX);
  expect_error(code, MPI_ERR_OP, "MPI_MAX cannot combine values of type MPI_C_", "max of complex");
  expect(strstr(vicinal_error_message(), "stack") == NULL, "without MPI's own words");
  vicinal_request request = VICINAL_REQUEST_NULL;
  expect_error(vicinal_halo_reverse_init(halo, owned, ghost, 1, MPI_DOUBLE, MPI_BXOR, &request),
               MPI_ERR_OP, "MPI_BXOR cannot combine values of type MPI_DOUBLE", "bits of numbers");
  expect_error(vicinal_halo_reverse_init(halo, owned, ghost, 1, MPI_DOUBLE, MPI_MINLOC, &request),
               MPI_ERR_OP, "MPI_MINLOC cannot combine", "places of numbers");
  expect(vicinal_halo_reverse(halo, owned, ghost, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD) == MPI_SUCCESS,
         "a product of complex numbers");
  vicinal_halo_free(&halo);
}

/* The last rank uses a type of another size: all ranks learn of it when the request is made. */
static void sizes(void) {
  vicinal_halo halo = halo_of_next("1");
  double owned = rank, ghost = -1;
  vicinal_request request = VICINAL_REQUEST_NULL;
  MPI_Datatype type = rank == size - 1 && size > 1 ? MPI_FLOAT : MPI_DOUBLE;
  const int code = vicinal_halo_init(halo, &owned, &ghost, 1, type, &request);
  if (size > 1) {
    expect_error(code, MPI_ERR_COUNT, "the size of what moves for an index of this halo is",
                 "types of two sizes");
  } else {
    vicinal_request_free(&request);
  }
  expect(vicinal_halo_init(halo, &owned, &ghost, 1, MPI_DOUBLE, &request) == MPI_SUCCESS &&
             vicinal_start(&request) == MPI_SUCCESS && vicinal_wait(&request) == MPI_SUCCESS &&
             ghost == next,
         "types of one size");
  vicinal_request_free(&request);
  vicinal_halo_free(&halo);
}

static struct {
  vicinal_halo halo;
  vicinal_request request;
  double owned, ghost;
  int code;
  char message[1000];
} other;

static void* start_too(void* nothing) {
  other.code =
      vicinal_halo_start(other.halo, &other.owned, &other.ghost, 1, MPI_DOUBLE, &other.request);
  snprintf(other.message, sizeof other.message, "%s", vicinal_error_message());
  return nothing;
}

/* The last rank starts exchanges of one halo from two threads: other ranks do not wait for it. */
static void threads(void) {
  other.halo = halo_of_next("1");
  double owned = rank, ghost = -1;
  vicinal_request request = VICINAL_REQUEST_NULL;
  for (int round = 0; round < 3; ++round) {
    expect(vicinal_halo_start(other.halo, &owned, &ghost, 1, MPI_DOUBLE, &request) == MPI_SUCCESS,
           "start");
    if (rank == size - 1) {
      pthread_t thread;
      pthread_create(&thread, NULL, start_too, NULL);
      pthread_join(thread, NULL);
      expect(other.code == MPI_ERR_REQUEST && strstr(other.message, "another thread") != NULL,
             other.message);
    }
    expect(vicinal_wait(&request) == MPI_SUCCESS && ghost == next, "wait");
    /* The exchange that failed there counts. */
    if (rank == size - 1) continue;
    const int code = vicinal_halo_exchange(other.halo, &owned, &ghost, 1, MPI_DOUBLE);
    expect(code == (next == size - 1 ? MPI_ERR_OTHER : MPI_SUCCESS), "an exchange without one");
  }
  vicinal_halo_free(&other.halo);
}

/* Two threads of each rank exchange by one halo. Each exchange succeeds or returns the reason
 * for its failure, here or on the rank that caused it. All ranks end with the same number of
 * exchanges, so the next one succeeds. */
static void* exchange_at_once(void* wrong) {
  for (int round = 0; round < 20; ++round) {
    double owned = rank, ghost = -1;
    const int code = vicinal_halo_exchange(other.halo, &owned, &ghost, 1, MPI_DOUBLE);
    const int is_right =
        code == MPI_SUCCESS
            ? ghost == next
            : code == MPI_ERR_OTHER ||
                  (code == MPI_ERR_REQUEST && strstr(vicinal_error_message(), "another thread"));
    if (is_right) continue;
    fprintf(stderr, "rank %d: class %d: %s\n", rank, code, vicinal_error_message());
    ++*(int*)wrong;
  }
  return NULL;
}

static void threads_at_once(void) {
  other.halo = halo_of_next("2");
  int wrong[2] = {0, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, exchange_at_once, &wrong[1]);
  exchange_at_once(&wrong[0]);
  pthread_join(thread, NULL);
  double owned = rank, ghost = -1;
  expect(wrong[0] + wrong[1] == 0, "exchanges of two threads");
  expect(vicinal_halo_exchange(other.halo, &owned, &ghost, 1, MPI_DOUBLE) == MPI_SUCCESS &&
             ghost == next,
         "an exchange after them");
  vicinal_halo_free(&other.halo);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  next = (rank + 1) % size;
  last = (rank + size - 1) % size;
  handles();
  overlaps();
  operators();
  sizes();
  if (provided == MPI_THREAD_MULTIPLE && size > 1) {
    threads();
    threads_at_once();
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return faults > 0;
}
