/* What a Fortran program has C do with its communicators and requests (neighbors.F90). */
#include <mpi.h>

int wait_in_c(MPI_Fint* request);
int test_all_in_c(MPI_Fint count, MPI_Fint* requests);
int exchange_in_c(MPI_Fint comm, MPI_Fint degree, const int* source, int* target);

int wait_in_c(MPI_Fint* request) {
  MPI_Request it = MPI_Request_f2c(*request);
  const int code = MPI_Wait(&it, MPI_STATUS_IGNORE);
  *request = MPI_Request_c2f(it);
  return code;
}

int test_all_in_c(MPI_Fint count, MPI_Fint* requests) {
  MPI_Request all[16];
  int code = MPI_SUCCESS, done = 0;
  for (int i = 0; i < count; ++i) all[i] = MPI_Request_f2c(requests[i]);
  while (code == MPI_SUCCESS && !done) code = MPI_Testall(count, all, &done, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) requests[i] = MPI_Request_c2f(all[i]);
  return code;
}

/* Seven integers for each neighbour. */
int exchange_in_c(MPI_Fint comm, MPI_Fint degree, const int* source, int* target) {
  MPI_Comm it = MPI_Comm_f2c(comm);
  int sources = 0, destinations = 0, weighted = 0, kind = MPI_UNDEFINED;
  MPI_Topo_test(it, &kind);
  if (kind == MPI_DIST_GRAPH) {
    MPI_Dist_graph_neighbors_count(it, &sources, &destinations, &weighted);
    if (sources != degree || destinations != degree) return MPI_ERR_TOPOLOGY;
  }
  return MPI_Neighbor_alltoall(source, 7, MPI_INT, target, 7, MPI_INT, it);
}
