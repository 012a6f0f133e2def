/* vicinal: communication among ranks that talk to a few others, planned once and run many times.
 *
 * Conventions. Every function returns MPI_SUCCESS or an MPI error class. Before it returns an
 * error, it calls the error handler of the communicator. The text of vicinal_error_message() then
 * says what was given, what was expected and what to do. Outputs come last and are set on success
 * only. All ranks of the communicator must call a "collective" function, in the same order. Any
 * rank may call a "local" function at any time.
 * A handle has a pointer type, but it is not an address. A freed or completed handle is set to
 * NULL, which is a valid, inactive handle. A copy of such a handle is invalid: functions return
 * MPI_ERR_REQUEST for a request and MPI_ERR_ARG for any other handle. They call the error handler
 * of MPI_COMM_WORLD in that case.
 *
 * Threads and lifetime. MPI must be initialized, by MPI_Init or by a session. With
 * MPI_THREAD_MULTIPLE, different threads may use different handles at the same time. If two threads
 * start one request or halo at once, one of them gets MPI_ERR_REQUEST. After MPI_Finalize, or after
 * MPI_Session_finalize of the last session, handles may still be freed. Any other use of them is
 * MPI_ERR_COMM, as is any use in a process that a rank has forked. A program that uses sessions
 * must link vicinal before MPI, so that vicinal intercepts MPI_Session_finalize.
 *
 * Settings. The info argument of the creating functions takes these keys. The environment variable
 * of the same name in upper case overrides the key. All ranks must have the same values. If they
 * differ, creating or planning fails with MPI_ERR_INFO_VALUE on every rank that depends on another
 * one. The message names two ranks and both values. The environment is compared at the first use of
 * a communicator. A value that cannot be parsed is MPI_ERR_INFO_VALUE; for regions,
 * MPI_ERR_TOPOLOGY. An unknown variable that begins with VICINAL_, or an unknown info key that
 * begins with vicinal_, has no effect. Rank 0 warns of each once, and names the nearest setting.
 * For everybody:
 *   vicinal_strategy      the planner: 'direct', 'nearest-first', 'aggregate', 'aggregate-plain',
 *                         'two-step', 'split', 'automatic', 'distance-halving',
 *                         'distance-halving-pruned', 'cascade', 'common-neighbor', 'tuna',
 *                         'tuna-hierarchical', 'bruck', 'dissemination', 'recursive-doubling', 'ring',
 *                         'hierarchical', 'multi-lane' or 'locality-bruck' (default 'automatic').
 *                         'distance-halving' serves allgathers only. 'tuna' and
 *                         'tuna-hierarchical' serve only exchanges among all ranks of a
 *                         communicator (vicinal_graph_create_complete, vicinal_alltoallv). 'bruck'
 *                         and the planners after it serve allgathers over all ranks. If the
 *                         environment or the graph sets a planner that cannot serve an exchange,
 *                         'automatic' replaces it, with a warning. A single exchange or halo that
 *                         sets such a planner fails.
 *   vicinal_regions       groups of near ranks: 'node', 'numa', 'blocks:K', 'round-robin:N',
 *                         'list:L0,L1,...' (a label for each rank), or two of these as
 *                         'OUTER/INNER' (default 'node').
 *   vicinal_allgather     the planner of allgathers over all ranks: 'direct', 'nearest-first', 'aggregate',
 *                         'aggregate-plain', 'two-step', 'split', 'automatic', 'distance-halving',
 *                         'distance-halving-pruned', 'cascade', 'common-neighbor', 'tuna',
 *                         'tuna-hierarchical', 'bruck', 'dissemination', 'recursive-doubling', 'ring',
 *                         'hierarchical', 'multi-lane' or 'locality-bruck' (default 'automatic').
 *                         'automatic' takes the fastest of 'bruck' and the planners after it, by
 *                         the profile.
 *   vicinal_exchange      the method of sparse exchanges: 'automatic', 'personalized',
 *                         'nonblocking', 'locality', 'locality-personalized' or 'one-sided'
 *                         (default 'automatic'). See sparse exchanges below.
 *   vicinal_choice        how 'automatic' decides: 'adaptive', 'estimate' or 'measure' (default
 *                         'adaptive'). With 'adaptive', a persistent exchange, a halo or a call in
 *                         a loop begins with the plan that a cost model finds best. After
 *                         vicinal_plan_after executions, the library makes further plans in the
 *                         background. Executions then use these plans in turn, on the user's own
 *                         data. After up to two hundred executions, all later ones use the fastest
 *                         plan (a halo's reverse keeps its first plan). In one of these executions
 *                         a rank may wait until all ranks have reached it. The program remembers
 *                         the result: a later exchange of the same pattern takes the fastest plan
 *                         without trying others. With 'estimate', the cost model alone decides.
 *                         With 'measure', making an exchange plans the likely planners and times
 *                         each on memory of the library, which takes some milliseconds. The ranks
 *                         keep the plan that the slowest rank finishes first (for a halo, there and
 *                         back). Partitioned exchanges are estimated. Nothing is chosen where
 *                         vicinal_progress makes exchanges direct. Planners add contributions in
 *                         different orders. Every exchange of one halo's reverse gives the same
 *                         results. With 'measure', their last bits may differ from one run of a
 *                         program to the next, unless wisdom names the planner.
 *   vicinal_progress      when leaders relay messages of other ranks: 'relaxed' or 'strict'
 *                         (default 'relaxed'). With 'relaxed', leaders relay in every call of
 *                         vicinal. Between the start of a nonblocking or persistent exchange and
 *                         its completion, a blocking call of MPI may deadlock: it may wait for a
 *                         rank that waits for a relay by the calling rank. Use MPI's nonblocking
 *                         forms and vicinal_progress() there, or VICINAL_PROGRESS_THREAD. With
 *                         'strict' and no progress thread, nonblocking and persistent exchanges
 *                         send one message per edge. All calls that MPI allows between start and
 *                         completion then work.
 *   vicinal_profile       costs of the machine, by which plans are chosen: the name of a file as
 *                         'vicinal calibrate' writes it (none by default). A process reads it once.
 *                         The profiles of all ranks must have the same contents; their paths may
 *                         differ between nodes. Without a file, the profile of a published machine
 *                         holds.
 *   vicinal_wisdom        file that keeps measured results: the path of a file (none by default).
 *                         An entry replaces an estimate or a measurement if its machine, MPI and
 *                         ranks are the same and its pattern has the same summary. New measurements
 *                         are added. One of the ranks that exchange reads and writes the file for
 *                         all.
 * For experts, who have measured that a default does not fit:
 *   vicinal_local         transport between ranks of a host, by shared memory or messages: 'shared'
 *                         or 'messages' (default 'shared').
 *   vicinal_in_flight     number of executions of a plan that may be in flight: a whole number from
 *                         1 to 8 (default '4'). For a halo: the number of exchanges in flight in
 *                         each direction. For a graph: the number of alltoalls or allgathers that
 *                         are carried out at once. Any number of nonblocking calls may be in
 *                         flight; calls beyond the limit are queued.
 *   vicinal_split_bytes   bytes of a region pair for each of which 'split' and 'automatic' use a
 *                         leader, or 0: as many leaders as a cost model finds best: a whole number
 *                         from 0 to 1099511627776 (default '65536').
 *   vicinal_idle_ranks    whether ranks without edges participate in exchanges, and may lead for
 *                         their region: 'rest' or 'lead' (default 'rest'). With 'rest', a rank
 *                         without edges need not call, and no rank waits for it. With 'lead', it
 *                         must make the same calls as the other ranks, as MPI demands, with blocks
 *                         of the same size. Its call completes when the messages that it leads are
 *                         done. A few busy ranks then share their messages with many idle ones, as
 *                         on the coarse levels of multigrid. All ranks of a region are of one
 *                         component then.
 *   vicinal_radix         radix with which 'tuna', 'tuna-hierarchical' and 'cascade' store and
 *                         forward, or 0: the one that a cost model finds best: 0, or a whole number
 *                         from 2 to 1048576 (default '0'). Radix 2 gives the fewest messages and
 *                         the most bytes. With the number of ranks as radix, no rank forwards data.
 *                         For 'tuna-hierarchical' it is the radix inside regions, and no rank
 *                         forwards data between regions then. For 'cascade' it is the radix between
 *                         regions.
 *   vicinal_device_way    transport of data in GPU memory: 'automatic', 'staged', 'direct',
 *                         'shared', 'direct-shared', 'lent' or 'direct-lent' (default 'automatic').
 *                         With 'staged', data goes through host memory. With 'direct', MPI gets
 *                         addresses in GPU memory if it accepts them (see docs/gpu.md); otherwise
 *                         the data is staged, with a warning. With 'shared', ranks of a host access
 *                         each other's GPU memory, which must be possible. 'direct-shared' combines
 *                         'direct' and 'shared'. 'lent' and 'direct-lent' are as 'shared' and
 *                         'direct-shared', but peers on the host read the send buffer in place,
 *                         which saves a copy. They need a promise: memory that was a send buffer
 *                         stays allocated until all ranks have freed the exchange. An exchange
 *                         completes on a rank when its peers have read. For that they must call
 *                         vicinal, as leaders must (see vicinal_progress). 'automatic' takes the
 *                         fastest for the plan by the profile, without 'lent' and 'direct-lent'.
 *   vicinal_plan_after    number of calls of a loop after which a plan serves them, and of
 *                         executions after which further plans are made and compared: a whole
 *                         number from 1 to 1073741824 (default '8').
 *   vicinal_bias          factors on the costs of planners in a choice: a list as
 *                         'direct:0.8,aggregate:1.2', planners with positive factors (none by
 *                         default).
 *   vicinal_verify        whether all ranks of an exchange prove each new plan together: '1' or '0'
 *                         (default '0'). They prove it before they use it. This gathers all their
 *                         plans on one rank.
 * Environment only. A value that cannot be parsed is an error at the first use of a communicator
 * (for VICINAL_DUMP_SIGNAL, at the creation of a graph):
 *   VICINAL_REPORT_WAITS    time after which a waiting rank reports for whom it waits: a number of
 *                           seconds, or 0 for never (default '30').
 *   VICINAL_SHARED_MEMORY   whether ranks of a host share memory at all: '1' or '0' (default '1').
 *                           If one rank says 0, no rank of its host does.
 *   VICINAL_CORES           number of cores that the ranks of a host share: a number, or 0 where
 *                           each has one of its own (none by default). Without it: as many as they
 *                           may run on. Planners use it if the profile does not give a number. The
 *                           value of the lowest rank of a host holds.
 *   VICINAL_PROGRESS_THREAD whether a thread of the library progresses exchanges: '1', 'yes', 'on',
 *                           'true', '0', 'no', 'off' or 'false' (default '0'). The thread needs
 *                           MPI_THREAD_MULTIPLE and ends at the beginning of MPI_Finalize. The
 *                           library intercepts that call, so it must come before MPI on the
 *                           linker's command line. All ranks must have the same value.
 *   VICINAL_DUMP_SIGNAL     signal on which a rank prints what it waits for: the number of a signal
 *                           that can be caught (none by default). See vicinal_dump.
 *   VICINAL_LOG             messages about plans and settings that are logged, and where: 'warn',
 *                           'info' or 'debug', or one of these with a file as 'info:FILE' (default
 *                           'warn'). 'warn': requests that the library cannot meet, once each, on
 *                           standard error and in the file. The lowest of the ranks that plan
 *                           together writes them. 'info': also a line for each communicator and
 *                           each plan, with the choice and its reason, what a rank sends, and which
 *                           fallbacks it uses. 'debug': also the cost of the agreement on each
 *                           plan. Each line begins with the rank in MPI_COMM_WORLD and is added to
 *                           the file by one write. In the file's name, %r stands for the rank.
 *   VICINAL_DEVICE_DRIVER   driver by which GPU memory is found and moved: 'automatic', 'none', or
 *                           the path of a driver's library (default 'automatic'). 'automatic' takes
 *                           the installed driver, NVIDIA's or AMD's, or none. With 'none', all
 *                           buffers count as host memory. See docs/gpu.md for the use of device
 *                           memory.
 *   VICINAL_REPORT          file in which the preload library reports on a program's exchanges: the
 *                           name of a file (none by default). MPI_Finalize writes one file of JSON
 *                           for all ranks. FILE.txt holds the same data as a table.
 */
