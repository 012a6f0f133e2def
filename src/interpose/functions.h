/* All MPI functions that the preload library replaces, without their prefix, with the number of
 * their arguments. The second list has the persistent forms, which some MPIs only have as MPIX_.
 * The third list has functions that programs call repeatedly until another rank has done
 * something. The library's own calls of these may go through it. The last list has functions of
 * the run-time system in which MPI waits for other ranks, under their full names. */
#ifndef VICINAL_INTERPOSE_FUNCTIONS_H
#define VICINAL_INTERPOSE_FUNCTIONS_H

#define VICINAL_FUNCTIONS(X)        \
  X(Init, 2)                        \
  X(Init_thread, 4)                 \
  X(Dist_graph_create, 9)           \
  X(Dist_graph_create_adjacent, 10) \
  X(Cart_create, 6)                 \
  X(Cart_sub, 3)                    \
  X(Graph_create, 6)                \
  X(Comm_dup, 2)                    \
  X(Comm_dup_with_info, 3)          \
  X(Comm_idup, 3)                   \
  X(Comm_idup_with_info, 4)         \
  X(Neighbor_alltoall, 7)           \
  X(Neighbor_alltoallv, 9)          \
  X(Neighbor_alltoallw, 9)          \
  X(Neighbor_allgather, 7)          \
  X(Neighbor_allgatherv, 8)         \
  X(Ineighbor_alltoall, 8)          \
  X(Ineighbor_alltoallv, 10)        \
  X(Ineighbor_alltoallw, 10)        \
  X(Ineighbor_allgather, 8)         \
  X(Ineighbor_allgatherv, 9)        \
  X(Neighbor_alltoall_c, 7)         \
  X(Neighbor_alltoallv_c, 9)        \
  X(Neighbor_alltoallw_c, 9)        \
  X(Neighbor_allgather_c, 7)        \
  X(Neighbor_allgatherv_c, 8)       \
  X(Ineighbor_alltoall_c, 8)        \
  X(Ineighbor_alltoallv_c, 10)      \
  X(Ineighbor_alltoallw_c, 10)      \
  X(Ineighbor_allgather_c, 8)       \
  X(Ineighbor_allgatherv_c, 9)      \
  X(Allgather, 7)                   \
  X(Allgatherv, 8)                  \
  X(Iallgather, 8)                  \
  X(Iallgatherv, 9)                 \
  X(Allgather_c, 7)                 \
  X(Allgatherv_c, 8)                \
  X(Iallgather_c, 8)                \
  X(Iallgatherv_c, 9)               \
  X(Start, 1)                       \
  X(Startall, 2)                    \
  X(Request_free, 1)                \
  X(Wait, 2)                        \
  X(Waitall, 3)                     \
  X(Session_init, 3)                \
  X(Session_finalize, 1)            \
  X(Win_wait, 1)                    \
  X(Finalize, 0)

#define VICINAL_PERSISTENT_FUNCTIONS(X) \
  X(Neighbor_alltoall_init, 9)          \
  X(Neighbor_alltoallv_init, 11)        \
  X(Neighbor_alltoallw_init, 11)        \
  X(Neighbor_allgather_init, 9)         \
  X(Neighbor_allgatherv_init, 10)       \
  X(Neighbor_alltoall_init_c, 9)        \
  X(Neighbor_alltoallv_init_c, 11)      \
  X(Neighbor_alltoallw_init_c, 11)      \
  X(Neighbor_allgather_init_c, 9)       \
  X(Neighbor_allgatherv_init_c, 10)     \
  X(Allgather_init, 9)                  \
  X(Allgatherv_init, 10)                \
  X(Allgather_init_c, 9)                \
  X(Allgatherv_init_c, 10)

#define VICINAL_POLLING_FUNCTIONS(POLL) \
  POLL(Lookup_name, 3)                  \
  POLL(Parrived, 3)                     \
  POLL(Rget, 9)                         \
  POLL(Rget_c, 9)                       \
  POLL(Rget_accumulate, 13)             \
  POLL(Rget_accumulate_c, 13)           \
  POLL(Win_flush, 2)                    \
  POLL(Win_flush_all, 1)                \
  POLL(Win_flush_local, 2)              \
  POLL(Win_flush_local_all, 1)          \
  POLL(Win_lock, 4)                     \
  POLL(Win_lock_all, 2)                 \
  POLL(Win_sync, 1)                     \
  POLL(Win_test, 2)

#define VICINAL_RUN_TIME_FUNCTIONS(CALL) \
  CALL(PMIx_Connect, 4)                  \
  CALL(PMIx_Disconnect, 4)               \
  CALL(PMIx_Fence, 4)                    \
  CALL(PMIx_Group_construct, 7)          \
  CALL(PMIx_Group_destruct, 3)           \
  CALL(PMIx_Lookup, 4)                   \
  CALL(PMIx_Spawn, 5)

#endif
