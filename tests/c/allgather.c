/* Calls every function of allgathers over a communicator, from C11 with the public header alone.
 * Covers calls in place and not, derived datatypes, a sub-communicator, and invalid arguments. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <vicinal/vicinal.h>

enum { most = 64 };

static int rank, size, faults;
static MPI_Comm comm;
static vicinal_request request;

static int sent[3];
static int received[4 * most]; /* three numbers and a gap for each rank */
static int counts[most], places[most];
static MPI_Count large_counts[most];
static MPI_Aint large_places[most];

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "rank %d: %s (last message: %s)\n", rank, what, vicinal_error_message());
  ++faults;
}

/* Rank r contributes r mod 3 + 1 numbers if counts differ, else two. */
static int numbers_of(int r, int same) { return same ? 2 : r % 3 + 1; }

/* Prepares a call; in place, the own block lies at its final position. */
static void prepare(int same, int in_place) {
  for (int i = 0; i < 4 * most; ++i) received[i] = -1;
  for (int i = 0; i < 3; ++i) sent[i] = rank * 10 + i;
  int* own = received + (same ? 2 : 4) * rank;
  for (int i = 0; in_place && i < numbers_of(rank, same); ++i) own[i] = sent[i];
}

static void verify(int code, int same, int form, const char* what) {
  expect(code == MPI_SUCCESS, what);
  if (form == 2) expect(vicinal_start(&request) == MPI_SUCCESS, what);
  if (form >= 1) expect(vicinal_wait(&request) == MPI_SUCCESS, what);
  if (form == 2) expect(vicinal_request_free(&request) == MPI_SUCCESS, what);
  expect(request == VICINAL_REQUEST_NULL, what);
  const int stride = same ? 2 : 4;
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < stride; ++i) {
      const int wanted = i < numbers_of(r, same) ? r * 10 + i : -1;
      expect(received[stride * r + i] == wanted, what);
    }
  }
}

#define ONCE(function, same, form, in_place, ...)                   \
  do {                                                              \
    prepare(same, in_place);                                        \
    verify(vicinal_##function(__VA_ARGS__), same, form, #function); \
  } while (0)

static void run(int in_place) {
  const void* from = in_place ? MPI_IN_PLACE : (const void*)sent;
  const int own = numbers_of(rank, 0);
  ONCE(allgather, 1, 0, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm);
  ONCE(iallgather, 1, 1, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm, &request);
  ONCE(allgather_init, 1, 2, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm, MPI_INFO_NULL,
       &request);
  ONCE(allgather_c, 1, 0, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm);
  ONCE(iallgather_c, 1, 1, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm, &request);
  ONCE(allgather_init_c, 1, 2, in_place, from, 2, MPI_INT, received, 2, MPI_INT, comm,
       MPI_INFO_NULL, &request);
  ONCE(allgatherv, 0, 0, in_place, from, own, MPI_INT, received, counts, places, MPI_INT, comm);
  ONCE(iallgatherv, 0, 1, in_place, from, own, MPI_INT, received, counts, places, MPI_INT, comm,
       &request);
  ONCE(allgatherv_init, 0, 2, in_place, from, own, MPI_INT, received, counts, places, MPI_INT, comm,
       MPI_INFO_NULL, &request);
  ONCE(allgatherv_c, 0, 0, in_place, from, own, MPI_INT, received, large_counts, large_places,
       MPI_INT, comm);
  ONCE(iallgatherv_c, 0, 1, in_place, from, own, MPI_INT, received, large_counts, large_places,
       MPI_INT, comm, &request);
  ONCE(allgatherv_init_c, 0, 2, in_place, from, own, MPI_INT, received, large_counts, large_places,
       MPI_INT, comm, MPI_INFO_NULL, &request);
}

/* Two numbers with a gap between them at the sender. */
static void run_derived(void) {
  MPI_Datatype spread;
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  const int from[3] = {rank * 10, -5, rank * 10 + 1};
  prepare(1, 0);
  verify(vicinal_allgather(from, 1, spread, received, 2, MPI_INT, comm), 1, 0, "a derived type");
  MPI_Type_free(&spread);
}

static void run_wrong(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "vicinal_allgather", "bruk");
  expect(vicinal_allgather_init(sent, 2, MPI_INT, received, 2, MPI_INT, comm, info, &request) ==
             MPI_ERR_INFO_VALUE,
         "a planner that does not exist");
  MPI_Info_free(&info);
  const int code = vicinal_allgather(sent, rank == 0 ? -1 : 2, MPI_INT, received, 2, MPI_INT, comm);
  expect(rank == 0 ? code == MPI_ERR_COUNT : code != MPI_SUCCESS, "a negative count on one rank");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm halves;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
  const MPI_Comm all[2] = {MPI_COMM_WORLD, halves};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int which = 0; which < 2; ++which) {
    MPI_Comm_dup(all[which], &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (size > most) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < size; ++r) {
      large_counts[r] = counts[r] = numbers_of(r, 0);
      large_places[r] = places[r] = 4 * r;
    }
    vicinal_set_regions(comm, which == 0 ? "blocks:3" : "round-robin:2");
    run(0);
    run(1);
    run_derived();
    vicinal_set_regions(comm, "blocks:2"); /* takes effect in later calls */
    run(1);
    run_wrong();
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free(&halves);
  MPI_Finalize();
  return faults == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