#ifndef VICINAL_VICINAL_H
#define VICINAL_VICINAL_H

#include <mpi.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define VICINAL_API
#else
#define VICINAL_API __attribute__((visibility("default")))
#endif

/* A directed graph over the ranks of a communicator. */
typedef struct vicinal_graph_s* vicinal_graph;
/* An exchange that can be started or is in flight. */
typedef struct vicinal_request_s* vicinal_request;
/* A halo exchange by global indices. */
typedef struct vicinal_halo_s* vicinal_halo;

#define VICINAL_GRAPH_NULL ((vicinal_graph)0)
#define VICINAL_REQUEST_NULL ((vicinal_request)0)
#define VICINAL_HALO_NULL ((vicinal_halo)0)

/* The version of the library, such as "0.1.0". Local. */
VICINAL_API const char* vicinal_version(void);

/* Returns a description of the last error on this thread, or "" if there was none. The library owns
 * the text, which is valid until the next error on this thread. Local. */
VICINAL_API const char* vicinal_error_message(void);

/* --- regions
 * ------------------------------------------------------------------------------------ */

/* Sets the default regions of a communicator, in the forms of the setting vicinal_regions, for
 * graphs created later. Local, but all ranks must make the same call; the first call on a
 * communicator that has no graph yet is collective.
 * Errors: MPI_ERR_TOPOLOGY for a text of no such form, or a list of the wrong length. */
VICINAL_API int vicinal_set_regions(MPI_Comm comm, const char* regions);

