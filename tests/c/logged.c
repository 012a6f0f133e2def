/* A program with info keys, for tests/test_log.py: `logged KEY VALUE ...`. On two communicators,
 * it creates a graph of all ranks and a halo with these keys, and exchanges in all forms. It
 * prints nothing itself; only the library logs. */
#include <mpi.h>
#include <vicinal/vicinal.h>

enum { most = 64, calls = 10 };

static int rank, size;

static int all_forms(MPI_Comm comm, MPI_Info info) {
  int others[most], counts[most], places[most], sent[most], received[most];
  int wrong = 0;
  for (int i = 0; i < size && i < most; ++i) {
    others[i] = i;
    counts[i] = 1;
    places[i] = i;
    sent[i] = rank * most + i;
  }
  vicinal_graph graph = VICINAL_GRAPH_NULL;
  vicinal_request request = VICINAL_REQUEST_NULL;
  vicinal_graph_create_adjacent(comm, size, others, MPI_UNWEIGHTED, size, others, MPI_UNWEIGHTED,
                                info, 0, &graph);
  vicinal_neighbor_alltoallv_init(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                                  graph, info, &request);
  vicinal_start(&request);
  vicinal_wait(&request);
  for (int i = 0; i < size; ++i) wrong += received[i] != i * most + rank;
  vicinal_request_free(&request);
  for (int call = 0; call < calls; ++call) {
    vicinal_ineighbor_alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, graph, &request);
    vicinal_wait(&request);
    vicinal_neighbor_alltoallv(sent, counts, places, MPI_INT, received, counts, places, MPI_INT,
                               graph);
    for (int i = 0; i < size; ++i) wrong += received[i] != i * most + rank;
  }
  vicinal_graph_free(&graph);

  const int64_t needed = (rank + 1) % size;
  double owned = rank, ghost = -1;
  vicinal_halo halo = VICINAL_HALO_NULL;
  vicinal_halo_create(comm, rank, rank + 1, 1, &needed, info, &halo);
  vicinal_halo_exchange(halo, &owned, &ghost, 1, MPI_DOUBLE);
  wrong += ghost != (double)needed;
  vicinal_halo_free(&halo);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_regions", "blocks:2");
  for (int i = 1; i + 1 < argc; i += 2) MPI_Info_set(info, argv[i], argv[i + 1]);
  int wrong = 0;
  for (int i = 0; i < 2; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    wrong += all_forms(comm, info);
    MPI_Comm_free(&comm);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return wrong > 0;
}
