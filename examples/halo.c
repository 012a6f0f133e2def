/* A one-dimensional heat equation: each rank owns a part of the rod and needs the value on
 * either side of it. It runs with any number of ranks:
 *
 *   mpiexec -n 4 ./halo */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <vicinal/vicinal.h>

enum { per_rank = 1000, steps = 500 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  const int64_t first = (int64_t)rank * per_rank, last = first + per_rank;
  int64_t needed[2];
  int64_t ghosts = 0;
  if (rank > 0) needed[ghosts++] = first - 1;
  if (rank < size - 1) needed[ghosts++] = last;

  vicinal_halo halo;
  vicinal_halo_create(MPI_COMM_WORLD, first, last, ghosts, needed, MPI_INFO_NULL, &halo);

  /* Owned values, then the ghosts in the order of `needed`. */
  double *u = calloc(per_rank + 2, sizeof *u), *next = calloc(per_rank + 2, sizeof *next);
  if (rank == 0) u[0] = next[0] = 1.0;
  for (int step = 0; step < steps; ++step) {
    vicinal_request exchange;
    vicinal_halo_start(halo, u, u + per_rank, 1, MPI_DOUBLE, &exchange);
    for (int i = 1; i < per_rank - 1; ++i) next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    vicinal_wait(&exchange);
    const double left = rank > 0 ? u[per_rank] : u[0];
    const double right = rank < size - 1 ? u[per_rank + ghosts - 1] : u[per_rank - 1];
    if (rank > 0) next[0] = u[0] + 0.25 * (left - 2 * u[0] + u[1]);
    next[per_rank - 1] = u[per_rank - 1] + 0.25 * (u[per_rank - 2] - 2 * u[per_rank - 1] + right);
    double* swap = u;
    u = next;
    next = swap;
  }

  double heat = 0, total = 0;
  for (int i = 0; i < per_rank; ++i) heat += u[i];
  MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("heat in the rod after %d steps: %.6f\n", steps, total);

  free(u);
  free(next);
  vicinal_halo_free(&halo);
  MPI_Finalize();
  return 0;
}
