/* vicinal: communication among ranks that talk to a few others, planned once and run many times.
 *
 * Conventions. Every function returns MPI_SUCCESS or an MPI error class, after it has called the error
 * handler of the communicator concerned; vicinal_error_message() then says what was given, what was
 * expected and what to do. Outputs come last and are set on success only. "Collective" functions must
 * be called by all ranks of the communicator, in the same order; "local" ones by whoever likes.
 * Handles have a pointer's type, but lead to no memory. A freed or completed handle is set to NULL, which is a valid,
 * inactive handle. A copy of it is no handle any more: functions refuse it with MPI_ERR_REQUEST for a request, and with
 * MPI_ERR_ARG otherwise. They call the error handler of MPI_COMM_WORLD then.
 *
 * MPI must be initialized, by MPI_Init or by a session. With MPI_THREAD_MULTIPLE, different handles may be
 * used by different threads at the same time. Of two threads that start one request or halo at once, one
 * gets MPI_ERR_REQUEST. After MPI_Finalize, or MPI_Session_finalize of the last
 * session, handles may still be freed; any other use of them is MPI_ERR_COMM, and so it is in a process
 * that a rank has forked. A program of sessions links vicinal before MPI, so that it hears of their end.
 *
 * Settings. The info argument of the creating functions takes these keys; the environment variable of
 * the same name in upper case, where set, wins. All of them must be the same on all ranks: where they
 * are not, creating or planning fails with MPI_ERR_INFO_VALUE on every rank that depends on another one,
 * and the message names two ranks and both values. The environment is compared when a communicator is
 * first used. A value that cannot be read is MPI_ERR_INFO_VALUE, too, of regions MPI_ERR_TOPOLOGY.
 * A variable that begins with VICINAL_ and is no setting, and an info key that begins with vicinal_ and is none, have no
 * effect. Rank 0 warns of each once, and names the setting that is nearest.
 *   vicinal_regions       who is near whom: 'node', 'numa', 'blocks:K', 'round-robin:N', 'list:L0,L1,...'
 *                         (a label for each rank), or two of these as 'OUTER/INNER' (default 'node').
 *   vicinal_strategy      the planner: 'automatic', 'direct', 'nearest-first', 'aggregate',
 *                         'aggregate-plain', 'two-step', 'split', 'common-neighbor', 'distance-halving',
 *                         'distance-halving-pruned', 'cascade', 'tuna', 'tuna-hierarchical', 'bruck',
 *                         'dissemination', 'recursive-doubling', 'ring', 'hierarchical', 'multi-lane' or
 *                         'locality-bruck' (default 'automatic'). 'distance-halving' serves allgathers,
 *                         'tuna' and 'tuna-hierarchical' whatever all ranks of a communicator do
 *                         together (vicinal_graph_create_complete, vicinal_alltoallv), those from
 *                         'bruck' on allgathers over all ranks. Where it is given by the environment, or
 *                         for a graph, exchanges that it cannot serve go by 'automatic', with a warning;
 *                         for a single exchange or halo it is refused.
 *   vicinal_allgather     the planner of allgathers over all ranks: 'automatic', 'direct',
 *                         'nearest-first', 'aggregate', 'aggregate-plain', 'two-step', 'split',
 *                         'common-neighbor', 'distance-halving', 'distance-halving-pruned', 'cascade',
 *                         'tuna', 'tuna-hierarchical', 'bruck', 'dissemination', 'recursive-doubling',
 *                         'ring', 'hierarchical', 'multi-lane' or 'locality-bruck' (default 'automatic').
 *                         'automatic' takes that one of those from 'bruck' on which is the fastest by the
 *                         profile.
 *   vicinal_exchange      how sparse exchanges go: 'automatic', 'personalized', 'nonblocking',
 *                         'locality', 'locality-personalized' or 'one-sided' (default 'automatic'). See
 *                         sparse exchanges below.
 *   vicinal_local         how ranks of one host hand data over, by shared memory or messages: 'shared' or
 *                         'messages' (default 'shared').
 *   vicinal_in_flight     how many executions of a plan may be in flight: a whole number from 1 to 8
 *                         (default '4'). Of a halo, that is how many exchanges may be in flight in each
 *                         direction, and of a graph how many alltoalls or allgathers are carried out at
 *                         once; of nonblocking calls any number may be in flight, those beyond wait their
 *                         turn.
 *   vicinal_progress      who brings on what a leader relays for others: 'relaxed' or 'strict' (default
 *                         'relaxed'). 'relaxed': leaders do, in every call of vicinal, so between the
 *                         start of a nonblocking or persistent exchange and its completion, blocking
 *                         calls of MPI may deadlock: a rank may wait in one for a rank that waits for its
 *                         relay. Use MPI's nonblocking forms and vicinal_progress() there, or
 *                         VICINAL_PROGRESS_THREAD. 'strict': unless the progress thread runs, nonblocking
 *                         and persistent exchanges go direct, one message per edge, and whatever MPI
 *                         allows between start and completion works.
 *   vicinal_split_bytes   'split' and 'automatic' take a leader for each this many bytes of a region
 *                         pair, or, for 0, as many as the cost model finds best: a whole number from 0
 *                         to 1099511627776 (default '65536').
 *   vicinal_leader_shift  leaders are taken this many ranks further on in their region, for measurements:
 *                         a whole number from 0 to 1048576 (default '0').
 *   vicinal_idle_ranks    whether ranks without edges take part in exchanges, and may lead for their
 *                         region: 'rest' or 'lead' (default 'rest'). 'rest': a rank without edges need
 *                         not even call, and nobody waits for it. 'lead': it calls whatever the others
 *                         call, as MPI demands, with blocks of the same size, and what it leads is done
 *                         when its own call is. So few busy ranks with many idle ones beside them, as on
 *                         the coarse levels of multigrid, share their messages out. All ranks of a
 *                         region are then of one component.
 *   vicinal_group_size    'common-neighbor' forms groups of at most this many ranks of a region, or, for
 *                         0, of as many as a cost model finds best: a whole number from 0 to 1048576
 *                         (default '0').
 *   vicinal_radix         'tuna', 'tuna-hierarchical' and 'cascade' store and forward with this radix,
 *                         or, for 0, with the one that a cost model finds best: 0, or a whole number
 *                         from 2 to 1048576 (default '0'). 2: the fewest messages and the most bytes; as
 *                         many as there are ranks: nothing is passed on. Of 'tuna-hierarchical' it is the
 *                         one inside regions; between them nothing is passed on then. Of 'cascade' it is
 *                         the one between regions.
 *   vicinal_device_way    how what lies in a GPU's memory is moved: 'automatic', 'staged', 'direct',
 *                         'shared', 'direct-shared', 'lent' or 'direct-lent' (default 'automatic').
 *                         'staged': by way of the host's memory. 'direct': MPI is given the GPU's
 *                         memory, if it takes that, which docs/gpu.md tells; else staged, with a warning.
 *                         'shared': ranks of a host reach into each other's GPU's memory, which they must
 *                         be able to. 'direct-shared': both. 'lent', 'direct-lent': as 'shared' and 'direct-shared', but peers on the
 *                         host read what is sent where it lies, which spares a copy of it, and is a
 *                         promise: memory that has been sent from stays allocated until all ranks have
 *                         freed the exchange. It is complete for a rank when they have read, for which
 *                         they must call vicinal, as of leaders in vicinal_progress. 'automatic': what the profile has faster for a plan, of
 *                         those that need no promise.
 *   vicinal_profile       what the machine costs, by which plans are chosen: the name of a file as
 *                         'vicinal calibrate' writes it (none by default). It is read once per process.
 *                         Ranks must have profiles with the same contents, wherever each node keeps its
 *                         file. Without one, that of a published machine holds.
 *   vicinal_choice        how 'automatic' is decided: 'adaptive', 'estimate' or 'measure' (default
 *                         'adaptive'). 'adaptive': a persistent exchange, a halo or calls in a loop begin
 *                         by what a cost model finds best. When it has been executed vicinal_plan_after
 *                         times, further plans are made in the background; then executions go by them in
 *                         turn, on the user's own data, until those after go by the quickest, which takes
 *                         up to two hundred executions (a halo's reverse stays as it began). In one of
 *                         these a rank may be held up until all ranks have come as far. The program
 *                         remembers: a later exchange of the same pattern takes the quickest plan
 *                         without trying others. 'estimate': by the cost model alone. 'measure': making
 *                         the exchange plans the likely planners and times each on memory of the library's
 *                         own, which takes some milliseconds; the ranks keep the one that the slowest of
 *                         them is done with first (of a halo, there and back). Partitioned exchanges are
 *                         estimated; where vicinal_progress has exchanges go direct, nothing is chosen.
 *                         Planners add contributions up in different orders: results of a halo's reverse
 *                         are the same in each exchange of it, and with 'measure' may differ in their last
 *                         bits from one run of a program to the next, unless wisdom says by which to go.
 *   vicinal_plan_after    after how many calls of a loop a plan serves them, and after how many executions
 *                         further plans are made and compared: a whole number from 1 to 1073741824
 *                         (default '8').
 *   vicinal_bias          by what the costs of planners are multiplied where one is chosen: a list as
 *                         'direct:0.8,aggregate:1.2', planners with positive factors (none by default).
 *   vicinal_wisdom        where what has been measured is remembered: the path of a file (none by default).
 *                         What is there of the same machine, MPI and ranks, and a pattern of the same
 *                         summary, is taken in the place of an estimate or of measuring; what is measured
 *                         is added. One rank of those that exchange reads and writes it, for all.
 *   vicinal_verify        whether all ranks of an exchange prove each new plan together: '1' or '0'
 *                         (default '0'). It is before the plan is used, at the cost of gathering all
 *                         their plans on one rank.
 * Environment only; a value that cannot be read fails where a communicator is first used (that of
 * VICINAL_DUMP_SIGNAL, where a graph is):
 *   VICINAL_REPORT_WAITS    when a rank that waits says for whom: a number of seconds, or 0 for never
 *                           (default '30').
 *   VICINAL_SHARED_MEMORY   whether ranks of a host share memory at all: '1' or '0' (default '1'). Where
 *                           a rank says 0, its whole host does without.
 *   VICINAL_CORES           how many cores the ranks of a host are taken to share: a number, or 0 where each
 *                           has one of its own (none by default). Without it, as many as those may run on.
 *                           Plans are chosen by it where the profile does not say how many; the lowest
 *                           rank's of a host holds.
 *   VICINAL_PROGRESS_THREAD whether a thread of the library's own progresses exchanges: '1', 'yes', 'on',
 *                           'true', '0', 'no', 'off' or 'false' (default '0'). It needs
 *                           MPI_THREAD_MULTIPLE, and ends at the beginning of MPI_Finalize: the library
 *                           intercepts that call, and for that has to come before MPI on the
 *                           linker's command line. To be the same on all ranks.
 *   VICINAL_DUMP_SIGNAL     what has a rank say what it waits for: the number of a signal that can be
 *                           caught (none by default). See vicinal_dump.
 *   VICINAL_LOG             what is written of plans and settings, and where: 'warn', 'info' or 'debug',
 *                           or one of these with a file as 'info:FILE' (default 'warn'). 'warn': what was
 *                           asked for and cannot be had, once, by the lowest of the ranks that plan
 *                           together, on standard error and in the file. 'info': also a line for each
 *                           communicator and each plan, with what was chosen and why, what a rank sends,
 *                           and what falls back. 'debug': also what agreeing on each plan has cost. Each
 *                           line begins with the rank in MPI_COMM_WORLD, and is added to the file by one
 *                           write; %r in the file's name stands for the rank.
 *   VICINAL_DEVICE_DRIVER   by which driver device memory is found and moved: 'automatic', 'none', or the
 *                           path of a driver's library (default 'automatic'). 'automatic': NVIDIA's,
 *                           AMD's, or none, as they are installed. With 'none' all buffers count as the
 *                           host's. docs/gpu.md says what is done with device memory.
 *   VICINAL_REPORT          where the preload library writes what became of a program's exchanges: the
 *                           name of a file (none by default). It is JSON, of all ranks together, written
 *                           by MPI_Finalize; the same as a table is in FILE.txt.
 *   VICINAL_REPORT_MPI      how often the preload library has MPI carry out a blocking exchange, to report
 *                           its time: each this many calls: a whole number from 0 to 1073741824 (default
 *                           '0'). It is never for 0.
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
/* An exchange that can be started, or has been. */
typedef struct vicinal_request_s* vicinal_request;
/* A halo exchange by global indices. */
typedef struct vicinal_halo_s* vicinal_halo;

