/* Sessions without MPI_Init(): the library is used on communicators of sessions, one session
 * after the other. Objects may be freed after their session has ended; using them then is
 * harmless. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <vicinal/vicinal.h>

#ifdef MPI_SESSION_NULL

enum { calls = 12, most = 64 };

static int rank, size, wrong;

static void check(int right, const char* what) {
  if (!right && wrong++ < 5) printf("rank %d: %s: %s\n", rank, what, vicinal_error_message());
}

static void session(int is_last) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm all;
  MPI_Info info;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "vicinal.tests", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all);
  MPI_Group_free(&group);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_strategy", "aggregate");
  MPI_Info_set(info, "vicinal_regions", "blocks:2");

  int others[most], sent[most], got[most];
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request request = VICINAL_REQUEST_NULL;
  for (int i = 0; i < size; ++i) others[i] = i;
  check(vicinal_graph_create_adjacent(all, size, others, MPI_UNWEIGHTED, size, others,
                                      MPI_UNWEIGHTED, info, 0, &graph) == MPI_SUCCESS,
        "making a graph");
  check(vicinal_neighbor_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT, graph, info, &request) ==
            MPI_SUCCESS,
        "making a request");
  for (int call = 0; call < calls; ++call) {
    for (int i = 0; i < size; ++i) sent[i] = rank * 100 + i + call;
    if (call % 2 == 0) {
      vicinal_neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, graph);
    } else {
      vicinal_start(&request);
      vicinal_wait(&request);
    }
    for (int i = 0; i < size; ++i) check(got[i] == i * 100 + rank + call, "an exchange");
    vicinal_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, all);
    for (int i = 0; i < size; ++i) check(got[i] == i, "an allgather");
  }
  vicinal_halo halo = VICINAL_HALO_NULL;
  const int64_t needed = (rank + 1) % size;
  double value = rank, ghost = -1;
  vicinal_halo_create(all, rank, rank + 1, 1, &needed, info, &halo);
  vicinal_halo_exchange(halo, &value, &ghost, 1, MPI_DOUBLE);
  check(ghost == (double)needed, "a halo");
  vicinal_halo_free(&halo);
  MPI_Info_free(&info);

  if (!is_last) {
    vicinal_request_free(&request);
    vicinal_graph_free(&graph);
  }
  MPI_Comm_free(&all);
  MPI_Session_finalize(&session);
  if (!is_last) return;
  check(vicinal_start(&request) != MPI_SUCCESS, "a start after the end");
  check(strstr(vicinal_error_message(), "MPI is not running") != NULL, "what it says");
  vicinal_request_free(&request);
  vicinal_graph_free(&graph);
}

int main(void) {
#ifndef OPEN_MPI
  session(0);
#endif
  session(1);
  return wrong > 0;
}

#else

int main(void) { return 0; }

#endif
