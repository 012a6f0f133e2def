/* Functions with large counts: Open MPI 5 has none, and programs (such as mpi4py) find them by
 * weak references. With the preload library they exist, for every communicator. */
#include "programs.h"

#if MPI_VERSION < 4
int MPI_Neighbor_alltoallv_c(const void*, const MPI_Count[], const MPI_Aint[], MPI_Datatype, void*,
                             const MPI_Count[], const MPI_Aint[], MPI_Datatype, MPI_Comm);
int MPI_Ineighbor_alltoallv_c(const void*, const MPI_Count[], const MPI_Aint[], MPI_Datatype, void*,
                              const MPI_Count[], const MPI_Aint[], MPI_Datatype, MPI_Comm,
                              MPI_Request*);
int MPI_Neighbor_allgather_c(const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
                             MPI_Comm);
#endif
#pragma weak MPI_Neighbor_alltoallv_c
#pragma weak MPI_Ineighbor_alltoallv_c
#pragma weak MPI_Neighbor_allgather_c

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  MPI_Comm graph = all_with_all();
  Exchange it = make_exchange();
  MPI_Count counts[64], got_counts[64];
  MPI_Aint places[64];
  for (int k = 0; k < it.degree; ++k) {
    counts[k] = it.counts[k], got_counts[k] = it.got_counts[k], places[k] = it.places[k];
  }
  const int are_there = &MPI_Neighbor_alltoallv_c != NULL && &MPI_Ineighbor_alltoallv_c != NULL &&
                        &MPI_Neighbor_allgather_c != NULL;
  if (getenv("WITH_VICINAL")) CHECK(are_there);
  for (int turn = 0; are_there && turn < 20; ++turn) {
    MPI_Request request;
    fill(&it, turn);
    MPI_Neighbor_alltoallv_c(it.source, counts, places, MPI_INT, it.target, got_counts, places,
                             MPI_INT, graph);
    check_exchange(&it, turn);
    fill(&it, turn + 1);
    MPI_Ineighbor_alltoallv_c(it.source, counts, places, MPI_INT, it.target, got_counts, places,
                              MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_exchange(&it, turn + 1);
    int own = rank * 100 + turn, got[64];
    MPI_Neighbor_allgather_c(&own, 1, MPI_INT, got, 1, MPI_INT, graph);
    for (int k = 0; k < it.degree; ++k) CHECK(got[k] == (rank + k + 1) % ranks * 100 + turn);
  }
  free_exchange(&it);
  MPI_Comm_free(&graph);
  return end_program();
}