#define VICINAL_GRAPH_NULL ((vicinal_graph)0)
#define VICINAL_REQUEST_NULL ((vicinal_request)0)
#define VICINAL_HALO_NULL ((vicinal_halo)0)

/* The version of the library, such as "0.1.0". Local. */
VICINAL_API const char* vicinal_version(void);

/* What the last error on this thread was about; "" if there was none. The text is the library's and
 * valid until the next error on this thread. Local. */
VICINAL_API const char* vicinal_error_message(void);

/* --- who is near whom --------------------------------------------------------------------------- */

/* Sets the default regions of a communicator, in the forms of the setting vicinal_regions, for graphs
 * created after. Local, but to be called alike on all ranks; the first call on a communicator that has
 * no graph yet is collective.
 * Errors: MPI_ERR_TOPOLOGY for a text that is no such form, or a list of the wrong length. */
VICINAL_API int vicinal_set_regions(MPI_Comm comm, const char* regions);

/* The region of each rank as graphs created now would have it: `region_of` holds as many entries as the
 * communicator has ranks, and is the caller's. Collective the first time on a communicator. */
VICINAL_API int vicinal_get_regions(MPI_Comm comm, int region_of[]);

/* --- graphs ------------------------------------------------------------------------------------- */

/* Creates a graph from each rank's own edges; the arguments are those of
 * MPI_Dist_graph_create_adjacent. The order of sources and destinations is kept; ranks may occur several
 * times (the k-th edge from p to q at p is the k-th from p to q at q) and may be the calling rank.
 * Weights may be MPI_UNWEIGHTED or MPI_WEIGHTS_EMPTY and are not used; `reorder` never changes ranks.
 * Collective: the first graph on a communicator duplicates it, finds out where its ranks live and sets
 * up shared memory. All of them compare what the ranks know, by two letters per rank and a few words
 * inside each region.
 * Ranks that no path of edges connects are components of their own: they may exchange other amounts of
 * data, and call at other times and differently often.
 * Errors, on every rank: MPI_ERR_COUNT where the ends of an edge do not both name it, equally often;
 * MPI_ERR_INFO_VALUE where settings differ; and on the rank at fault MPI_ERR_RANK, MPI_ERR_ARG,
 * MPI_ERR_INFO_VALUE or MPI_ERR_TOPOLOGY (regions), on the others then MPI_ERR_OTHER. */
