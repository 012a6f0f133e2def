/* Ranks that wait in collective operations, and in creation of communicators. */
#ifndef VICINAL_PRELOAD_WAITS_IN_COLLECTIVES_H
#define VICINAL_PRELOAD_WAITS_IN_COLLECTIVES_H

#include "waits.h"

#define COLLECTIVE(name, call) \
  TOGETHER(name) { (void)last, call; }

COLLECTIVE(barrier, MPI_Barrier(WORLD))
COLLECTIVE(bcast, MPI_Bcast(&value, 1, MPI_INT, last, WORLD))
COLLECTIVE(scatter, MPI_Scatter(values, 1, MPI_INT, &value, 1, MPI_INT, last, WORLD))
COLLECTIVE(scatterv, MPI_Scatterv(values, ones, places, MPI_INT, &value, 1, MPI_INT, last, WORLD))
COLLECTIVE(gather, MPI_Gather(&value, 1, MPI_INT, values, 1, MPI_INT, (last + 1) % ranks, WORLD))
COLLECTIVE(gatherv, MPI_Gatherv(&value, 1, MPI_INT, values, ones, places, MPI_INT,
                                (last + 1) % ranks, WORLD))
COLLECTIVE(reduce, MPI_Reduce(&value, &other_value, 1, MPI_INT, MPI_SUM, (last + 1) % ranks, WORLD))
COLLECTIVE(allreduce, MPI_Allreduce(&value, &other_value, 1, MPI_INT, MPI_SUM, WORLD))
COLLECTIVE(allgather, MPI_Allgather(&value, 1, MPI_INT, values, 1, MPI_INT, WORLD))
COLLECTIVE(allgatherv, MPI_Allgatherv(&value, 1, MPI_INT, values, ones, places, MPI_INT, WORLD))
COLLECTIVE(alltoall, MPI_Alltoall(values, 1, MPI_INT, other_values, 1, MPI_INT, WORLD))
COLLECTIVE(alltoallv,
           MPI_Alltoallv(values, ones, places, MPI_INT, other_values, ones, places, MPI_INT, WORLD))
COLLECTIVE(alltoallw,
           MPI_Alltoallw(values, ones, places, types, other_values, ones, places, types, WORLD))
COLLECTIVE(reduce_scatter, MPI_Reduce_scatter(values, &value, ones, MPI_INT, MPI_SUM, WORLD))
COLLECTIVE(reduce_scatter_block,
           MPI_Reduce_scatter_block(values, &value, 1, MPI_INT, MPI_SUM, WORLD))
COLLECTIVE(scan, MPI_Scan(&value, &other_value, 1, MPI_INT, MPI_SUM, WORLD))
COLLECTIVE(exscan, MPI_Exscan(&value, &other_value, 1, MPI_INT, MPI_SUM, WORLD))

static MPI_Request collective;
static void wait_for_collective(void) { MPI_Wait(&collective, IGNORED); }
static void test_collective(void) {
  for (int over = 0; !over;) MPI_Test(&collective, &over, IGNORED);
}
COLLECTIVE(ibarrier, (MPI_Ibarrier(WORLD, &collective), wait_for_collective()))
COLLECTIVE(tested_ibarrier, (MPI_Ibarrier(WORLD, &collective), test_collective()))
COLLECTIVE(iallgather, (MPI_Iallgather(&value, 1, MPI_INT, values, 1, MPI_INT, WORLD, &collective),
                        wait_for_collective()))
#if HAS_MPI_4
TOGETHER(persistent_barrier) {
  (void)last;
  MPI_Barrier_init(WORLD, MPI_INFO_NULL, &collective);
  MPI_Start(&collective);
  wait_for_collective();
  MPI_Request_free(&collective);
}
#endif

static MPI_Comm made;
#define MAKING(name, call) \
  TOGETHER(name) {         \
    (void)last, call;      \
    MPI_Comm_free(&made);  \
  }
