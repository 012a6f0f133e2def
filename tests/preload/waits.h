/* Definitions for the cases of waiting.c, in which all ranks but `last` wait for rank `last`. */
#ifndef VICINAL_PRELOAD_WAITS_H
#define VICINAL_PRELOAD_WAITS_H

#include "programs.h"

#define WORLD MPI_COMM_WORLD
#define IGNORED MPI_STATUS_IGNORE
/* Open MPI 5 has the functions of MPI 4.0, but declares MPI 3.1. */
#ifdef OMPI_MAJOR_VERSION
#define HAS_MPI_4 (OMPI_MAJOR_VERSION >= 5)
#else
#define HAS_MPI_4 (MPI_VERSION >= 4)
#endif
#define HAS_MPI_4_1 (10 * MPI_VERSION + MPI_SUBVERSION >= 41)

/* A function in which ranks wait. `prepare` runs before, while no rank waits for another. */
typedef struct {
  const char* name;
  void (*wait)(int last);
  void (*prepare)(int last);
} Case;

enum { tag = 7, most = 64 };
static int value, other_value, values[most], other_values[most];
static int ones[most], places[most];
static MPI_Datatype types[most];
static char big[1 << 18], other_big[sizeof big];

static inline void fill_arguments(void) {
  for (int i = 0; i < most; ++i) {
    ones[i] = 1;
    places[i] = i;
    types[i] = MPI_INT;
  }
}

static inline void send_to_all_others(void) {
  for (int i = 1; i < ranks; ++i) MPI_Send(&value, 1, MPI_INT, (rank + i) % ranks, tag, WORLD);
}
static inline void receive_from_all_others(void* into, int count, MPI_Datatype type) {
  for (int i = 1; i < ranks; ++i) MPI_Recv(into, count, type, MPI_ANY_SOURCE, tag, WORLD, IGNORED);
}

/* Waits by `receive` for a message of rank `last`. */
#define RECEIVING(name)                        \
  static void receive_by_##name(int last);     \
  static void name(int last) {                 \
    if (rank == last) send_to_all_others();    \
    if (rank != last) receive_by_##name(last); \
  }                                            \
  static void receive_by_##name(int last)
/* Waits by `send` for rank `last` to receive `count` elements from each. */
#define SENDING(name, count, type)                                     \
  static void send_by_##name(int last);                                \
  static void name(int last) {                                         \
    if (rank == last) receive_from_all_others(other_big, count, type); \
    if (rank != last) send_by_##name(last);                            \
  }                                                                    \
  static void send_by_##name(int last)
/* Waits in a function that all ranks call. */
#define TOGETHER(name) static void name(int last)

#endif