VICINAL_API int vicinal_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                              const int* sourceweights, int outdegree,
                                              const int destinations[], const int* destweights,
                                              MPI_Info info, int reorder, vicinal_graph* graph);

/* Creates a graph from the topology that the communicator has: that of MPI_Cart_create,
 * MPI_Graph_create or one of MPI_Dist_graph_create. The neighbours come in the order of the standard,
 * that of a Cartesian one for each dimension first in the negative direction, then in the positive one;
 * MPI_PROC_NULL keeps its place. In a periodic dimension of size 1 or 2, what is sent in one direction
 * arrives from the other. Weights are not used. Collective, as vicinal_graph_create_adjacent.
 * Errors: MPI_ERR_TOPOLOGY where the communicator has no topology, or is a graph of MPI_Graph_create in
 * which one rank names another more often than the other way round. */
VICINAL_API int vicinal_graph_create_from_topology(MPI_Comm comm, MPI_Info info,
                                                   vicinal_graph* graph);

/* The same where each rank knows one side of its edges only: the ranks it sends to, or those it needs
 * something from. The other ends are told by a sparse exchange (see the setting vicinal_exchange),
 * which costs each rank a few messages whatever the number of ranks; what it finds comes in ascending
 * order of ranks. Collective. Errors, on every rank (MPI_ERR_OTHER on those that are not at fault):
 * MPI_ERR_RANK, MPI_ERR_ARG, MPI_ERR_INFO_VALUE, MPI_ERR_TOPOLOGY (regions). */
VICINAL_API int vicinal_graph_create_from_destinations(MPI_Comm comm, int outdegree,
                                                       const int destinations[], MPI_Info info,
                                                       vicinal_graph* graph);
VICINAL_API int vicinal_graph_create_from_sources(MPI_Comm comm, int indegree, const int sources[],
                                                  MPI_Info info, vicinal_graph* graph);

