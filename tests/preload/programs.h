/* Common parts of the programs of this folder. They do not use vicinal. Each is correct with MPI
 * alone, apart from MPI errors that its own comment names, and must be correct with the preload
 * library. */
#ifndef VICINAL_PRELOAD_PROGRAMS_H
#define VICINAL_PRELOAD_PROGRAMS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GCC mistakes MPI_UNWEIGHTED for an array. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

static int rank, ranks, wrong;

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      if (wrong++ < 5)                                                                 \
        fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition); \
    }                                                                                  \
  } while (0)

/* Initializes MPI, with MPI_THREAD_MULTIPLE if THREADS is set. */
static inline void begin_program(int* argc, char*** argv) {
  int given = 0;
  MPI_Init_thread(argc, argv, getenv("THREADS") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline int tell_whether_right(void) {
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(all == 0 ? "right\n" : "%d wrong\n", all);
  return all != 0;
}

static inline int end_program(void) {
  const int failed = tell_whether_right();
  MPI_Finalize();
  return failed;
}

/* Makes edges between all ranks, so that each leader relays data. */
static inline MPI_Comm all_with_all_of(MPI_Comm of) {
  int* others = (int*)malloc(sizeof(int) * (size_t)(ranks > 0 ? ranks : 1));
  int count = 0;
  for (int i = 1; i < ranks; ++i) others[count++] = (rank + i) % ranks;
  MPI_Comm made;
  MPI_Dist_graph_create_adjacent(of, count, others, MPI_UNWEIGHTED, count, others, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
  free(others);
  return made;
}
static inline MPI_Comm all_with_all(void) { return all_with_all_of(MPI_COMM_WORLD); }

/* An alltoallv between all ranks with blocks of different sizes, and its expected result. */
typedef struct {
  int degree, *counts, *places, *got_counts, *got_places, *source, *target;
} Exchange;

static inline int size_of(int from, int to) { return 1 + (3 * from + 5 * to) % 7; }
static inline int value_of(int from, int to, int i, int turn) {
  return from * 100000 + to * 1000 + i * 10 + turn % 10;
}

static inline Exchange make_exchange(void) {
  Exchange it;
  it.degree = ranks - 1;
  int** lists[] = {&it.counts, &it.places, &it.got_counts, &it.got_places};
  for (int k = 0; k < 4; ++k) *lists[k] = (int*)calloc((size_t)ranks, sizeof(int));
  it.source = (int*)calloc((size_t)ranks * 7, sizeof(int));
  it.target = (int*)calloc((size_t)ranks * 7, sizeof(int));
  for (int k = 0; k < it.degree; ++k) {
    const int other = (rank + k + 1) % ranks;
    it.counts[k] = size_of(rank, other);
    it.got_counts[k] = size_of(other, rank);
    it.places[k] = it.got_places[k] = 7 * k;
  }
  return it;
}
static inline void fill(Exchange* it, int turn) {
  for (int k = 0; k < it->degree; ++k) {
    for (int i = 0; i < 7; ++i) {
      it->source[7 * k + i] = value_of(rank, (rank + k + 1) % ranks, i, turn);
      it->target[7 * k + i] = -1;
    }
  }
}
static inline void check_exchange(const Exchange* it, int turn) {
  for (int k = 0; k < it->degree; ++k) {
    const int other = (rank + k + 1) % ranks;
    for (int i = 0; i < 7; ++i) {
      const int due = i < it->got_counts[k] ? value_of(other, rank, i, turn) : -1;
      CHECK(it->target[7 * k + i] == due);
    }
  }
}
static inline void free_exchange(Exchange* it) {
  int* lists[] = {it->counts, it->places, it->got_counts, it->got_places, it->source, it->target};
  for (int k = 0; k < 6; ++k) free(lists[k]);
}
#define SENT(it) (it).source, (it).counts, (it).places, MPI_INT
#define GOT(it) (it).target, (it).got_counts, (it).got_places, MPI_INT

#endif
