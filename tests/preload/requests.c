/* Requests of neighborhood collectives in all functions for requests: mixed with those of
 * messages, tested, freed early, started together. Types and communicators are freed while in
 * use; calls fail. MPI_Testall() of MPICH 5.0.2 alone fails on active persistent collectives. */
#include "programs.h"

enum { warm = 10 };

/* MPI forbids freeing requests of active collectives. If vicinal serves them, it is allowed. */
static int may_free;

static MPI_Comm graph;
static Exchange it;

static void start_one(MPI_Request* request, int turn) {
  fill(&it, turn);
  MPI_Ineighbor_alltoallv(SENT(it), GOT(it), graph, request);
}

/* Begins one neighborhood collective among four message requests. */
static void begin_mixed(MPI_Request* all, int* buffers, int turn) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  buffers[0] = turn, buffers[1] = turn + 1;
  MPI_Irecv(&buffers[2], 1, MPI_INT, before, 1, MPI_COMM_WORLD, &all[0]);
  MPI_Isend(&buffers[0], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &all[1]);
  start_one(&all[2], turn);
  all[3] = MPI_REQUEST_NULL;
  MPI_Irecv(&buffers[3], 1, MPI_INT, before, 2, MPI_COMM_WORLD, &all[4]);
  MPI_Isend(&buffers[1], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &all[5]);
}
static void end_mixed(const MPI_Request* all, const int* buffers, int turn) {
  for (int i = 0; i < 6; ++i) CHECK(all[i] == MPI_REQUEST_NULL);
  CHECK(buffers[2] == turn && buffers[3] == turn + 1);
  check_exchange(&it, turn);
}

static void completions(void) {
  for (int turn = 0; turn < 40; ++turn) {
    MPI_Request all[6];
    MPI_Status statuses[6];
    int buffers[4], indices[6], index, done, count, left = 5;
    begin_mixed(all, buffers, turn);
    switch (turn % 8) {
      case 0:
        MPI_Waitall(6, all, MPI_STATUSES_IGNORE);
        break;
      case 1:
        while (left-- > 0) {
          MPI_Waitany(6, all, &index, &statuses[0]);
          CHECK(index >= 0 && index < 6 && index != 3);
        }
        MPI_Waitany(6, all, &index, &statuses[0]);
        CHECK(index == MPI_UNDEFINED);
        break;
      case 2:
        while (left > 0) {
          MPI_Waitsome(6, all, &count, indices, statuses);
          left -= count;
        }
        CHECK(left == 0);
        break;
      case 3:
        for (done = 0; !done;) MPI_Testall(6, all, &done, statuses);
        MPI_Test_cancelled(&statuses[2], &done);
        CHECK(!done);
        break;
      case 4:
        while (left > 0) {
          MPI_Testany(6, all, &index, &done, MPI_STATUS_IGNORE);
          if (done) --left;
        }
        break;
      case 5:
        while (left > 0) {
          MPI_Testsome(6, all, &count, indices, MPI_STATUSES_IGNORE);
          left -= count;
        }
        break;
      case 6:
        for (done = 0; !done;) MPI_Request_get_status(all[2], &done, MPI_STATUS_IGNORE);
        check_exchange(&it, turn);
        if (may_free) MPI_Request_free(&all[2]);
        MPI_Waitall(6, all, statuses);
        break;
      case 7:
        for (int i = 5; i >= 0; --i) MPI_Wait(&all[i], &statuses[i]);
        break;
    }
    end_mixed(all, buffers, turn);
  }
}

/* Frees a request at once: the exchange completes nevertheless, as a later one shows. */
static void freed_early(void) {
  const Exchange usual = it;
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Request request;
    it = make_exchange();  // never freed: its completion is unknown
    start_one(&request, turn);
    if (rank % 2 == turn % 2) {
      MPI_Request_free(&request);
      CHECK(request == MPI_REQUEST_NULL);
      MPI_Barrier(MPI_COMM_WORLD);
    } else {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      check_exchange(&it, turn);
    }
    MPI_Barrier(graph);
    int send = turn, got[64];
    MPI_Neighbor_allgather(&send, 1, MPI_INT, got, 1, MPI_INT, graph);
    for (int k = 0; k < it.degree; ++k) CHECK(got[k] == turn);
  }
  it = usual;
}