/* The neighbours of a graph, in its order: MPI_PROC_NULL where a topology has none. Arrays may be NULL
 * where only the degrees are wanted; else they have that many entries, and are the caller's. Local. */
VICINAL_API int vicinal_graph_neighbors(vicinal_graph graph, int* indegree, int sources[],
                                        int* outdegree, int destinations[]);

/* Creates the graph in which each rank has an edge to and from every rank, itself included, in the order
 * of ranks: that of the collectives over a whole communicator. Its allgathers go by the setting
 * vicinal_allgather (see vicinal_allgather below), its alltoalls by vicinal_strategy, for which it has
 * more planners (see vicinal_alltoallv). Collective, as vicinal_graph_create_adjacent. */
VICINAL_API int vicinal_graph_create_complete(MPI_Comm comm, MPI_Info info, vicinal_graph* graph);

/* Frees a graph. Local. Requests made from it stay usable. */
VICINAL_API int vicinal_graph_free(vicinal_graph* graph);

/* --- neighborhood collectives ---------------------------------------------------------------------
 *
 * The five of MPI, each in three forms, and each of these in a second one (`_c`) with 64-bit counts and
 * displacements. The arguments are MPI's, with the graph in the place of the communicator, and mean what
 * they mean there; arrays have an entry for each neighbour in the order of the graph. An entry that is
 * MPI_PROC_NULL in the topology a graph was made from is passed over, its place in the buffers left
 * alone. Arrays of arguments may be reused at once; datatypes must be committed, and may be freed at once.
 * Buffers stay in place until completion, or for persistent requests until these are freed. Send regions
 * may overlap each other. Receive regions must not: that is MPI_ERR_BUFFER, where their datatypes have no gaps.
 * MPI_IN_PLACE is not allowed.
 *
 *   persistent (`_init`): plans. Collective over the ranks of the graph that have neighbours; ranks
 *     without may skip it. Requests may be started in any order, on each rank in another.
 *     Errors, on every rank that a path of edges connects with one at fault: MPI_ERR_COUNT for negative
 *     counts and for counts that differ (in bytes) between the two ends of an edge, MPI_ERR_BUFFER,
 *     MPI_ERR_TYPE, MPI_ERR_INFO_VALUE, also for a strategy named for it alone that cannot serve it;
 *     MPI_ERR_OTHER on the ranks that are not at fault themselves. None of these ranks has a request
 *     then; the graph is as good as ever.
 *   blocking, nonblocking (`i`): with the settings of the graph. Ranks call in the same order; ranks
 *     without neighbours may skip it. A nonblocking call never waits for another rank, the first on a
 *     graph included, and any number may be in flight.
 *       alltoall, allgather: the first call begins to make a plan in the background, one for blocks of
 *         all sizes. Blocking calls go by it; the first of them therefore waits until all ranks that
 *         paths of edges connect have called. Of the nonblocking calls, those among the first eight go
 *         one message per edge, later ones by the plan; with vicinal_progress "strict", and without a
 *         progress thread, all go one message per edge. By the plan, as many are carried out at once as
 *         vicinal_in_flight says; further ones, and those that come before there is a plan, begin later,
 *         when the process progresses.
 *       alltoallv, alltoallw, allgatherv: the first eight go one message per edge. Meanwhile a plan is
 *         made in the background that has room on each edge for what was seen of it, by which later calls
 *         go, whatever their counts: what does not fit takes a message of its own. After 8, 16, 32, ...
 *         calls the ranks find out together whether the plan still suits, and make another, or go one
 *         message per edge, where it does not, and where it could only hand over a few hundred bytes to a
 *         rank or two of the host. Pieces of more than 256 KiB always take one of their own.
 *         As above, nonblocking ones go by a plan only where vicinal_progress allows it. A persistent
 *         request, whose counts are known, saves a little more.
 *     A request is set to NULL, and freed, when vicinal_test or vicinal_wait find it complete or failed.
 *     Errors: as above, but a fault is that of one call. It is told on the rank at fault, and as
 *     MPI_ERR_OTHER on those whose data depend on that rank's; calls before and after it end well. The
 *     rank at fault hears of it from the call: a nonblocking one makes no request, and what the others
 *     still need of the rank goes on in the background; a blocking one returns when they need it no more.
 *     Counts of other ranks are not known beforehand. A rank to which more or less is sent than it
 *     expects gets MPI_ERR_COUNT; if nothing is, MPI_ERR_OTHER, since the sender's call may have failed.
 *     Receive buffers must be large enough all the same: some MPIs write past the end of one that is not.
 *     Where the plan itself cannot be made, for want of memory say, all calls that go by it fail on every
 *     rank that was to have it; make persistent requests then, or call on another graph.
 *
 * Sources: Collom et al. 2023, algorithms 1 to 6. */

/* Sends block i of `sendbuf` to destination i, and receives block i of `recvbuf` from source i. All
 * blocks of all ranks that communicate hold the same amount of data. */
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

/* The same with a count and a displacement, in elements of the type, for each block. */
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

/* The persistent form with identities: `senditems` gives one for each element sent, edge after edge.
 * Elements of one rank with the same identity must have equal values whenever the request is started;
 * they are sent once to all who want them where the planner can share them. Identities are arbitrary,
 * not negative, and mean nothing to other ranks (Collom et al. 2023, section 3.3). */
VICINAL_API int vicinal_neighbor_alltoallv_items_init(
    const void* sendbuf, const int sendcounts[], const int sdispls[], const int64_t senditems[],
    MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
    MPI_Datatype recvtype, vicinal_graph graph, MPI_Info info, vicinal_request* request);

