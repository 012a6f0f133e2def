/* Ranks free a communicator and finalize at very different times: rank 0 at once, and each other
 * rank later than the one before. With `ends never MILLISECONDS`, the last rank never frees it.
 * No rank may hang or crash because of pending operations. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vicinal/vicinal.h>

enum { most = 64, communicators = 4 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int never = argc > 1 && strcmp(argv[1], "never") == 0;
  const long lag = argc > 2 ? atol(argv[2]) : 50;

  MPI_Comm comms[communicators];
  int received[most];
  for (int i = 0; i < communicators; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    vicinal_allgather(&rank, 1, MPI_INT, received, 1, MPI_INT, comms[i]);
    for (int other = 0; other < size && other < most; ++other) wrong += received[other] != other;
  }
  const struct timespec pause = {lag * rank / 1000, lag * rank % 1000 * 1000000};
  nanosleep(&pause, NULL);
  /* Every second rank frees in another order. */
  for (int i = 0; i < communicators; ++i) {
    if (never && rank == size - 1) break;
    MPI_Comm_free(&comms[rank % 2 == 0 ? i : communicators - 1 - i]);
  }
  MPI_Finalize();
  return wrong > 0;
}