/* Gives the region of each rank, as graphs created now would use it. `region_of` is an array of the
 * caller, with one entry for each rank of the communicator. Collective at the first use of a
 * communicator. */
VICINAL_API int vicinal_get_regions(MPI_Comm comm, int region_of[]);

/* --- graphs ------------------------------------------------------------------------------------- */

/* Creates a graph from each rank's own edges. The arguments are those of
 * MPI_Dist_graph_create_adjacent. The order of sources and destinations is kept. A rank may occur
 * several times: the k-th edge from p to q at p is the k-th from p to q at q. A rank may name
 * itself. Weights may be MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY and are not used; `reorder` never
 * changes ranks.
 * Collective: the first graph on a communicator duplicates it, detects the locality of its ranks
 * and sets up shared memory. Every creation compares the ranks' arguments, by two control messages
 * per rank and a few words inside each region.
 * Ranks without a path of edges between them are in different components. Components may exchange
 * different amounts of data, and call at different times and a different number of times.
 * Errors, on every rank: MPI_ERR_COUNT if the two ends of an edge do not name it equally often;
 * MPI_ERR_INFO_VALUE if settings differ. Errors of one rank's arguments: MPI_ERR_RANK, MPI_ERR_ARG,
 * MPI_ERR_INFO_VALUE or MPI_ERR_TOPOLOGY (regions) on that rank, MPI_ERR_OTHER on all others. */
VICINAL_API int vicinal_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                              const int* sourceweights, int outdegree,
                                              const int destinations[], const int* destweights,
                                              MPI_Info info, int reorder, vicinal_graph* graph);

/* Creates a graph from the communicator's topology: that of MPI_Cart_create, MPI_Graph_create or
 * one of MPI_Dist_graph_create. The neighbors have the order of the MPI standard: in a Cartesian
 * topology, for each dimension first the negative direction, then the positive one. MPI_PROC_NULL
 * keeps its place. In a periodic dimension of size 1 or 2, data sent in one direction arrives from
 * the other. Weights are not used. Collective, as vicinal_graph_create_adjacent.
 * Errors: MPI_ERR_TOPOLOGY if the communicator has no topology, or if in a graph of
 * MPI_Graph_create rank p names rank q more often than q names p. */
VICINAL_API int vicinal_graph_create_from_topology(MPI_Comm comm, MPI_Info info,
                                                   vicinal_graph* graph);

/* Creates a graph where each rank knows one side of its edges only: the ranks it sends to, or the
 * ranks it receives from. A sparse exchange finds the other ends (see the setting
 * vicinal_exchange). It costs each rank a few messages, whatever the number of ranks. The ranks
 * found are in ascending order.
 * Collective. Errors, on every rank (MPI_ERR_OTHER on ranks that did not fail): MPI_ERR_RANK,
 * MPI_ERR_ARG, MPI_ERR_INFO_VALUE, MPI_ERR_TOPOLOGY (regions). */
VICINAL_API int vicinal_graph_create_from_destinations(MPI_Comm comm, int outdegree,
                                                       const int destinations[], MPI_Info info,
                                                       vicinal_graph* graph);
VICINAL_API int vicinal_graph_create_from_sources(MPI_Comm comm, int indegree, const int sources[],
                                                  MPI_Info info, vicinal_graph* graph);

/* Gives the neighbors of a graph, in its order: MPI_PROC_NULL where a topology has none. The arrays
 * are the caller's, with as many entries as the degrees. They may be NULL if not needed.
 * Local. */
VICINAL_API int vicinal_graph_neighbors(vicinal_graph graph, int* indegree, int sources[],
                                        int* outdegree, int destinations[]);

/* Creates the complete graph, as for collectives over a whole communicator. Each rank has an edge
 * to and from every rank, itself included, in the order of ranks. The setting vicinal_allgather
 * applies to its allgathers (see vicinal_allgather below), and vicinal_strategy to its alltoalls,
 * for which it has more planners (see vicinal_alltoallv). Collective, as
 * vicinal_graph_create_adjacent. */
VICINAL_API int vicinal_graph_create_complete(MPI_Comm comm, MPI_Info info, vicinal_graph* graph);

/* Frees a graph. Local. Requests made from it stay usable. */
VICINAL_API int vicinal_graph_free(vicinal_graph* graph);

/* --- neighborhood collectives ---------------------------------------------------------------------
 *
 * The five neighborhood collectives of MPI, each in three forms, and each form also with 64-bit
 * counts and displacements (`_c`). The arguments are MPI's and have the same meaning, with the
 * graph in place of the communicator. Arrays have one entry for each neighbor, in the order of the
 * graph. An entry that is MPI_PROC_NULL in the topology of the graph is skipped; its place in the
 * buffers is left alone. Arrays of arguments may be reused at once. Datatypes must be committed,
 * and may be freed at once. Buffers stay in place until completion, or for persistent requests
 * until these are freed. Send regions may overlap each other. Receive regions must not:
 * MPI_ERR_BUFFER if their datatypes have no gaps. MPI_IN_PLACE is not allowed.
 *
 *   persistent (`_init`): makes a plan. Collective over the ranks of the graph that have neighbors;
 *     ranks without neighbors may skip it. Each rank may start its requests in an order of its own.
 *     Errors, on every rank that a path of edges connects with the one that failed: MPI_ERR_COUNT
 *     for negative counts and for counts that differ (in bytes) between the two ends of an edge;
 *     MPI_ERR_BUFFER; MPI_ERR_TYPE; MPI_ERR_INFO_VALUE, also for a strategy in its info that cannot
 *     serve it; MPI_ERR_OTHER on ranks that did not fail themselves. None of these ranks gets a
 *     request. The graph remains usable.
 *   blocking, nonblocking (`i`): use the settings of the graph. Ranks call in the same order; ranks
 *     without neighbors may skip the call. A nonblocking call never waits for another rank, even
 *     the first on a graph. Any number may be in flight.
 *       alltoall, allgather: The first call begins to make a plan in the background, one for blocks
 *         of all sizes. Blocking calls use the plan. The first of them therefore waits until all
 *         ranks that paths of edges connect have called. Of the nonblocking calls, the first eight
 *         send one message per edge; later ones use the plan. With vicinal_progress "strict" and no
 *         progress thread, all of them send one message per edge. As many calls execute a plan at
 *         once as vicinal_in_flight says. Further calls, and calls before the plan is ready, begin
 *         later, when the process progresses.
 *       alltoallv, alltoallw, allgatherv: The first eight calls send one message per edge.
 *         Meanwhile the library makes a plan in the background, with room on each edge for the
 *         sizes seen. Later calls use it, whatever their counts: a piece that does not fit takes a
 *         message of its own. After 8, 16, 32, ... calls the ranks decide together whether the plan
 *         still suits. If it does not, they make another, or return to one message per edge. They
 *         also return to it if a plan could only hand over a few hundred bytes to a rank or two of
 *         the host. Pieces of more than 256 KiB always take a message of their own. As above,
 *         nonblocking calls use a plan only where vicinal_progress allows it. A persistent request
 *         knows its counts and saves a little more.
 *     A request is freed and set to NULL when vicinal_test or vicinal_wait find it complete or
 *     failed.
 *     Errors: as above, but each error concerns one call. The rank that failed gets it; the ranks
 *     whose data depend on that rank get MPI_ERR_OTHER. Calls before and after it succeed. The
 *     failed call itself returns the error. A nonblocking one makes no request, and the library
 *     still does in the background what other ranks need of this one. A blocking one returns when
 *     they need nothing more. A rank does not know the counts of other ranks beforehand. A rank
 *     that gets more or less data than it expects fails with MPI_ERR_COUNT. If it gets none, that
 *     is MPI_ERR_OTHER, since the sender's call may have failed. Receive buffers must be large
 *     enough all the same: some MPIs write past the end of one that is not. If the plan itself
 *     cannot be made, for example for lack of memory, all calls that use it fail on every rank of
 *     the plan. Then make persistent requests, or call on another graph.
 *
 * Sources: Collom et al. 2023, algorithms 1 to 6. */