/* The persistent form in partitions, after MPI-4's partitioned communication: what goes to a neighbour
 * becomes ready in equal parts, one after the other, marked by whichever thread has made it; and what comes
 * from one may be read part by part.
 *
 * Destination i gets its sendcounts[i] elements in sendpartitions[i] partitions of sendcounts[i] /
 * sendpartitions[i] elements each, in their order; those from source i arrive in recvpartitions[i] partitions
 * of recvcounts[i] / recvpartitions[i]. The two ends of an edge may have different numbers of partitions, as
 * long as they agree about the amount of data. Counts may be 0. All ranks that paths of edges connect use this
 * form for an exchange, and none another one.
 *
 * After each vicinal_start every partition of every destination is to be marked once (vicinal_pready), those
 * of MPI_PROC_NULL excepted; until then it is the program's, to be written. vicinal_wait and vicinal_test
 * complete when all has been sent and received, so vicinal_wait before all are marked needs another thread
 * that marks the rest; and so does vicinal_request_free of a request in flight. A rank whose vicinal_start has
 * failed marks nothing.
 *
 * What is sent when: a message of one rank's own partitions is divided among them, and each part goes when it
 * is ready. A strategy that packs several partitions into one message, by a leader or through shared memory,
 * sends it when all of them are. So with strategies other than 'direct' and 'nearest-first' no program may
 * make one partition ready only after another has arrived somewhere; with these it may, and with
 * vicinal_progress "strict" where no progress thread runs. Where send regions overlap, or the type has
 * gaps, partitions are packed as they become ready.
 *
 * Making it costs a letter more for each rank that a rank sends messages to or receives messages from, and
 * two more for agreement.
 * Collective over the ranks of the graph that have neighbours. Errors: those of the persistent forms, and
 * on every such rank MPI_ERR_COUNT (MPI_ERR_OTHER on ranks that are not at fault) for an edge with no
 * partitions, or a count that they do not divide; MPI_ERR_INFO_VALUE where another rank's exchange is not in
 * partitions. Source: MPI 4.1, chapter 4. */
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

/* Marks a partition of what goes to destination `neighbor` of the graph as ready to be sent: it must not be
 * written from now on until the exchange is complete. The forms with a range (both ends included) and with a
 * list mark several; where one of them cannot be marked, those before it have been. Neighbours and partitions
 * are counted from 0.
 * Local; takes no lock of the library's and waits for nobody. May be called by several threads at once,
 * in any order, and while another waits for the request, whatever the level of threads that MPI gives, if each start comes
 * before. What has been marked is sent at once where the calling thread may call MPI: with
 * MPI_THREAD_MULTIPLE, or on the main thread with MPI_THREAD_FUNNELED or less; else when the process next
 * progresses.
 * Errors: MPI_ERR_ARG for a neighbour or partition that there is not; MPI_ERR_REQUEST for a request that is
 * not in flight, or has no partitions, and for a partition marked twice in one execution. */
VICINAL_API int vicinal_pready(vicinal_request request, int neighbor, int partition);
VICINAL_API int vicinal_pready_range(vicinal_request request, int neighbor, int first, int last);
VICINAL_API int vicinal_pready_list(vicinal_request request, int neighbor, int length,
                                    const int partitions[]);

/* Sets *flag to whether a partition of what comes from source `neighbor` may be read; always, where the
 * request is not in flight, and for MPI_PROC_NULL. Where it may not, every exchange of the process has been
 * progressed, and the core offered to others as by vicinal_test. Local; several threads may call it at once
 * where MPI gives MPI_THREAD_MULTIPLE. Errors: MPI_ERR_ARG and MPI_ERR_REQUEST as above; what the execution
 * has failed with, of which vicinal_wait tells, too. */
VICINAL_API int vicinal_parrived(vicinal_request request, int neighbor, int partition, int* flag);

/* The same with a datatype, a count and a displacement in bytes for each block. */
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

/* Sends one block to all destinations, and receives block i of `recvbuf` from source i. All blocks of all
 * ranks that communicate hold the same amount of data. A strategy may pass blocks on through other ranks,
 * once to each region. */
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

/* The same with a count and a displacement, in elements of the type, for each block received. */
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
 * MPI_Allgather and MPI_Allgatherv, in the same forms: the neighborhood allgathers of the communicator's
 * complete graph, which is kept until the communicator is freed. The first call on a communicator, in
 * whatever form, creates it, and so does the first after vicinal_set_regions has changed the regions. That
 * waits for all ranks: also vicinal_iallgather and vicinal_iallgatherv do so then, and never else. Where
 * they must not, have all ranks call vicinal_allgather_init or vicinal_allgather before.
 * MPI_IN_PLACE is allowed as send buffer; otherwise the buffers must not share memory. Counts of
 * allgatherv must be the same on all ranks. Its persistent form plans, for these counts; the others go one
 * message per pair of ranks, whatever the planner.
 *
 * The setting vicinal_allgather, in the environment or the info of the persistent form, names the planner:
 *   "automatic"           (default) chooses for the machine
 *   "locality-bruck"      Bruck's algorithm between regions, sharing inside them (Bienz et al. 2022,
 *                         algorithm 2), for any number and sizes of regions; with regions as
 *                         "node/numa" also between the inner regions of each
 *   "bruck", "dissemination", "recursive-doubling", "ring"     as the field knows them
 *   "hierarchical"        one leader per region; "multi-lane": one lane per rank of a region
 * or any that serves neighborhood allgathers. Regions are the communicator's default ones.
 *
 * Collective. Errors, as for the neighborhood collectives (MPI_ERR_OTHER on ranks that are not at fault):
 * MPI_ERR_COUNT for negative counts, for an own block whose sizes in the send and receive arguments
 * differ, and for counts that are not the same on all ranks; MPI_ERR_BUFFER, also where send and receive
 * buffer share memory; MPI_ERR_ARG, MPI_ERR_TYPE, MPI_ERR_INFO_VALUE. An error in a blocking or
 * nonblocking call is that of this call; later ones are as good as ever. */
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
 * MPI_Alltoallv, in the same forms: the neighborhood alltoallv of the communicator's complete graph, which
 * is that of the allgathers above; what is said there of the first call, and of the regions, holds here, of
 * whichever comes first. MPI_IN_PLACE is allowed as send buffer, on any ranks: what is sent to each is then
 * what lies where something is received from it, with the receive counts, displacements and type, of which
 * a copy is taken when it is started; those of the send side are not looked at. The persistent form plans, for
 * its counts; calls are planned for once they have come again and again, as neighborhood alltoallvs are.
 *
 * The setting vicinal_strategy, in the environment or the info of the persistent form, names the planner.
 * Beside those of neighborhoods there are
 *   "tuna"                store and forward among all ranks (Bruck et al. 1997; Fan et al. 2024, 2025):
 *                         a rank sends few messages, and what it has for others goes by way of others.
 *                         The setting vicinal_radix says how few: with r at most (r - 1) ceil(log_r p)
 *   "tuna-hierarchical"   the same inside regions, then between them
 * of which "automatic" takes one where blocks are so small that it is expected to be clearly faster.
 *
 * Collective. Errors: those of vicinal_neighbor_alltoallv in the same form; as ranks pass on what is for
 * others, all ranks hear of one at fault in the persistent form. */
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

