/* Ranks that wait for the start or connection of processes, mostly done by the run-time system. */
#ifndef VICINAL_PRELOAD_WAITS_FOR_PROCESSES_H
#define VICINAL_PRELOAD_WAITS_FOR_PROCESSES_H

#include "waits_in_collectives.h"

static char* this_program;

TOGETHER(spawn) {
  (void)last;
  MPI_Comm_spawn(this_program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, WORLD, &between,
                 MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&between);
}
TOGETHER(spawn_multiple) {
  char* programs[] = {this_program, this_program};
  MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  (void)last;
  MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, ones, infos, 0, WORLD, &between,
                          MPI_ERRCODES_IGNORE);
  MPI_Comm_disconnect(&between);
}
/* A process started by these cases performs the same calls. */
static int is_spawned(void) {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return 0;
  MPI_Comm_disconnect(&parent);
  return 1;
}

#ifdef OPEN_MPI
/* One side opens a port and the other learns its name before any rank waits. */
static char port[MPI_MAX_PORT_NAME];
static void prepare_port(int last, int opening, int told) {
  prepare_parts(last);
  if (rank == opening) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, sizeof port, MPI_CHAR, told, tag, WORLD);
  }
  if (rank == told) MPI_Recv(port, sizeof port, MPI_CHAR, opening, tag, WORLD, IGNORED);
}
static void meet(int accepts, int opened) {
  if (accepts) MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &between);
  if (!accepts) MPI_Comm_connect(port, MPI_INFO_NULL, 0, part, &between);
  MPI_Comm_disconnect(&between);
  MPI_Comm_free(&part);
  if (opened) MPI_Close_port(port);
}
static void prepare_accept(int last) {
  if (last != 0) prepare_port(last, 0, last);
}
TOGETHER(accept_late) {
  if (last != 0) meet(rank != last, rank == 0);
}
static void prepare_connect(int last) {
  if (last == 0) prepare_port(last, 0, leader_of_others(last));
}
TOGETHER(connect_late) {
  if (last == 0) meet(rank == last, rank == last);
}

static const char* const service = "vicinal-waiting";
static void let_look_up_fail(MPI_Errhandler handler) {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_set_errhandler(WORLD, handler);
}
TOGETHER(lookup_in_a_loop) {
  char found[MPI_MAX_PORT_NAME];
  if (rank == last) {
    MPI_Publish_name(service, MPI_INFO_NULL, "a port");
  } else {
    let_look_up_fail(MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(service, MPI_INFO_NULL, found) != MPI_SUCCESS);
    let_look_up_fail(MPI_ERRORS_ARE_FATAL);
    CHECK(strcmp(found, "a port") == 0);
  }
  MPI_Barrier(WORLD);
  if (rank == last) MPI_Unpublish_name(service, MPI_INFO_NULL, "a port");
  MPI_Barrier(WORLD);
}

#endif

#if HAS_MPI_4
static int create_from_group_of(MPI_Group of) {
  return MPI_Comm_create_from_group(of, "vicinal", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
}
COLLECTIVE(create_from_group, create_with(create_from_group_of))
static int create_from_groups_of(MPI_Group of) {
  MPI_Group here, there;
  MPI_Comm_group(part, &here);
  MPI_Group_difference(of, here, &there);
  MPI_Intercomm_create_from_groups(here, 0, there, 0, "vicinal", MPI_INFO_NULL,
                                   MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&here);
  MPI_Group_free(&there);
  return MPI_Comm_free(&part);
}
COLLECTIVE(create_from_groups, create_with(create_from_groups_of))
TOGETHER(session) {
  MPI_Session here;
  MPI_Group world;
  (void)last;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &here);
  MPI_Group_from_session_pset(here, "mpi://WORLD", &world);
  create_from_group_of(world);
  MPI_Group_free(&world);
  MPI_Comm_dup(made, &part);
  MPI_Comm_free(&made);
  MPI_Comm_split(part, rank % 2, 0, &made);
  MPI_Comm_free(&made);
  MPI_Comm_free(&part);
  MPI_Session_finalize(&here);
}
#endif

static const Case waits_for_processes[] = {
    {"MPI_Comm_spawn", spawn, NULL},
    {"MPI_Comm_spawn_multiple", spawn_multiple, NULL},
#ifdef OPEN_MPI  // MPICH 5.0.2 opens no port, and finds names other than the published ones
    {"MPI_Comm_accept", accept_late, prepare_accept},
    {"MPI_Comm_connect", connect_late, prepare_connect},
    {"MPI_Lookup_name in a loop", lookup_in_a_loop, NULL},
#endif
#if HAS_MPI_4
    {"MPI_Comm_create_from_group", create_from_group, NULL},
    {"MPI_Intercomm_create_from_groups", create_from_groups, prepare_parts},
    {"MPI_Session_init and MPI_Session_finalize", session, NULL},
#endif
};

#endif
