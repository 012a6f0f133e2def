/* A program that uses MPI sessions only: without MPI_Init(), it has no MPI_COMM_WORLD and no
 * MPI_COMM_SELF. Runs one session after the other, each with communicators of all topologies and
 * all forms of exchanges. */
#include "programs.h"

#ifdef MPI_SESSION_NULL

enum { calls = 12 };

static void exchanges(MPI_Comm comm) {
  int sent[64], got[64], degree = ranks - 1;
  for (int call = 0; call < calls; ++call) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < degree; ++i) {
      sent[i] = rank * 100 + (rank + 1 + i) % ranks + call, got[i] = -1;
    }
    if (call % 3 == 0) {
      MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
    }
    for (int i = 0; i < degree; ++i) {
      CHECK(got[i] == (rank + 1 + i) % ranks * 100 + rank + call);
    }
  }
}

static void grid_of(MPI_Comm all) {
  MPI_Comm grid;
  const int periodic = 1;
  MPI_Cart_create(all, 1, &ranks, &periodic, 0, &grid);
  for (int call = 0; call < calls; ++call) {
    const int sent[2] = {rank, rank};
    int got[2] = {-1, -1};
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, grid);
    CHECK(got[0] == (rank + ranks - 1) % ranks && got[1] == (rank + 1) % ranks);
  }
  MPI_Comm_free(&grid);
}

static void persistent(MPI_Comm graph) {
#if MPI_VERSION >= 4
  int sent[64] = {0}, got[64];
  MPI_Request request;
  MPI_Neighbor_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT, graph, MPI_INFO_NULL, &request);
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < ranks - 1; ++i) sent[i] = rank + call;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < ranks - 1; ++i) CHECK(got[i] == (rank + 1 + i) % ranks + call);
  }
  MPI_Request_free(&request);
#else
  (void)graph;
#endif
}

static void gathers(MPI_Comm all) {
  int got[64];
  for (int call = 0; call < calls; ++call) {
    const int sent = rank + call;
    MPI_Allgather(&sent, 1, MPI_INT, got, 1, MPI_INT, all);
    for (int i = 0; i < ranks; ++i) CHECK(got[i] == i + call);
  }
}

static int session(void) {
  MPI_Session session;
  MPI_Info info;
  MPI_Group group;
  MPI_Comm all, graph, copy;
  int whole = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level",
               getenv("THREADS") ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SINGLE");
  MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Info_free(&info);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "vicinal.tests", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
  MPI_Group_free(&group);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  graph = all_with_all_of(all);
  exchanges(graph);
  MPI_Comm_dup(graph, &copy);
  MPI_Comm_free(&graph);
  exchanges(copy);
  persistent(copy);
  MPI_Comm_free(&copy);
  grid_of(all);
  gathers(all);
  MPI_Allreduce(&wrong, &whole, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
  return whole;
}

int main(void) {
  int whole = session();
  /* Open MPI 5.0.11 cannot be initialized again. */
#ifndef OPEN_MPI
  whole += session();
#endif
  if (rank == 0) printf(whole == 0 ? "right\n" : "%d wrong\n", whole);
  return whole != 0;
}

#else

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  return end_program();
}

#endif
