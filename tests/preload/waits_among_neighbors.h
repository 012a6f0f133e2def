/* Ranks that wait in neighborhood collectives, and in creation of communicators with neighbours. */
#ifndef VICINAL_PRELOAD_WAITS_AMONG_NEIGHBORS_H
#define VICINAL_PRELOAD_WAITS_AMONG_NEIGHBORS_H

#include "waits_in_collectives.h"

/* Another communicator in which all ranks are neighbours. */
static MPI_Comm neighbors;
COLLECTIVE(neighbor_allgather,
           MPI_Neighbor_allgather(&value, 1, MPI_INT, values, 1, MPI_INT, neighbors))
COLLECTIVE(neighbor_alltoallv, MPI_Neighbor_alltoallv(values, ones, places, MPI_INT, other_values,
                                                      ones, places, MPI_INT, neighbors))
COLLECTIVE(ineighbor_alltoall, (MPI_Ineighbor_alltoall(values, 1, MPI_INT, other_values, 1, MPI_INT,
                                                       neighbors, &collective),
                                wait_for_collective()))
COLLECTIVE(tested_ineighbor_alltoall, (MPI_Ineighbor_alltoall(values, 1, MPI_INT, other_values, 1,
                                                              MPI_INT, neighbors, &collective),
                                       test_collective()))

static const int yes[1] = {1};
MAKING(cart_create, MPI_Cart_create(WORLD, 1, &ranks, yes, 0, &made))
static int graph_index[most], graph_edges[most];
MAKING(graph_create, MPI_Graph_create(WORLD, ranks, graph_index, graph_edges, 0, &made))
MAKING(graph_create_adjacent, made = all_with_all())
static MPI_Comm another_world;
static void prepare_another_world(int last) { (void)last, MPI_Comm_dup(WORLD, &another_world); }
MAKING(graph_of_another_world,
       (made = all_with_all_of(another_world), MPI_Comm_free(&another_world)))
static int next;
MAKING(dist_graph_create,
       MPI_Dist_graph_create(WORLD, 1, &rank, ones, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made))
MAKING(dup_of_neighbors, MPI_Comm_dup(neighbors, &made))
static MPI_Comm grid;
MAKING(cart_sub, MPI_Cart_sub(grid, yes, &made))

static void begin_neighbors(void) {
  neighbors = all_with_all();
  MPI_Cart_create(WORLD, 1, &ranks, yes, 0, &grid);
  next = (rank + 1) % ranks;
  for (int i = 0; i < ranks; ++i) {
    graph_index[i] = i + 1;
    graph_edges[i] = (i + 1) % ranks;
  }
}
static void end_neighbors(void) {
  MPI_Comm_free(&neighbors);
  MPI_Comm_free(&grid);
}

static const Case waits_among_neighbors[] = {
    {"MPI_Neighbor_allgather", neighbor_allgather, NULL},
    {"MPI_Neighbor_alltoallv", neighbor_alltoallv, NULL},
    {"MPI_Ineighbor_alltoall and MPI_Wait", ineighbor_alltoall, NULL},
    {"MPI_Ineighbor_alltoall and MPI_Test", tested_ineighbor_alltoall, NULL},
    {"MPI_Cart_create", cart_create, NULL},
    {"MPI_Cart_sub", cart_sub, NULL},
    {"MPI_Graph_create", graph_create, NULL},
    {"MPI_Dist_graph_create", dist_graph_create, NULL},
    {"MPI_Dist_graph_create_adjacent", graph_create_adjacent, NULL},
    {"a graph of a duplicate", graph_of_another_world, prepare_another_world},
    {"MPI_Comm_dup of a graph", dup_of_neighbors, NULL},
};

#endif