MAKING(duplicate, MPI_Comm_dup(WORLD, &made))
MAKING(dup_with_info, MPI_Comm_dup_with_info(WORLD, MPI_INFO_NULL, &made))
MAKING(idup, (MPI_Comm_idup(WORLD, &made, &collective), wait_for_collective()))
MAKING(split, MPI_Comm_split(WORLD, rank % 2, 0, &made))
MAKING(split_type, MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made))
TOGETHER(disconnect) {
  (void)last;
  MPI_Comm_dup(WORLD, &made);
  MPI_Comm_disconnect(&made);
}
static void create_with(int (*create)(MPI_Group all)) {
  MPI_Group all;
  MPI_Comm_group(WORLD, &all);
  create(all);
  MPI_Group_free(&all);
  MPI_Comm_free(&made);
}
static int create_of(MPI_Group all) { return MPI_Comm_create(WORLD, all, &made); }
static int create_group_of(MPI_Group all) { return MPI_Comm_create_group(WORLD, all, tag, &made); }
COLLECTIVE(create, create_with(create_of))
COLLECTIVE(create_group, create_with(create_group_of))

/* Communicators of rank `last` and of all other ranks. */
static MPI_Comm part, between;
static void prepare_parts(int last) { MPI_Comm_split(WORLD, rank == last, 0, &part); }
static int leader_of_others(int last) { return last == 0 ? 1 : 0; }
static void make_intercommunicator(int last) {
  MPI_Intercomm_create(part, 0, WORLD, rank == last ? leader_of_others(last) : last, tag, &between);
}
static void free_intercommunicator(void) {
  MPI_Comm_free(&between);
  MPI_Comm_free(&part);
}
TOGETHER(intercomm_create) {
  make_intercommunicator(last);
  free_intercommunicator();
}
static void prepare_merge(int last) {
  prepare_parts(last);
  make_intercommunicator(last);
}
TOGETHER(intercomm_merge) {
  MPI_Intercomm_merge(between, rank == last, &made);
  MPI_Comm_free(&made);
  free_intercommunicator();
}
TOGETHER(intercomm_barrier) {
  (void)last;
  MPI_Barrier(between);
  free_intercommunicator();
}

static const Case waits_in_collectives[] = {
    {"MPI_Barrier", barrier, NULL},
    {"MPI_Bcast", bcast, NULL},
    {"MPI_Scatter", scatter, NULL},
    {"MPI_Scatterv", scatterv, NULL},
    {"MPI_Gather", gather, NULL},
    {"MPI_Gatherv", gatherv, NULL},
    {"MPI_Reduce", reduce, NULL},
    {"MPI_Allreduce", allreduce, NULL},
    {"MPI_Allgather", allgather, NULL},
    {"MPI_Allgatherv", allgatherv, NULL},
    {"MPI_Alltoall", alltoall, NULL},
    {"MPI_Alltoallv", alltoallv, NULL},
    {"MPI_Alltoallw", alltoallw, NULL},
    {"MPI_Reduce_scatter", reduce_scatter, NULL},
    {"MPI_Reduce_scatter_block", reduce_scatter_block, NULL},
    {"MPI_Scan", scan, NULL},
    {"MPI_Exscan", exscan, NULL},
    {"MPI_Ibarrier and MPI_Wait", ibarrier, NULL},
    {"MPI_Ibarrier and MPI_Test", tested_ibarrier, NULL},
    {"MPI_Iallgather and MPI_Wait", iallgather, NULL},
#if HAS_MPI_4
    {"MPI_Barrier_init and MPI_Wait", persistent_barrier, NULL},
#endif
    {"MPI_Comm_dup", duplicate, NULL},
    {"MPI_Comm_dup_with_info", dup_with_info, NULL},
    {"MPI_Comm_idup and MPI_Wait", idup, NULL},
    {"MPI_Comm_split", split, NULL},
    {"MPI_Comm_split_type", split_type, NULL},
    {"MPI_Comm_disconnect", disconnect, NULL},
    {"MPI_Comm_create", create, NULL},
    {"MPI_Comm_create_group", create_group, NULL},
    {"MPI_Intercomm_create", intercomm_create, prepare_parts},
    {"MPI_Intercomm_merge", intercomm_merge, prepare_merge},
    {"MPI_Barrier between two groups", intercomm_barrier, prepare_merge},
};

#endif
