/* A program without vicinal: each rank repeatedly exchanges a number with each other rank. */
#include <mpi.h>
#include <stdio.h>

enum { most = 64, often = 40 };

int main(int argc, char** argv) {
  int rank, ranks, others[most], sent[most], received[most], degree = 0, wrong = 0;
  MPI_Comm graph;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < ranks && i <= most; ++i) others[degree++] = (rank + i) % ranks;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, others, MPI_UNWEIGHTED, degree, others,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  for (int call = 0; call < often; ++call) {
    for (int i = 0; i < degree; ++i) sent[i] = rank * 1000 + call, received[i] = -1;
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph);
    for (int i = 0; i < degree; ++i) wrong += received[i] != others[i] * 1000 + call;
  }
  MPI_Comm_free(&graph);
  if (wrong != 0) fprintf(stderr, "rank %d received %d wrong numbers\n", rank, wrong);
  MPI_Finalize();
  return wrong != 0;
}
