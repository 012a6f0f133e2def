/* A program with buffers in a GPU's memory, by the double of NVIDIA's driver if
 * VICINAL_DEVICE_DRIVER names it, as with a GPU-aware MPI. Else the buffers are in host memory,
 * and the program is an ordinary one. */
#include "device.h"

static MPI_Comm graph;
static Exchange here;
static int all, *source, *target;

static void put(int turn) {
  fill(&here, turn);
  copy(source, here.source, all);
  copy(target, here.target, all);
}
static void check_came(int turn) {
  copy(here.target, target, all);
  check_exchange(&here, turn);
}

static void with_counts(int turn) {
  MPI_Request request;
  put(turn);
  if (turn % 2 == 0) {
    MPI_Neighbor_alltoallv(source, here.counts, here.places, MPI_INT, target, here.got_counts,
                           here.got_places, MPI_INT, graph);
  } else {
    MPI_Ineighbor_alltoallv(source, here.counts, here.places, MPI_INT, target, here.got_counts,
                            here.got_places, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  check_came(turn);
}

static void with_types(int turn) {
  MPI_Aint places[64], got_places[64];
  MPI_Datatype types[64];
  for (int k = 0; k < here.degree; ++k) {
    places[k] = (MPI_Aint)sizeof(int) * here.places[k];
    got_places[k] = (MPI_Aint)sizeof(int) * here.got_places[k];
    types[k] = MPI_INT;
  }
  put(turn);
  MPI_Neighbor_alltoallw(source, here.counts, places, types, target, here.got_counts, got_places,
                         types, graph);
  check_came(turn);
}

/* Blocks of two values, by alltoall and by allgather. */
static void of_blocks(int turn) {
  int sent[128], got[128];
  MPI_Request request;
  for (int k = 0; k < here.degree; ++k) {
    for (int i = 0; i < 2; ++i) {
      sent[2 * k + i] = value_of(rank, (rank + k + 1) % ranks, i, turn);
    }
  }
  copy(source, sent, 2 * here.degree);
  MPI_Ineighbor_alltoall(source, 2, MPI_INT, target, 2, MPI_INT, graph, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  copy(got, target, 2 * here.degree);
  for (int k = 0; k < 2 * here.degree; ++k) {
    CHECK(got[k] == value_of((rank + k / 2 + 1) % ranks, rank, k % 2, turn));
  }
  sent[0] = value_of(rank, 0, 0, turn);
  copy(source, sent, 1);
  if (turn % 2 == 0) {
    MPI_Neighbor_allgather(source, 1, MPI_INT, target, 1, MPI_INT, graph);
  } else {
    MPI_Ineighbor_allgather(source, 1, MPI_INT, target, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  copy(got, target, here.degree);
  for (int k = 0; k < here.degree; ++k) {
    CHECK(got[k] == value_of((rank + k + 1) % ranks, 0, 0, turn));
  }
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  begin_device();
  graph = all_with_all();
  here = make_exchange();
  all = 7 * ranks;
  source = device_array(all), target = device_array(all);
  for (int turn = 0; turn < 40; ++turn) {
    with_counts(turn);
    with_types(turn);
    of_blocks(turn);
  }
  free_exchange(&here);
  MPI_Comm_free(&graph);
  return end_program();
}