/* Begins an execution. Local: never waits for another rank. The send buffer must not be changed, nor
 * the receive buffer used, until it is complete. Errors: MPI_ERR_REQUEST where the request is in flight
 * or cannot be started by itself. vicinal_startall starts them in the order of the array, and stops at
 * the first that cannot be; MPI_ERR_ARG for a negative count or a null array. */
VICINAL_API int vicinal_start(vicinal_request* request);
VICINAL_API int vicinal_startall(int count, vicinal_request requests[]);

/* Sets *flag to whether the execution is complete (or none is in flight); where it is not, every exchange
 * of the process has been progressed, and where there are more ranks than cores, the core has been offered
 * to others. A persistent request stays; any other is set to NULL when complete, or when its execution has
 * failed. Local. */
VICINAL_API int vicinal_test(vicinal_request* request, int* flag);

/* Waits for completion, progressing every exchange of the process meanwhile. Never blocks inside MPI:
 * it polls, then yields, then sleeps. vicinal_waitall waits in the order of the array, and stops at the
 * first that has failed; MPI_ERR_ARG for a negative count or a null array. */
VICINAL_API int vicinal_wait(vicinal_request* request);
VICINAL_API int vicinal_waitall(int count, vicinal_request requests[]);

/* As vicinal_wait, but what is put on `stream` of a GPU (a CUstream, cudaStream_t or hipStream_t; NULL is the
 * default stream) from now on comes after the execution, of which some may be left: kernels and copies that the GPU has
 * still to do in the buffer that is filled, for which the process does not wait. Until then both buffers may be used
 * on `stream` only, and must not be freed. A fault of these is told of by the next start that takes the same place.
 * Of requests whose buffers lie on no GPU, and of nonblocking calls, this is vicinal_wait.
 * Local. Errors: as vicinal_wait; MPI_ERR_REQUEST where `stream` is being captured into a graph. */
VICINAL_API int vicinal_wait_on_stream(vicinal_request* request, void* stream);

/* Waits for any one; *index is its position, or MPI_UNDEFINED where none is in flight. Where one has failed,
 * *index is the position of that one, its handle is treated as by vicinal_test, and what is returned is its
 * error, of which the error handler of its communicator hears. */
VICINAL_API int vicinal_waitany(int count, vicinal_request requests[], int* index);

/* Frees a request, after waiting for an execution in flight. Local otherwise. Errors: MPI_ERR_REQUEST
 * for a request of a halo, which is the halo's. */
VICINAL_API int vicinal_request_free(vicinal_request* request);

/* Progresses every exchange of the process. Call it from long computations where other ranks may depend
 * on this one to relay their data, or to take part in a nonblocking call or start that has failed here, which it
 * does for their sake. Local; returns MPI_SUCCESS. */
VICINAL_API int vicinal_progress(void);

/* Writes to standard error what each exchange in flight waits for, and which communicators do without
 * shared memory, and why. For diagnosing a hang; also run by the signal that the environment variable
 * VICINAL_DUMP_SIGNAL names by number. Local. */
VICINAL_API int vicinal_dump(void);

/* --- halos -------------------------------------------------------------------------------------- */

/* Forms a halo: this rank owns the global indices first..last-1 and needs `needed_count` others, its
 * ghosts, in the order given. Repeated needed indices and own ones are allowed. Indices are not
 * negative. Collective.
 * Errors, on every rank: MPI_ERR_ARG for an index that nobody owns, or two ranks own. */
VICINAL_API int vicinal_halo_create(MPI_Comm comm, int64_t first, int64_t last,
                                    int64_t needed_count, const int64_t needed[], MPI_Info info,
                                    vicinal_halo* halo);

/* The same with any owned indices, in any order; position i of an owned array belongs to owned[i]. */
VICINAL_API int vicinal_halo_create_indexed(MPI_Comm comm, int64_t owned_count,
                                            const int64_t owned[], int64_t needed_count,
                                            const int64_t needed[], MPI_Info info,
                                            vicinal_halo* halo);

/* The same where the owner of each needed index is known, which saves looking it up. Errors:
 * MPI_ERR_RANK for an owner that is no rank, MPI_ERR_ARG for one that does not own the index. */