/* Sends block i of `sendbuf` to destination i, and receives block i of `recvbuf` from source i. All
 * blocks of all ranks that communicate have the same size. */
VICINAL_API int vicinal_neighbor_alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                          void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                          vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoall(const void* sendbuf, int sendcount,
                                           MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                           MPI_Datatype recvtype, vicinal_graph graph,
                                           vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoall_init(const void* sendbuf, int sendcount,
                                               MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                               MPI_Datatype recvtype, vicinal_graph graph,
                                               MPI_Info info, vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount,
                                            MPI_Datatype sendtype, void* recvbuf,
                                            MPI_Count recvcount, MPI_Datatype recvtype,
                                            vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoall_c(const void* sendbuf, MPI_Count sendcount,
                                             MPI_Datatype sendtype, void* recvbuf,
                                             MPI_Count recvcount, MPI_Datatype recvtype,
                                             vicinal_graph graph, vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoall_init_c(const void* sendbuf, MPI_Count sendcount,
                                                 MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Count recvcount, MPI_Datatype recvtype,
                                                 vicinal_graph graph, MPI_Info info,
                                                 vicinal_request* request);

/* As vicinal_neighbor_alltoall, with a count and a displacement, in elements of the type, for each
 * block. */
VICINAL_API int vicinal_neighbor_alltoallv(const void* sendbuf, const int sendcounts[],
                                           const int sdispls[], MPI_Datatype sendtype,
                                           void* recvbuf, const int recvcounts[],
                                           const int rdispls[], MPI_Datatype recvtype,
                                           vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoallv(const void* sendbuf, const int sendcounts[],
                                            const int sdispls[], MPI_Datatype sendtype,
                                            void* recvbuf, const int recvcounts[],
                                            const int rdispls[], MPI_Datatype recvtype,
                                            vicinal_graph graph, vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallv_init(const void* sendbuf, const int sendcounts[],
                                                const int sdispls[], MPI_Datatype sendtype,
                                                void* recvbuf, const int recvcounts[],
                                                const int rdispls[], MPI_Datatype recvtype,
                                                vicinal_graph graph, MPI_Info info,
                                                vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                             void* recvbuf, const MPI_Count recvcounts[],
                                             const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                             vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                              const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                              void* recvbuf, const MPI_Count recvcounts[],
                                              const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                              vicinal_graph graph, vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                                  const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                                  void* recvbuf, const MPI_Count recvcounts[],
                                                  const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                                  vicinal_graph graph, MPI_Info info,
                                                  vicinal_request* request);

/* The persistent form with identities: `senditems` gives one for each element sent, edge after
 * edge. Elements of one rank with the same identity must have equal values at each start of the
 * request. Where the planner can share them, they are sent once to all ranks that need them.
 * Identities are arbitrary, not negative, and have no meaning on other ranks (Collom et al. 2023,
 * section 3.3). */
VICINAL_API int vicinal_neighbor_alltoallv_items_init(
    const void* sendbuf, const int sendcounts[], const int sdispls[], const int64_t senditems[],
    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
    MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info, vicinal_request* request);

/* The persistent form in partitions, after MPI-4's partitioned communication. The data for a
 * neighbor becomes ready in equal parts, one after the other. The thread that has made a part marks
 * it. The data from a neighbor may be read part by part.
 *
 * Destination i gets sendcounts[i] elements, in sendpartitions[i] partitions of sendcounts[i] /
 * sendpartitions[i] elements each, in their order. Data from source i arrives in recvpartitions[i]
 * partitions of recvcounts[i] / recvpartitions[i] elements. The two ends of an edge may have
 * different numbers of partitions, but must agree on the amount of data. Counts may be 0. All ranks
 * that paths of edges connect must use this form for an exchange.
 *
 * After each vicinal_start, every partition of every destination must be marked once
 * (vicinal_pready), except for MPI_PROC_NULL. The program may write a partition until it marks it.
 * vicinal_wait and vicinal_test complete when all partitions are sent and received. So vicinal_wait
 * before all are marked needs another thread that marks them. vicinal_request_free of a request in
 * flight needs one, too. A rank whose vicinal_start has failed marks nothing.
 *
 * When data is sent: a message of one rank's own partitions is divided among them, and each part is
 * sent when it is ready. A strategy may pack several partitions into one message, by a leader or
 * through shared memory. The message is sent when all of them are ready. With such a strategy, a
 * program must not wait for the arrival of one partition before it marks another. It may with
 * 'direct' and 'nearest-first', and with vicinal_progress "strict" if no progress thread runs. If
 * send regions overlap, or the type has gaps, partitions are packed as they become ready.
 *
 * Making the request costs one more control message for each rank that this rank exchanges messages
 * with, and two more for agreement.
 * Collective over the ranks of the graph that have neighbors. Errors: as the persistent forms.
 * Also, on every such rank (MPI_ERR_OTHER on ranks that did not fail): MPI_ERR_COUNT for an edge
 * with no partitions, or a count that they do not divide; MPI_ERR_INFO_VALUE if another rank's
 * exchange is not in partitions. Source: MPI 4.1, chapter 4. */
VICINAL_API int vicinal_neighbor_alltoallv_partitioned_init(
    const void* sendbuf, const int sendcounts[], const int sdispls[], const int sendpartitions[],
    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
    const int recvpartitions[], MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info,
    vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallv_partitioned_init_c(
    const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const int sendpartitions[], MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const int recvpartitions[], MPI_Datatype recvtype,
    vicinal_graph graph, MPI_Info info, vicinal_request* request);

/* Marks a partition for destination `neighbor` of the graph as ready to be sent. It must not be
 * written from then until the exchange is complete. The forms with a range (both ends included) and
 * with a list mark several. If one of these cannot be marked, those before it have been. Neighbors
 * and partitions are counted from 0.
 * Local; takes no lock of the library and waits for no rank. Several threads may call it at once,
 * in any order, also while another thread waits for the request. It is thread-safe at every thread
 * level of MPI, if each start comes before. A marked partition is sent at once if the calling
 * thread may call MPI: with MPI_THREAD_MULTIPLE, or on the main thread with MPI_THREAD_FUNNELED or
 * less. Otherwise it is sent when the process next progresses.
 * Errors: MPI_ERR_ARG for a neighbor or partition that does not exist; MPI_ERR_REQUEST for a
 * request that is not in flight or has no partitions, and for a partition marked twice in one
 * execution. */
VICINAL_API int vicinal_pready(vicinal_request request, int neighbor, int partition);
VICINAL_API int vicinal_pready_range(vicinal_request request, int neighbor, int first, int last);
VICINAL_API int vicinal_pready_list(vicinal_request request, int neighbor, int length,
                                    const int partitions[]);

/* Sets *flag to whether a partition from source `neighbor` may be read. It always may if the
 * request is not in flight, or for MPI_PROC_NULL. If it may not, the call progresses every exchange
 * of the process and yields the core as vicinal_test does. Local; several threads may call it at
 * once with MPI_THREAD_MULTIPLE. Errors: MPI_ERR_ARG and MPI_ERR_REQUEST as above; the error of the
 * execution, which vicinal_wait returns, too. */
VICINAL_API int vicinal_parrived(vicinal_request request, int neighbor, int partition, int* flag);

/* As vicinal_neighbor_alltoall, with a datatype, a count and a displacement in bytes for each
 * block. */
VICINAL_API int vicinal_neighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                                           const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                                           void* recvbuf, const int recvcounts[],
                                           const MPI_Aint rdispls[], const MPI_Datatype recvtypes[],
                                           vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoallw(const void* sendbuf, const int sendcounts[],
                                            const MPI_Aint sdispls[],
                                            const MPI_Datatype sendtypes[], void* recvbuf,
                                            const int recvcounts[], const MPI_Aint rdispls[],
                                            const MPI_Datatype recvtypes[], vicinal_graph graph,
                                            vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallw_init(const void* sendbuf, const int sendcounts[],
                                                const MPI_Aint sdispls[],
                                                const MPI_Datatype sendtypes[], void* recvbuf,
                                                const int recvcounts[], const MPI_Aint rdispls[],
                                                const MPI_Datatype recvtypes[], vicinal_graph graph,
                                                MPI_Info info, vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[],
                                             const MPI_Datatype sendtypes[], void* recvbuf,
                                             const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             const MPI_Datatype recvtypes[], vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_alltoallw_c(const void* sendbuf, const MPI_Count sendcounts[],
                                              const MPI_Aint sdispls[],
                                              const MPI_Datatype sendtypes[], void* recvbuf,
                                              const MPI_Count recvcounts[],
                                              const MPI_Aint rdispls[],
                                              const MPI_Datatype recvtypes[], vicinal_graph graph,
                                              vicinal_request* request);
VICINAL_API int vicinal_neighbor_alltoallw_init_c(
    const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Count recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], vicinal_graph graph, MPI_Info info,
    vicinal_request* request);

/* Sends one block to all destinations, and receives block i of `recvbuf` from source i. All blocks
 * of all ranks that communicate have the same size. A strategy may forward blocks through other
 * ranks, once to each region. */
VICINAL_API int vicinal_neighbor_allgather(const void* sendbuf, int sendcount,
                                           MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                           MPI_Datatype recvtype, vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_allgather(const void* sendbuf, int sendcount,
                                            MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                            MPI_Datatype recvtype, vicinal_graph graph,
                                            vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgather_init(const void* sendbuf, int sendcount,
                                                MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                                MPI_Datatype recvtype, vicinal_graph graph,
                                                MPI_Info info, vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgather_c(const void* sendbuf, MPI_Count sendcount,
                                             MPI_Datatype sendtype, void* recvbuf,
                                             MPI_Count recvcount, MPI_Datatype recvtype,
                                             vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_allgather_c(const void* sendbuf, MPI_Count sendcount,
                                              MPI_Datatype sendtype, void* recvbuf,
                                              MPI_Count recvcount, MPI_Datatype recvtype,
                                              vicinal_graph graph, vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgather_init_c(const void* sendbuf, MPI_Count sendcount,
                                                  MPI_Datatype sendtype, void* recvbuf,
                                                  MPI_Count recvcount, MPI_Datatype recvtype,
                                                  vicinal_graph graph, MPI_Info info,
                                                  vicinal_request* request);

/* As vicinal_neighbor_allgather, with a count and a displacement, in elements of the type, for each
 * block received. */
VICINAL_API int vicinal_neighbor_allgatherv(const void* sendbuf, int sendcount,
                                            MPI_Datatype sendtype, void* recvbuf,
                                            const int recvcounts[], const int displs[],
                                            MPI_Datatype recvtype, vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_allgatherv(const void* sendbuf, int sendcount,
                                             MPI_Datatype sendtype, void* recvbuf,
                                             const int recvcounts[], const int displs[],
                                             MPI_Datatype recvtype, vicinal_graph graph,
                                             vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgatherv_init(const void* sendbuf, int sendcount,
                                                 MPI_Datatype sendtype, void* recvbuf,
                                                 const int recvcounts[], const int displs[],
                                                 MPI_Datatype recvtype, vicinal_graph graph,
                                                 MPI_Info info, vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount,
                                              MPI_Datatype sendtype, void* recvbuf,
                                              const MPI_Count recvcounts[], const MPI_Aint displs[],
                                              MPI_Datatype recvtype, vicinal_graph graph);
VICINAL_API int vicinal_ineighbor_allgatherv_c(const void* sendbuf, MPI_Count sendcount,
                                               MPI_Datatype sendtype, void* recvbuf,
                                               const MPI_Count recvcounts[],
                                               const MPI_Aint displs[], MPI_Datatype recvtype,
                                               vicinal_graph graph, vicinal_request* request);
VICINAL_API int vicinal_neighbor_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount,
                                                   MPI_Datatype sendtype, void* recvbuf,
                                                   const MPI_Count recvcounts[],
                                                   const MPI_Aint displs[], MPI_Datatype recvtype,
                                                   vicinal_graph graph, MPI_Info info,
                                                   vicinal_request* request);

/* --- allgathers over a communicator ---------------------------------------------------------------
 *
 * MPI_Allgather and MPI_Allgatherv, in the same forms. They are the neighborhood allgathers of the
 * communicator's complete graph. The first call on a communicator, in whatever form, creates this
 * graph; it exists until the communicator is freed. The first call after vicinal_set_regions has
 * changed the regions creates another. Such a first call waits for all ranks, also in
 * vicinal_iallgather and vicinal_iallgatherv, which never wait otherwise. To avoid that, have all
 * ranks call vicinal_allgather_init or vicinal_allgather before.
 * MPI_IN_PLACE is allowed as send buffer; otherwise the buffers must not share memory. Counts of
 * allgatherv must be the same on all ranks. Its persistent form makes a plan for these counts. Its
 * other forms send one message per pair of ranks, whatever the planner.
 *
 * The setting vicinal_allgather, in the environment or the info of the persistent form, names the planner:
 *   "automatic"           (default) the choice for the machine
 *   "locality-bruck"      Bruck's algorithm between regions, sharing inside them (Bienz et al. 2022,
 *                         algorithm 2), for any number and sizes of regions; with regions as
 *                         "node/numa" also between the inner regions of each
 *   "bruck", "dissemination", "recursive-doubling", "ring"     the known algorithms
 *   "hierarchical"        one leader per region; "multi-lane": one lane per rank of a region
 * or any planner of neighborhood allgathers. Regions are the default regions of the communicator.
 *
 * Collective. Errors, as for the neighborhood collectives (MPI_ERR_OTHER on ranks that did not
 * fail): MPI_ERR_COUNT for negative counts, for an own block of different sizes in the send and
 * receive arguments, and for counts that differ between ranks; MPI_ERR_BUFFER, also if send and
 * receive buffer share memory; MPI_ERR_ARG, MPI_ERR_TYPE, MPI_ERR_INFO_VALUE. An error in a
 * blocking or nonblocking call concerns this call only; later calls can succeed. */
VICINAL_API int vicinal_allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                  MPI_Comm comm);
VICINAL_API int vicinal_iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm, vicinal_request* request);
VICINAL_API int vicinal_allgather_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                       void* recvbuf, int recvcount, MPI_Datatype recvtype,
                                       MPI_Comm comm, MPI_Info info, vicinal_request* request);
VICINAL_API int vicinal_allgather_c(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                                    MPI_Comm comm);
VICINAL_API int vicinal_iallgather_c(const void* sendbuf, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                     MPI_Datatype recvtype, MPI_Comm comm,
                                     vicinal_request* request);
VICINAL_API int vicinal_allgather_init_c(const void* sendbuf, MPI_Count sendcount,
                                         MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                         vicinal_request* request);
VICINAL_API int vicinal_allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                   void* recvbuf, const int recvcounts[], const int displs[],
                                   MPI_Datatype recvtype, MPI_Comm comm);
VICINAL_API int vicinal_iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                    void* recvbuf, const int recvcounts[], const int displs[],
                                    MPI_Datatype recvtype, MPI_Comm comm, vicinal_request* request);
VICINAL_API int vicinal_allgatherv_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype,
                                        void* recvbuf, const int recvcounts[], const int displs[],
                                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                        vicinal_request* request);
VICINAL_API int vicinal_allgatherv_c(const void* sendbuf, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void* recvbuf,
                                     const MPI_Count recvcounts[], const MPI_Aint displs[],
                                     MPI_Datatype recvtype, MPI_Comm comm);
VICINAL_API int vicinal_iallgatherv_c(const void* sendbuf, MPI_Count sendcount,
                                      MPI_Datatype sendtype, void* recvbuf,
                                      const MPI_Count recvcounts[], const MPI_Aint displs[],
                                      MPI_Datatype recvtype, MPI_Comm comm,
                                      vicinal_request* request);
VICINAL_API int vicinal_allgatherv_init_c(const void* sendbuf, MPI_Count sendcount,
                                          MPI_Datatype sendtype, void* recvbuf,
                                          const MPI_Count recvcounts[], const MPI_Aint displs[],
                                          MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                          vicinal_request* request);

/* --- alltoallv over a communicator -----------------------------------------------------------------
 *
 * MPI_Alltoallv, in the same forms. It is the neighborhood alltoallv of the communicator's complete
 * graph, which it shares with the allgathers above. The first call of either creates the graph and
 * waits for all ranks. Regions are the default ones. MPI_IN_PLACE is allowed as send buffer, on any
 * ranks. The data for each rank then lies where the data from that rank is received, with the
 * receive counts, displacements and type. The start copies it. The send counts, displacements and
 * type are ignored. The persistent form makes a plan for its counts. Repeated calls get a plan as
 * neighborhood alltoallvs do.
 *
 * The setting vicinal_strategy, in the environment or the info of the persistent form, names the
 * planner. Besides the planners of neighborhoods there are
 *   "tuna"                store and forward among all ranks (Bruck et al. 1997; Fan et al. 2024,
 *                         2025): a rank sends few messages, and other ranks forward its data. With
 *                         radix r (vicinal_radix) it sends at most (r - 1) ceil(log_r p) messages
 *   "tuna-hierarchical"   as "tuna", first inside regions, then between them
 * "automatic" takes one of these for blocks so small that it is expected to be clearly faster.
 *
 * Collective. Errors: those of vicinal_neighbor_alltoallv in the same form. Ranks forward each
 * other's data, so an error in the persistent form reaches all ranks. */
VICINAL_API int vicinal_alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                  const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm);
VICINAL_API int vicinal_ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                                   vicinal_request* request);
VICINAL_API int vicinal_alltoallv_init(const void* sendbuf, const int sendcounts[],
                                       const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                       const int recvcounts[], const int rdispls[],
                                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                       vicinal_request* request);
VICINAL_API int vicinal_alltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                    const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                    const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                    MPI_Datatype recvtype, MPI_Comm comm);
VICINAL_API int vicinal_ialltoallv_c(const void* sendbuf, const MPI_Count sendcounts[],
                                     const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                     const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                     MPI_Datatype recvtype, MPI_Comm comm,
                                     vicinal_request* request);
VICINAL_API int vicinal_alltoallv_init_c(const void* sendbuf, const MPI_Count sendcounts[],
                                         const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                         void* recvbuf, const MPI_Count recvcounts[],
                                         const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                         MPI_Comm comm, MPI_Info info, vicinal_request* request);

/* --- requests ----------------------------------------------------------------------------------- */

/* Begins an execution. Local: never waits for another rank. Until completion, the send buffer must
 * not be changed, nor the receive buffer used. Errors: MPI_ERR_REQUEST if the request is in flight
 * or cannot be started by itself. The function vicinal_startall starts requests in the order of the
 * array, and stops at the first that fails. Errors: MPI_ERR_ARG for a negative count or a null
 * array. */
VICINAL_API int vicinal_start(vicinal_request* request);
VICINAL_API int vicinal_startall(int count, vicinal_request requests[]);

/* Sets *flag to whether the execution is complete (or none is in flight). If it is not, the call
 * progresses every exchange of the process and, with more ranks than cores, yields the core. A
 * persistent request stays. Any other request is set to NULL when it is complete or has failed.
 * Local. */
VICINAL_API int vicinal_test(vicinal_request* request, int* flag);

/* Waits for completion and progresses every exchange of the process meanwhile. Never blocks inside
 * MPI: it polls, then yields, then sleeps. The function vicinal_waitall waits in the order of the
 * array, and stops at the first request that has failed. Errors: MPI_ERR_ARG for a negative count
 * or a null array. */
VICINAL_API int vicinal_wait(vicinal_request* request);
VICINAL_API int vicinal_waitall(int count, vicinal_request requests[]);

/* As vicinal_wait, but orders `stream` of a GPU after the execution (a CUstream, cudaStream_t or
 * hipStream_t; NULL is the default stream). Kernels and copies on the receive buffer may remain on
 * the GPU; the process does not wait for them. Work put on `stream` from now on runs after them.
 * Until they end, both buffers may be used on `stream` only, and must not be freed. A later start
 * of the exchange reports their failure. For requests without a buffer on a GPU, and for
 * nonblocking calls, this is vicinal_wait.
 * Local. Errors: as vicinal_wait; MPI_ERR_REQUEST if `stream` is being captured into a graph. */
VICINAL_API int vicinal_wait_on_stream(vicinal_request* request, void* stream);

/* Waits for any one request; *index is its position, or MPI_UNDEFINED if none is in flight. If one
 * has failed, *index is its position, and its handle is treated as by vicinal_test. The error
 * handler of its communicator is called, and its error returned. */
VICINAL_API int vicinal_waitany(int count, vicinal_request requests[], int* index);

/* Frees a request, after waiting for an execution in flight. Local otherwise. Errors:
 * MPI_ERR_REQUEST for a request of vicinal_halo_start or vicinal_halo_reverse_start, which belongs
 * to the halo. */
VICINAL_API int vicinal_request_free(vicinal_request* request);

/* Progresses every exchange of the process. Call it from long computations if other ranks depend on
 * this one to relay their data. They may also depend on its part in a nonblocking call or start
 * that has failed here. Local; returns MPI_SUCCESS. */
VICINAL_API int vicinal_progress(void);

/* Writes to standard error what each exchange in flight waits for, and which communicators have no
 * shared memory, and why. For the diagnosis of a hang; the signal whose number is in the
 * environment variable VICINAL_DUMP_SIGNAL runs it, too. Local. */
VICINAL_API int vicinal_dump(void);

/* --- halos -------------------------------------------------------------------------------------- */

/* Creates a halo: this rank owns the global indices first..last-1 and needs `needed_count` others,
 * its ghosts, in the order given. `needed` may repeat indices and may hold own ones. Indices are
 * not negative. Collective.
 * Errors, on every rank: MPI_ERR_ARG for an index that no rank owns, or that two ranks own. */
VICINAL_API int vicinal_halo_create(MPI_Comm comm, int64_t first, int64_t last,
                                    int64_t needed_count, const int64_t needed[], MPI_Info info,
                                    vicinal_halo* halo);

/* As vicinal_halo_create, with any owned indices, in any order. Position i of an owned array
 * belongs to owned[i]. */
VICINAL_API int vicinal_halo_create_indexed(MPI_Comm comm, int64_t owned_count,
                                            const int64_t owned[], int64_t needed_count,
                                            const int64_t needed[], MPI_Info info,
                                            vicinal_halo* halo);

/* As vicinal_halo_create_indexed, with a known owner of each needed index, which saves the look-up.
 * Errors: MPI_ERR_RANK for an owner that is no rank, MPI_ERR_ARG for one that does not own the
 * index. */
VICINAL_API int vicinal_halo_create_with_owners(MPI_Comm comm, int64_t owned_count,
                                                const int64_t owned[], int64_t needed_count,
                                                const int64_t needed[], const int owners[],
                                                MPI_Info info, vicinal_halo* halo);

/* Frees a halo, after waiting for its exchanges in flight; their arrays must still exist. Their
 * requests end with it: waiting for one later is MPI_ERR_REQUEST. */
VICINAL_API int vicinal_halo_free(vicinal_halo* halo);

/* Begins to fill `ghosts` from the other ranks' `owned`. Both hold `values` consecutive values of
 * `type` per index; `ghosts` may be the end of the same array. All ranks give the same `values` and
 * a type of the same size. Local. The request is complete once vicinal_wait or vicinal_test has set
 * it to NULL, which must be before the halo is freed.
 * Errors: MPI_ERR_REQUEST if too many exchanges are in flight (see vicinal_in_flight); MPI_ERR_TYPE
 * for a type with gaps (MPI's own pairs, such as MPI_DOUBLE_INT, may have them); MPI_ERR_BUFFER for
 * MPI_IN_PLACE, for a null array if this rank has something to exchange, and if ghosts and owned
 * values share memory. MPI_ERR_REQUEST also if another thread starts an exchange of the halo, or
 * has started the ones in flight. This exchange then fails on all ranks that need this rank's
 * data. */
VICINAL_API int vicinal_halo_start(vicinal_halo halo, const void* owned, void* ghosts,
                                   int64_t values, MPI_Datatype type, vicinal_request* request);

/* Orders later exchanges of this process after the work that `stream` of a GPU holds so far (a
 * CUstream, cudaStream_t or hipStream_t; NULL is the default stream). It concerns what they do with
 * memory of the GPU that holds `buffer`. Call it before the start of an exchange if the stream
 * still fills or reads its buffers. Neither the process nor the GPU waits, with two exceptions:
 * `buffer` is managed or pinned memory, or MPI gets memory of the GPU (vicinal_device_way). An
 * exchange waits when it begins then. Local.
 * Errors: MPI_ERR_ARG if `buffer` does not lie in the memory of a GPU. */
VICINAL_API int vicinal_follow_stream(const void* buffer, void* stream);

/* As vicinal_halo_start, for `vectors` vectors at once, `owned_stride` (`ghost_stride`) values
 * apart. Errors: also MPI_ERR_ARG if the ghosts of two vectors share memory. */
VICINAL_API int vicinal_halo_start_vectors(vicinal_halo halo, const void* owned,
                                           int64_t owned_stride, void* ghosts, int64_t ghost_stride,
                                           int64_t vectors, int64_t values, MPI_Datatype type,
                                           vicinal_request* request);

/* Makes a persistent request of vicinal_halo_start, or of vicinal_halo_reverse_start, for these
 * arrays. vicinal_start starts it any number of times, until vicinal_request_free frees it. It has
 * a plan of its own, so its order with other exchanges is free, and it may outlive the halo.
 * Collective over the halo's communicator; all ranks start it equally often. A user's operator and
 * its datatype must exist as long as the request. Errors, on every rank: as vicinal_halo_start and
 * vicinal_halo_reverse_start; MPI_ERR_COUNT if the size of the data per index differs between
 * ranks. */
VICINAL_API int vicinal_halo_init(vicinal_halo halo, const void* owned, void* ghosts,
                                  int64_t values, MPI_Datatype type, vicinal_request* request);
VICINAL_API int vicinal_halo_reverse_init(vicinal_halo halo, void* owned, const void* ghosts,
                                          int64_t values, MPI_Datatype type, MPI_Op op,
                                          vicinal_request* request);

/* Begins the reverse: brings each ghost's value to its owner, where `op` combines it with the owned
 * value. `op` is MPI_SUM, MPI_MIN, MPI_MAX, MPI_REPLACE (the last in order stays), or any operator
 * that MPI_Reduce_local takes. The order is the same in each execution. The datatype may be freed
 * at once. A user's operator must not be freed before the request is complete: MPI has no function
 * to keep one.
 * Errors: also MPI_ERR_OP for an operator of MPI that is not defined for the datatype. */
VICINAL_API int vicinal_halo_reverse_start(vicinal_halo halo, void* owned, const void* ghosts,
                                           int64_t values, MPI_Datatype type, MPI_Op op,
                                           vicinal_request* request);

/* Start and wait, in one call. */
VICINAL_API int vicinal_halo_exchange(vicinal_halo halo, const void* owned, void* ghosts,
                                      int64_t values, MPI_Datatype type);
VICINAL_API int vicinal_halo_reverse(vicinal_halo halo, void* owned, const void* ghosts,
                                     int64_t values, MPI_Datatype type, MPI_Op op);

/* One direction of a halo's index map, for `neighbors` ranks. Entries offsets[i]..offsets[i+1]-1 of
 * `positions` belong to neighbor i. They are positions in the owned array (sent) or among the
 * ghosts (received). The halo owns the arrays. */
typedef struct {
  int neighbors;
  const int* ranks;
  const int64_t* offsets;
  const int64_t* positions;
} vicinal_halo_map;
VICINAL_API int vicinal_halo_get_maps(vicinal_halo halo, vicinal_halo_map* send,
                                      vicinal_halo_map* receive);

/* Cost of one exchange on this rank. */
typedef struct {
  int64_t nonlocal_messages; /* sent to other regions */
  int64_t nonlocal_elements;
  int64_t local_messages; /* sent inside the region */
  int64_t local_elements;
  int64_t shared_elements; /* given to or taken from a rank of the host through memory */
  /* Why ranks of this node use messages although they could share memory, in this halo or others on
   * its communicator. Is "" if no such case is known. The halo owns the text. */
  const char* shared_memory;
} vicinal_statistics;
VICINAL_API int vicinal_halo_get_statistics(vicinal_halo halo, vicinal_statistics* statistics);

/* --- sparse exchanges ----------------------------------------------------------------------------- */

/* Each rank knows the ranks it sends to, but not the ranks it receives from, nor how much. The
 * received data is a handle, which keeps it in host memory until it is freed. Send buffers may lie
 * in GPU memory.
 *
 * Settings: vicinal_regions, vicinal_local, vicinal_profile and vicinal_exchange. 'automatic'
 * depends on the number of ranks, their regions and the profile. All ranks know these, so it costs
 * nothing. 'one-sided' is for vicinal_sparse_alltoall. Settings must be the same on all ranks,
 * which compare them when they are new to the communicator. If one rank alone changes to settings
 * used there before, no rank detects it.
 * Sources: Geyko and Bienz 2023, algorithms 1 to 3; Hoefler et al. 2010. */
typedef struct vicinal_received_s* vicinal_received;
#define VICINAL_RECEIVED_NULL ((vicinal_received)0)

/* Sends `sendcount` messages. Message i has `sendcounts[i]` elements of `sendtype` and goes to rank
 * `destinations[i]`. It begins `sdispls[i]` elements (extents) into the buffer. Empty messages are
 * delivered, too. A rank may occur several times, and may be the calling rank. `recvtype` is the
 * type of the received elements. It need not be the senders' type, but each message must be a whole
 * number of its elements. Collective; on return the buffers are the caller's again.
 * Errors, on every rank (MPI_ERR_OTHER on ranks that did not fail): MPI_ERR_RANK, MPI_ERR_COUNT for
 * negative counts and messages of 2^51 bytes and more, MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_ERR_TYPE,
 * MPI_ERR_NO_MEM, MPI_ERR_INFO_VALUE (also if settings differ). On this rank alone: MPI_ERR_COUNT
 * for a message that is no whole number of elements, MPI_ERR_NO_MEM if it fails to allocate the
 * received data. */
VICINAL_API int vicinal_sparse_alltoallv(const void* sendbuf, int sendcount,
                                         const int destinations[], const int sendcounts[],
                                         const int sdispls[], MPI_Datatype sendtype,
                                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                         vicinal_received* received);

/* As vicinal_sparse_alltoallv, with 64-bit counts and displacements. */
VICINAL_API int vicinal_sparse_alltoallv_c(const void* sendbuf, int sendcount,
                                           const int destinations[], const MPI_Count sendcounts[],
                                           const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                           vicinal_received* received);

/* As vicinal_sparse_alltoallv, where every message of every rank has `blockcount` elements. Message
 * i begins i * blockcount elements into the buffer. Ranks that send nothing give the same
 * blockcount.
 * Errors, besides those above: MPI_ERR_COUNT if messages of another size arrive. */
VICINAL_API int vicinal_sparse_alltoall(const void* sendbuf, int sendcount,
                                        const int destinations[], int blockcount,
                                        MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                                        MPI_Info info, vicinal_received* received);

/* Sends requests to the destinations, and receives the requests of other ranks to this rank. The
 * arguments are those of vicinal_sparse_alltoallv. vicinal_sparse_answer must answer the received
 * requests.
 * Collective. A rank that cannot receive its requests gets no handle; its askers' answers then
 * fail. */
VICINAL_API int vicinal_sparse_query(const void* sendbuf, int sendcount, const int destinations[],
                                     const int sendcounts[], const int sdispls[],
                                     MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                                     MPI_Info info, vicinal_received* requests);

/* Answers each request by one message: entry i of `sendcounts` and `sdispls` is the reply to
 * request i. The replies to this rank's own requests are ordered by the answering rank, then as
 * asked. All ranks must call it once for each query, in the same order, and free the requests
 * afterwards. An answer that fails also counts as the answer: the ranks that asked get an error.
 * Errors: those of vicinal_sparse_alltoallv, on the rank that failed and at least on those that
 * asked it; MPI_ERR_ARG for requests that are already answered, and for a handle of no requests. */
VICINAL_API int vicinal_sparse_answer(vicinal_received requests, const void* sendbuf,
                                      const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, MPI_Datatype recvtype,
                                      vicinal_received* replies);

/* Gives the received messages: `*messages` of them, ordered by sender, then as sent. Message i came
 * from ranks[i] and has counts[i] elements, displs[i] elements into `*data`. There, elements are
 * contiguous, and those of a derived type have no gaps. displs has one more entry: the number of
 * all elements. The handle owns the arrays. Outputs that are not needed may be null. Local. */
VICINAL_API int vicinal_received_get(vicinal_received received, int* messages, const int** ranks,
                                     const int64_t** counts, const int64_t** displs,
                                     const void** data);

/* Copies all elements to the caller's buffer, which has room for `capacity` elements of `recvtype`.
 * Local.
 * Errors: MPI_ERR_COUNT if the room is too small (nothing is copied then), MPI_ERR_TYPE for a type
 * of another size than the type announced. The buffer may lie in GPU memory (docs/gpu.md). */
VICINAL_API int vicinal_received_copy(vicinal_received received, void* recvbuf, int64_t capacity,
                                      MPI_Datatype recvtype);

/* Frees the handle and the received data. Local. */
VICINAL_API int vicinal_received_free(vicinal_received* received);

#ifdef __cplusplus
}
#endif

#endif
