/* Frees a communicator with the library set up while the program's messages are pending on it.
 * MPICH deletes it inside the wait for them, at MPI_THREAD_MULTIPLE with its lock held. The
 * library's own communicator is freed before MPI ends. */
#include <mpi.h>
#include <stdio.h>
#include <vicinal/vicinal.h>

int main(int argc, char** argv) {
  int provided, rank, size, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < 20; ++round) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int sent = rank + round, got = -1, all[64];
    MPI_Comm comm;
    MPI_Request requests[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    vicinal_allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Irecv(&got, 1, MPI_INT, before, 5, comm, &requests[0]);
    MPI_Isend(&sent, 1, MPI_INT, next, 5, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    wrong += got != before + round;
  }
  MPI_Finalize();
  if (wrong > 0) printf("rank %d: %d values are wrong\n", rank, wrong);
  return wrong > 0;
}
