/* Communicators freed while messages are pending on them, or while exchanges on others are in
 * flight. MPI may then delete them and their attributes inside a later call. MALLOC_PERTURB_
 * reveals any use of freed memory. */
#include "programs.h"

enum { rounds = 20 };

/* Leaves messages pending on a grid, its row of all ranks, and a graph, and frees all three
 * before waiting. */
static void pending_messages(void) {
  for (int round = 0; round < rounds; ++round) {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    const int sizes[2] = {1, ranks}, periodic[2] = {1, 1}, remaining[2] = {0, 1};
    int sent = rank + round, got[3] = {-1, -1, -1};
    MPI_Comm grid, row, graph = all_with_all();
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periodic, 0, &grid);
    MPI_Cart_sub(grid, remaining, &row);
    MPI_Comm of[3] = {row, graph, grid};
    MPI_Request all[6];
    for (int i = 0; i < 3; ++i) {
      MPI_Irecv(&got[i], 1, MPI_INT, before, 5, of[i], &all[2 * i]);
      MPI_Isend(&sent, 1, MPI_INT, next, 5, of[i], &all[2 * i + 1]);
      MPI_Comm_free(&of[i]);
    }
    MPI_Waitall(6, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; ++i) CHECK(got[i] == before + round);
  }
}

/* Exchanges on one graph continue while another graph is freed in the background. */
static void exchanges_meanwhile(void) {
  MPI_Comm graph = all_with_all();
  int sent[64], got[64];
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm parent, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    other = all_with_all_of(parent);
    for (int call = 0; call < 3; ++call) {
      MPI_Request request;
      for (int i = 1; i < ranks; ++i) sent[i - 1] = rank * 100 + (rank + i) % ranks + call;
      MPI_Ineighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, graph, &request);
      if (call == 0) {
        MPI_Comm_free(&other);
        MPI_Comm_free(&parent);
      }
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int i = 1; i < ranks; ++i) {
        CHECK(got[i - 1] == (rank + i) % ranks * 100 + rank + call);
      }
    }
  }
  MPI_Comm_free(&graph);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv);
  pending_messages();
  exchanges_meanwhile();
  return end_program();
}