VICINAL_API int vicinal_halo_create_with_owners(MPI_Comm comm, int64_t owned_count,
                                                const int64_t owned[], int64_t needed_count,
                                                const int64_t needed[], const int owners[],
                                                MPI_Info info, vicinal_halo* halo);

/* Frees a halo, after waiting for its exchanges in flight, whose arrays must therefore still be there. Their requests end
 * with it: to wait for one afterwards is MPI_ERR_REQUEST. */
VICINAL_API int vicinal_halo_free(vicinal_halo* halo);

/* Begins to fill `ghosts` from the other ranks' `owned`. Both hold `values` consecutive values of
 * `type` per index; `ghosts` may be the end of the same array. All ranks give the same `values` and a
 * type of the same size. Local. The request is done with once vicinal_wait or vicinal_test has set it
 * to NULL, and must be before the halo is freed.
 * Errors: MPI_ERR_REQUEST where too many exchanges are in flight (see vicinal_in_flight);
 * MPI_ERR_TYPE for a type that has gaps (MPI's own pairs, such as MPI_DOUBLE_INT, may have them);
 * MPI_ERR_BUFFER for MPI_IN_PLACE, for a null array where this
 * rank has something to exchange, and where ghosts and owned values share memory. MPI_ERR_REQUEST also where another
 * thread starts an exchange of the halo, or has started the ones in flight: this one then fails on all ranks that need
 * this one's data. */
VICINAL_API int vicinal_halo_start(vicinal_halo halo, const void* owned, void* ghosts,
                                   int64_t values, MPI_Datatype type, vicinal_request* request);

/* From now on, what exchanges of this process do with memory of the GPU that `buffer` lies in comes after
 * what is on `stream` of that GPU so far (a CUstream, cudaStream_t or hipStream_t; NULL is the default
 * stream): call it before what starts an exchange whose buffers the stream still fills or reads. Neither the
 * process nor the GPU is waited for, unless `buffer` is managed or pinned memory, or MPI is given memory of
 * the GPU (vicinal_device_way), in which an exchange waits when it begins. Local. Errors: MPI_ERR_ARG where
 * `buffer` does not lie in the memory of a GPU. */
VICINAL_API int vicinal_follow_stream(const void* buffer, void* stream);

/* The same for `vectors` vectors at once, `owned_stride` (`ghost_stride`) values apart. Errors: also MPI_ERR_ARG where the
 * ghosts of two vectors share memory. */
VICINAL_API int vicinal_halo_start_vectors(vicinal_halo halo, const void* owned,
                                           int64_t owned_stride, void* ghosts, int64_t ghost_stride,
                                           int64_t vectors, int64_t values, MPI_Datatype type,
                                           vicinal_request* request);

/* Makes a persistent request of vicinal_halo_start, and of vicinal_halo_reverse_start, for these arrays: started by
 * vicinal_start again and again, until it is freed by vicinal_request_free. It has a plan of its own, so
 * it keeps step with no other exchange, and it may outlive the halo. Collective over the halo's communicator; all
 * ranks start it equally often. An operator of the user's, and its datatype, must stay as long as the request. Errors, on every rank: those of
 * vicinal_halo_start and vicinal_halo_reverse_start, and MPI_ERR_COUNT where ranks give another size of what moves for an index. */
VICINAL_API int vicinal_halo_init(vicinal_halo halo, const void* owned, void* ghosts,
                                  int64_t values, MPI_Datatype type, vicinal_request* request);
VICINAL_API int vicinal_halo_reverse_init(vicinal_halo halo, void* owned, const void* ghosts,
                                          int64_t values, MPI_Datatype type, MPI_Op op,
                                          vicinal_request* request);

/* Begins the reverse: each ghost's value is brought to its owner, where `op` combines it with the owned
 * value: MPI_SUM, MPI_MIN, MPI_MAX, MPI_REPLACE (the last in order stays), or any operator that
 * MPI_Reduce_local takes. The order is the same in each execution. The datatype may be freed at once, but
 * a user's operator must not be freed before the request is done with: MPI has no way to keep one. Errors: also
 * MPI_ERR_OP for an operator of MPI's that is not defined for the datatype. */
VICINAL_API int vicinal_halo_reverse_start(vicinal_halo halo, void* owned, const void* ghosts,
                                           int64_t values, MPI_Datatype type, MPI_Op op,
                                           vicinal_request* request);

/* Start and wait. */
VICINAL_API int vicinal_halo_exchange(vicinal_halo halo, const void* owned, void* ghosts,
                                      int64_t values, MPI_Datatype type);
VICINAL_API int vicinal_halo_reverse(vicinal_halo halo, void* owned, const void* ghosts,
                                     int64_t values, MPI_Datatype type, MPI_Op op);

/* One direction of a halo's index map: `neighbors` ranks; for neighbour i, the entries
 * offsets[i]..offsets[i+1]-1 of `positions` are positions in the owned array (sent) or among the ghosts
 * (received). The arrays are the halo's. */
typedef struct {
  int neighbors;
  const int* ranks;
  const int64_t* offsets;
  const int64_t* positions;
} vicinal_halo_map;
VICINAL_API int vicinal_halo_get_maps(vicinal_halo halo, vicinal_halo_map* send,
                                      vicinal_halo_map* receive);

/* What one exchange costs this rank. */
typedef struct {
  int64_t nonlocal_messages; /* sent to other regions */
  int64_t nonlocal_elements;
  int64_t local_messages; /* sent inside the region */
  int64_t local_elements;
  int64_t shared_elements; /* handed to or taken from a rank of the host through memory */
  /* Why messages are used between ranks of this node that could share memory, by this halo or others on
   * its communicator; "" where none are known to be. The text is the halo's. */
  const char* shared_memory;
} vicinal_statistics;
VICINAL_API int vicinal_halo_get_statistics(vicinal_halo halo, vicinal_statistics* statistics);

