// A user's C++ program, compiled and linked by the MPI's own mpicxx.
#include <mpi.h>
#include <vicinal/vicinal.h>

#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::int64_t wanted = (rank + 1) % ranks;
  const double own = rank;
  double ghost = -1;
  vicinal_halo halo = VICINAL_HALO_NULL;
  vicinal_halo_create(MPI_COMM_WORLD, rank, rank + 1, 1, &wanted, MPI_INFO_NULL, &halo);
  vicinal_halo_exchange(halo, &own, &ghost, 1, MPI_DOUBLE);
  vicinal_halo_free(&halo);
  const bool right = ghost == static_cast<double>(wanted);
  if (!right) std::fprintf(stderr, "rank %d received %g\n", rank, ghost);
  MPI_Finalize();
  return right ? 0 : 1;
}
