/* Halos from C11 with the public header alone: the three forms of creation, exchange and
 * reverse, maps and statistics. Uses blocks and several vectors, with the ghosts at the end of
 * the owned array. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <vicinal/vicinal.h>

enum { owned_count = 10, ghost_count = 4 };

static int rank, size, faults;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (last message: %s)\n", rank, what, vicinal_error_message());
  ++faults;
}

static void run(vicinal_halo halo, const int64_t needed[ghost_count]) {
  double x[owned_count + ghost_count];
  for (int i = 0; i < owned_count; ++i) x[i] = (double)(rank * owned_count + i);
  expect(vicinal_halo_exchange(halo, x, x + owned_count, 1, MPI_DOUBLE) == MPI_SUCCESS, "exchange");
  for (int g = 0; g < ghost_count; ++g) {
    expect(x[owned_count + g] == (double)needed[g], "the value of a ghost");
  }

  for (int i = 0; i < owned_count; ++i) x[i] = 0.5;
  for (int g = 0; g < ghost_count; ++g) x[owned_count + g] = 1.0;
  vicinal_request request = VICINAL_REQUEST_NULL;
  expect(vicinal_halo_reverse_start(halo, x, x + owned_count, 1, MPI_DOUBLE, MPI_SUM, &request) ==
             MPI_SUCCESS,
         "start the reverse");
  expect(vicinal_wait(&request) == MPI_SUCCESS && request == VICINAL_REQUEST_NULL, "wait");
  expect(x[0] == 2.5 && x[1] == 1.5 && x[2] == 0.5 && x[owned_count - 1] == 1.5, "the sums");

  double block[2][owned_count * 3], ghosts[2][ghost_count * 3];
  for (int v = 0; v < 2; ++v) {
    for (int i = 0; i < owned_count * 3; ++i) {
      block[v][i] = (double)((rank * owned_count + i / 3) * 6 + v * 3 + i % 3);
    }
  }
  expect(vicinal_halo_start_vectors(halo, block, owned_count * 3, ghosts, ghost_count * 3, 2, 3,
                                    MPI_DOUBLE, &request) == MPI_SUCCESS &&
             vicinal_wait(&request) == MPI_SUCCESS,
         "exchange two vectors of blocks");
  for (int v = 0; v < 2; ++v) {
    for (int g = 0; g < ghost_count * 3; ++g) {
      expect(ghosts[v][g] == (double)(needed[g / 3] * 6 + v * 3 + g % 3), "a value of a block");
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t first = rank * owned_count;
  const int64_t after = (int64_t)((rank + 1) % size) * owned_count;
  const int64_t before = (int64_t)((rank + size - 1) % size) * owned_count + owned_count - 1;
  const int64_t needed[ghost_count] = {before, after, after + 1, after};
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int owners[ghost_count] = {left, right, right, right};
  int64_t indices[owned_count];
  for (int i = 0; i < owned_count; ++i) indices[i] = first + i;

  vicinal_halo halo = VICINAL_HALO_NULL;
  expect(vicinal_halo_create(MPI_COMM_WORLD, first, first + owned_count, ghost_count, needed,
                             MPI_INFO_NULL, &halo) == MPI_SUCCESS,
         "create by range");
  run(halo, needed);

  vicinal_halo_map send, receive;
  expect(vicinal_halo_get_maps(halo, &send, &receive) == MPI_SUCCESS, "the maps");
  expect(receive.offsets[receive.neighbors] == ghost_count, "the number of ghosts in the map");
  for (int n = 0; n < receive.neighbors; ++n) {
    for (int64_t i = receive.offsets[n]; i < receive.offsets[n + 1]; ++i) {
      expect(owners[receive.positions[i]] == receive.ranks[n], "the owner in the map");
    }
  }
  expect(send.neighbors == receive.neighbors, "as many neighbours in either direction");
  vicinal_statistics statistics;
  expect(vicinal_halo_get_statistics(halo, &statistics) == MPI_SUCCESS, "the statistics");
  expect(size > 1 || statistics.nonlocal_messages == 0, "no messages where there is one rank");
  expect(vicinal_halo_free(&halo) == MPI_SUCCESS && halo == VICINAL_HALO_NULL, "free");

  expect(vicinal_halo_create_indexed(MPI_COMM_WORLD, owned_count, indices, ghost_count, needed,
                                     MPI_INFO_NULL, &halo) == MPI_SUCCESS,
         "create by indices");
  run(halo, needed);
  vicinal_halo_free(&halo);
  expect(vicinal_halo_create_with_owners(MPI_COMM_WORLD, owned_count, indices, ghost_count, needed,
                                         owners, MPI_INFO_NULL, &halo) == MPI_SUCCESS,
         "create with owners");
  run(halo, needed);
  vicinal_halo_free(&halo);

  int region_of[64];
  if (size <= 64) {
    expect(vicinal_get_regions(MPI_COMM_WORLD, region_of) == MPI_SUCCESS, "the regions");
    expect(vicinal_set_regions(MPI_COMM_WORLD, "blocks:1") == MPI_SUCCESS, "set regions");
    expect(vicinal_get_regions(MPI_COMM_WORLD, region_of) == MPI_SUCCESS, "the regions");
    expect(region_of[size - 1] == size - 1, "one region for each rank");
  }
  MPI_Finalize();
  return faults > 0;
}