/* --- sparse exchanges ----------------------------------------------------------------------------- */

/* Each rank knows whom it sends to, and none whom it receives from, nor how much. What it receives comes
 * as a handle, which keeps it in the host's memory until it is freed; what is sent may lie in a GPU's, too.
 *
 * Settings: vicinal_regions, vicinal_local, vicinal_profile and vicinal_exchange. 'automatic' goes by the number of
 * ranks, their regions and the profile, which all know, and so costs nothing; 'one-sided' is for vicinal_sparse_alltoall.
 * They must be the same on all ranks, who compare them when they are new to the communicator; a rank that
 * goes over by itself to others that have been in use there before is not noticed.
 * Sources: Geyko and Bienz 2023, algorithms 1 to 3; Hoefler et al. 2010. */
typedef struct vicinal_received_s* vicinal_received;
#define VICINAL_RECEIVED_NULL ((vicinal_received)0)

/* Sends `sendcount` messages: message i is `sendcounts[i]` elements of `sendtype`, from `sdispls[i]`
 * elements (extents) into the buffer, for the rank `destinations[i]`. Messages may be empty, and are
 * delivered all the same; ranks may occur several times, and may be the calling rank. The received
 * elements are of `recvtype`; it need not be that of the senders, but each message must be a whole number
 * of its elements. Collective; the buffers are the caller's again on return.
 * Errors, on every rank (MPI_ERR_OTHER on those that are not at fault): MPI_ERR_RANK, MPI_ERR_COUNT for
 * negative counts and messages of 2^51 bytes and more, MPI_ERR_ARG, MPI_ERR_BUFFER, MPI_ERR_TYPE,
 * MPI_ERR_NO_MEM, MPI_ERR_INFO_VALUE (also where settings differ). On this rank alone: MPI_ERR_COUNT for a
 * message that is no whole number of elements, MPI_ERR_NO_MEM where it has no memory for what is sent to it. */
VICINAL_API int vicinal_sparse_alltoallv(const void* sendbuf, int sendcount,
                                         const int destinations[], const int sendcounts[],
                                         const int sdispls[], MPI_Datatype sendtype,
                                         MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                         vicinal_received* received);

/* The same with 64-bit counts and displacements. */
VICINAL_API int vicinal_sparse_alltoallv_c(const void* sendbuf, int sendcount,
                                           const int destinations[], const MPI_Count sendcounts[],
                                           const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                           MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                           vicinal_received* received);

/* The same where every message of every rank has `blockcount` elements: message i begins i * blockcount
 * elements into the buffer. Ranks that send nothing give the same blockcount.
 * Errors, besides those above: MPI_ERR_COUNT where messages of another size arrive. */
VICINAL_API int vicinal_sparse_alltoall(const void* sendbuf, int sendcount,
                                        const int destinations[], int blockcount,
                                        MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                                        MPI_Info info, vicinal_received* received);

/* Asks the destinations: the arguments are those of vicinal_sparse_alltoallv, and what comes are the
 * requests of others to this rank. Each of them is to be answered by vicinal_sparse_answer. Collective. A
 * rank that cannot take what it is asked, and so gets no handle, has refused to answer those who ask. */
VICINAL_API int vicinal_sparse_query(const void* sendbuf, int sendcount, const int destinations[],
                                     const int sendcounts[], const int sdispls[],
                                     MPI_Datatype sendtype, MPI_Datatype recvtype, MPI_Comm comm,
                                     MPI_Info info, vicinal_received* requests);

/* Answers the requests, each by one message: the i-th of `sendcounts` and `sdispls` is the reply to the
 * i-th request. The replies to this rank's own requests come by the rank that was asked, then as asked.
 * To be called once for each query, by all ranks, in the same order everywhere; the requests are to be
 * freed after. An answer that fails is one, too: who asked has been refused.
 * Errors: those of vicinal_sparse_alltoallv, on the rank at fault and at least on those who asked it;
 * MPI_ERR_ARG for requests that have been answered, and for what are none. */
VICINAL_API int vicinal_sparse_answer(vicinal_received requests, const void* sendbuf,
                                      const int sendcounts[], const int sdispls[],
                                      MPI_Datatype sendtype, MPI_Datatype recvtype,
                                      vicinal_received* replies);

/* What was received: `*messages` messages, ordered by sender, then as sent; message i came from ranks[i]
 * and is counts[i] elements from displs[i] elements into `*data`, where one follows the other as they
 * travel (elements of a derived type without their gaps). displs has an entry more: the number of all
 * elements. The arrays are the handle's; outputs that are not wanted may be null. Local. */
VICINAL_API int vicinal_received_get(vicinal_received received, int* messages, const int** ranks,
                                     const int64_t** counts, const int64_t** displs,
                                     const void** data);

/* Copies all elements to a buffer of the caller's that has room for `capacity` of `recvtype`. Local.
 * Errors: MPI_ERR_COUNT where it has not enough room (nothing is copied then), MPI_ERR_TYPE for a type of
 * another size than that which was announced. The buffer may lie in a GPU's memory (docs/gpu.md). */
VICINAL_API int vicinal_received_copy(vicinal_received received, void* recvbuf, int64_t capacity,
                                      MPI_Datatype recvtype);

/* Frees the handle and what was received. Local. */
VICINAL_API int vicinal_received_free(vicinal_received* received);

#ifdef __cplusplus
}
#endif

#endif