static void many_in_flight(void) {
  enum { flights = 40 };
  static int send[flights][64], got[flights][64];
  MPI_Request all[flights];
  for (int i = 0; i < flights; ++i) {
    for (int k = 0; k < it.degree; ++k) send[i][k] = rank * 1000 + i, got[i][k] = -1;
    MPI_Ineighbor_alltoall(send[i], 1, MPI_INT, got[i], 1, MPI_INT, graph, &all[i]);
  }
  MPI_Wait(&all[flights - 1], MPI_STATUS_IGNORE);
  MPI_Waitall(flights, all, MPI_STATUSES_IGNORE);
  for (int i = 0; i < flights; ++i) {
    for (int k = 0; k < it.degree; ++k) CHECK(got[i][k] == (rank + k + 1) % ranks * 1000 + i);
  }
}

/* Frees the datatype and the communicator right after the call. */
static void freed_under_way(void) {
  for (int turn = 0; turn < 15; ++turn) {
    MPI_Comm copy;
    MPI_Datatype pair;
    MPI_Request request;
    static int send[128], got[128];
    for (int i = 0; i < 128; ++i) send[i] = rank * 1000 + i, got[i] = -1;
    MPI_Comm_dup(graph, &copy);
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 4 * sizeof(int), &pair);
    MPI_Type_commit(&pair);
    MPI_Ineighbor_alltoall(send, 1, pair, got, 1, pair, copy, &request);
    MPI_Type_free(&pair);
    MPI_Comm_free(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int k = 0; k < it.degree; ++k) {
      const int other = (rank + k + 1) % ranks, entry = ranks - 2 - k;
      CHECK(got[4 * k] == other * 1000 + 4 * entry && got[4 * k + 2] == got[4 * k] + 2);
      CHECK(got[4 * k + 1] == -1 && got[4 * k + 3] == -1);
    }
  }
}

#if MPI_VERSION >= 4 || defined(OPEN_MPI)
static void persistent_ones(void) {
  enum { sets = 3 };
  Exchange each[sets];
  MPI_Request all[sets + 1];
  for (int i = 0; i < sets; ++i) {
    each[i] = make_exchange();
    MPI_Neighbor_alltoallv_init(SENT(each[i]), GOT(each[i]), graph, MPI_INFO_NULL, &all[i]);
  }
  int token = 0;
  MPI_Send_init(&token, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &all[sets]);
  for (int turn = 0; turn < 20; ++turn) {
    for (int i = 0; i < sets; ++i) fill(&each[i], turn + i);
    if (turn % 2 == 0) {
      MPI_Startall(sets + 1, all);
    } else {
      for (int i = 0; i <= sets; ++i) MPI_Start(&all[i]);
    }
    if (turn % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (turn % 3 == 1) {
      for (int done = 0; !done;) MPI_Testall(sets + 1, all, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(sets + 1, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < sets; ++i) check_exchange(&each[i], turn + i);
  }
  if (may_free) MPI_Start(&all[0]);  // freed while active: it completes by itself
  for (int i = 0; i <= sets; ++i) {
    MPI_Request_free(&all[i]);
    CHECK(all[i] == MPI_REQUEST_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < sets; ++i) free_exchange(&each[i]);
}
#else
static void persistent_ones(void) {}
#endif

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  if (*code != MPI_SUCCESS) ++handled;
}

/* An error on one rank: other ranks learn of it, and later calls succeed. */
static void errors(void) {
  MPI_Errhandler counting;
  MPI_Comm copy;
  MPI_Comm_dup(graph, &copy);
  MPI_Comm_create_errhandler(handler, &counting);
  MPI_Comm_set_errhandler(copy, counting);
  fill(&it, 1);
  if (it.degree > 0) {
    const int right = it.counts[0];
    if (rank == 0) it.counts[0] = -1;
    const int code = MPI_Neighbor_alltoallv(SENT(it), GOT(it), copy);
    it.counts[0] = right;
    if (rank == 0) CHECK(code != MPI_SUCCESS && handled == 1);
  }
  fill(&it, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Neighbor_alltoallv(SENT(it), GOT(it), copy) == MPI_SUCCESS);
  check_exchange(&it, 2);
  MPI_Errhandler_free(&counting);
  MPI_Comm_free(&copy);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  may_free = getenv("WITH_VICINAL") != NULL;
  graph = all_with_all();
  it = make_exchange();
  for (int turn = 0; turn < warm; ++turn) {
    fill(&it, turn);
    MPI_Neighbor_alltoallv(SENT(it), GOT(it), graph);
    check_exchange(&it, turn);
  }
  completions();
  if (may_free) freed_early();
  many_in_flight();
  freed_under_way();
  persistent_ones();
  if (may_free) {
    errors();
    MPI_Request left;  // active at the end of MPI
    start_one(&left, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&left);
  }
  return end_program();
}
