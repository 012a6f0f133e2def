"""Graphs, and the neighborhood collectives on them, with mpi4py's names and buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import read_indices, read_ranks
from ._buffers import Side, is_in_place, read_blocks, read_partitions, read_side, read_typed_side
from ._errors import Error, fault_of
from ._load import address_of_comm, native
from ._request import Request
from ._settings import GraphSettings, PlanSettings, check_names, given_settings, plan_settings
from ._types import Fault, Native, NativeGraph

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Self, Unpack

Reader = Callable[[Any, int, str], Side]

# How the two sides of each collective are read.
READERS: dict[str, tuple[Reader, Reader]] = {
    "alltoall": (read_blocks, read_blocks),
    "alltoallv": (read_side, read_side),
    "alltoallw": (read_typed_side, read_typed_side),
    "allgather": (read_blocks, read_blocks),
    "allgatherv": (read_blocks, read_side),
}


class Graph:
    """Who talks to whom on a communicator.

    Parameters
    ----------
    comm
        An mpi4py communicator.  It may be freed before the graph.
    sources, destinations
        The ranks that this rank receives from and sends to, as for MPI_Dist_graph_create_adjacent.
        They may repeat (the k-th edge from p to q at p is the k-th from p to q at q), and may be the rank itself.  Ranks
        are never reordered.
    strategy, regions, local, split_bytes, leader_shift, choice, plan_after, bias, wisdom, profile, verify
        As for Halo; `strategy` may also be "common-neighbor", "distance-halving-pruned", "cascade", or for allgathers
        "distance-halving".
    idle_ranks
        Whether ranks without edges "rest" (default), or take part in all exchanges, and may "lead" for their region.
        With the latter they must call as the others do, with the same blocks.
    group_size
        The most ranks of a group of the strategy "common-neighbor" (default 0: as many as a cost model finds best).
    radix
        With which the strategies "cascade", and "tuna" and "tuna-hierarchical" of a complete graph, store and forward: 2 or more
        (default 0: the one that a cost model finds best).
    allgather
        The planner of a complete graph's allgathers: see `complete`.
    in_flight
        How many alltoalls, and allgathers, that go by a plan are carried out at once, 1 to 8 (default 4).
        Any number of nonblocking calls may be in flight; those beyond wait their turn.
    progress
        As for Halo; with "strict", persistent requests and nonblocking calls go direct.
    exchange
        The method by which `from_destinations` and `from_sources` find the other side: see sparse_exchange.

    Collective over `comm`: the first graph on a communicator duplicates it, finds out where its ranks
    live and sets up shared memory; later ones take two letters per rank and a few words inside each region.
    Raises vicinal.Error on every rank where an argument of any cannot be read, settings differ, or the ends
    of an edge do not both name it.
    """

    __slots__ = ("_graph", "_module", "_settings")

    _graph: NativeGraph
    _settings: dict[str, str]

    def __init__(
        self,
        comm: MPI.Comm,
        sources: ArrayLike,
        destinations: ArrayLike,
        **settings: Unpack[GraphSettings],
    ) -> None:
        known = {"sources": sources, "destinations": destinations}
        self._make(comm, known, settings, lambda module: module.make_graph)

    @classmethod
    def from_destinations(cls, comm: MPI.Comm, destinations: ArrayLike, **settings: Unpack[GraphSettings]) -> Self:
        """Make a graph where each rank knows whom it sends to, and not whom it receives from.

        Sources are found by a sparse exchange, whose method is the setting `exchange`, and come in ascending
        order.  Collective over `comm`.  Raises vicinal.Error on every rank.
        """
        graph = cls.__new__(cls)
        graph._make_from_one_side(comm, {"destinations": destinations}, settings)
        return graph

    @classmethod
    def from_sources(cls, comm: MPI.Comm, sources: ArrayLike, **settings: Unpack[GraphSettings]) -> Self:
        """Make a graph where each rank knows whom it needs something from, as from_destinations."""
        graph = cls.__new__(cls)
        graph._make_from_one_side(comm, {"sources": sources}, settings)
        return graph

    @classmethod
    def from_topology(
        cls,
        comm: MPI.Comm,
        **settings: Unpack[GraphSettings],
    ) -> Self:
        """Make a graph of the topology that `comm` has: Cartesian, graph, or distributed graph.

        The neighbours come in MPI's order; where a Cartesian one has none, `MPI.PROC_NULL` keeps its place
        in sources and destinations, in counts and in buffers, whose parts for it are left alone.  Collective
        over `comm`.  Raises vicinal.Error where `comm` has no topology.
        """
        graph = cls.__new__(cls)
        graph._make(comm, {}, settings, lambda module: module.make_graph_from_topology)
        return graph

    @classmethod
    def complete(
        cls,
        comm: MPI.Comm,
        **settings: Unpack[GraphSettings],
    ) -> Self:
        """Make the graph in which every rank has an edge to and from every rank, itself included.

        Its allgathers are those of the communicator, by the planner `allgather`: "automatic" (default),
        "locality-bruck", "bruck", "dissemination", "recursive-doubling", "ring", "hierarchical", "multi-lane" or
        any strategy for allgathers.  Its alltoalls have the strategies "tuna" and "tuna-hierarchical" beside the
        others.  MPI.IN_PLACE is allowed, but where there are partitions.  Collective over `comm`.
        """
        graph = cls.__new__(cls)
        graph._make(comm, {}, settings, lambda module: module.make_complete_graph)
        return graph

    def _make_from_one_side(
        self, comm: MPI.Comm, known: Mapping[str, ArrayLike], settings: GraphSettings
    ) -> None:
        def function(module: Native) -> Callable[..., NativeGraph]:
            return partial(module.make_graph_from_one_side, "sources" in known)

        self._make(comm, known, settings, function)

    def _make(
        self,
        comm: MPI.Comm,
        known: Mapping[str, ArrayLike],
        settings: GraphSettings,
        function: Callable[[Native], Callable[..., NativeGraph]],
    ) -> None:
        """Make it by a function of the compiled module, given what is known of neighbours, and settings."""
        check_names(settings, GraphSettings)
        self._module, address = native(), address_of_comm(comm)
        self._module.require_usable()  # before the communicator is asked for its size, which MPI answers
        self._settings = {}
        ranks = dict.fromkeys(known, np.empty(0, np.int32))
        fault: Fault | None = None
        try:
            ranks = {what: self._read(comm, given, what) for what, given in known.items()}
            self._settings = given_settings(**settings)
        except Exception as error:  # raised where all ranks meet, so that the others learn of it
            fault = fault_of(error)
        self._graph = function(self._module)(address, *ranks.values(), self._settings, fault)

    @classmethod
    def of_all(cls, comm: MPI.Comm) -> Self:
        """The complete graph that is kept with `comm` for its allgathers.

        Collective over `comm` the first time, and after set_regions.
        """
        graph = cls.__new__(cls)
        graph._module, graph._settings = native(), {}
        graph._graph = graph._module.kept_complete_graph(address_of_comm(comm))
        return graph

    @staticmethod
    def _read(comm: MPI.Comm, ranks: ArrayLike, what: str) -> NDArray[np.int32]:
        array = read_ranks(ranks, what)
        wrong = array[(array < 0) | (array >= comm.size)]
        if wrong.size:
            raise Error(
                f"{what} names rank {wrong[0]}, but the communicator has ranks 0 to {comm.size - 1}", "rank"
            )
        return array

    @property
    def sources(self) -> NDArray[np.int32]:
        """The ranks that this rank receives from."""
        return self._graph.sources()

    @property
    def destinations(self) -> NDArray[np.int32]:
        """The ranks that this rank sends to."""
        return self._graph.destinations()

    def _begin(
        self,
        collective: str,
        sendbuf: Any,
        recvbuf: Any,
        items: ArrayLike | None = None,
        settings: dict[str, Any] | None = None,
        blocking: bool = False,
        partitions: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Request:
        """Plan a collective where there are settings; else begin a call of it, in its blocking form or not."""
        self._module.require_usable()  # before datatypes are asked for their extents, which MPI answers
        read_send, read_receive = READERS[collective]
        gathers = collective.startswith("allgather")
        given = None if settings is None else dict(self._settings)
        send, receive = Side(), Side()
        in_place = is_in_place(sendbuf)
        identities: NDArray[np.int64] | None = None
        # That there are partitions is known to all ranks, also where those of one cannot be read.
        ready, arriving = (None, None) if partitions is None else (np.empty(0, np.int32), np.empty(0, np.int32))
        fault: Fault | None = None
        try:
            if given is not None and settings is not None:
                given |= given_settings(**settings)
            if in_place and not self._graph.is_complete():
                raise Error(
                    "sendbuf is MPI.IN_PLACE, which only collectives of a complete graph allow; give an array", "buffer"
                )
            if in_place and partitions is not None:
                raise Error(
                    "sendbuf is MPI.IN_PLACE, but what is sent in partitions is not copied first; give an array", "buffer"
                )
            if not in_place:
                send = read_send(sendbuf, 1 if gathers else len(self._graph.destinations()), "sendbuf")
            receive = read_receive(recvbuf, len(self._graph.sources()), "recvbuf")
            identities = None if items is None else read_indices(items, "items")
            if partitions is not None:
                ready = read_partitions(partitions[0], len(self._graph.destinations()), "sendpartitions")
                arriving = read_partitions(partitions[1], len(self._graph.sources()), "recvpartitions")
        except Exception as error:  # told to the neighbours, who are waiting for this rank
            fault = fault_of(error)
        request = self._module.neighbor(
            self._graph, collective,
            send.buffer, send.counts, send.displacements, send.datatypes,
            receive.buffer, receive.counts, receive.displacements, receive.datatypes,
            in_place, identities, ready, arriving, given, blocking, fault,
        )
        return Request(request)

    # --- persistent -------------------------------------------------------------------------------------

    def Neighbor_alltoall_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an all-to-all of equal blocks: block i goes to destination i, or comes from source i.

        `sendbuf` and `recvbuf` are arrays that divide equally among the neighbours, or specifications as for
        mpi4py: `[array, count, type]`, `[array, count]`, `[array, type]`, with the count of one block.

        Collective over the ranks that have neighbours.  The settings are those of a graph but `regions`,
        `in_flight` and `exchange`, and are the graph's where they are not given.  Raises vicinal.Error on the
        rank at fault and on all that paths of edges connect with it.
        """
        return self._begin("alltoall", sendbuf, recvbuf, settings=plan_settings(settings))

    def Neighbor_alltoallv_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        items: ArrayLike | None = None,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an all-to-all with counts.

        `sendbuf` and `recvbuf` are buffer specifications as for mpi4py: `[array, counts, displs, type]`,
        `[array, (counts, displs), type]`, `[array, counts]`, ...; counts and displacements are in
        elements, an entry for each edge.  Send regions may overlap each other, receive regions must
        not.  The settings are the graph's where they are not given.

        `items` gives an identity, not negative, for each element sent, edge after edge: elements of one
        rank with the same identity must have equal values whenever the request is started; they travel
        once where the planner can share them.

        Collective over the ranks that have neighbours.  Raises vicinal.Error on the rank at fault and on all
        that paths of edges connect with it.
        """
        return self._begin("alltoallv", sendbuf, recvbuf, items, plan_settings(settings))

    def Neighbor_alltoallv_partitioned_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        sendpartitions: ArrayLike,
        recvpartitions: ArrayLike,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an all-to-all with counts whose parts become ready one by one, after MPI-4's partitions.

        What goes to destination i is `sendpartitions[i]` equal parts, or `sendpartitions` where that is one
        number; what comes from source i, `recvpartitions[i]`, which need not be what its sender has.  After each
        start every part is to be marked by `Request.pready`, from any thread; `Request.parrived` says which
        have come.  Strategies other than "direct" and "nearest-first" may hold parts back until all that
        share a message are ready.  The rest is as for Neighbor_alltoallv_init.
        """
        return self._begin(
            "alltoallv", sendbuf, recvbuf, None, plan_settings(settings), partitions=(sendpartitions, recvpartitions)
        )

    def Neighbor_alltoallw_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an all-to-all with a datatype for each neighbour.

        `sendbuf` and `recvbuf` are `[array, counts, displs, types]`, `[array, (counts, displs), types]` or
        `[array, types]` (counts of 1, displacements of 0), with displacements in bytes.  The rest is as for
        Neighbor_alltoall_init.
        """
        return self._begin("alltoallw", sendbuf, recvbuf, settings=plan_settings(settings))

    def Neighbor_allgather_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an allgather: `sendbuf` goes to all destinations, block i comes from source i.

        `sendbuf` is an array or `[array, count, type]`, ...; `recvbuf` is as for Neighbor_alltoall_init.
        Strategies pass a block on through other ranks where that pays.  The rest is as for
        Neighbor_alltoall_init.
        """
        return self._begin("allgather", sendbuf, recvbuf, settings=plan_settings(settings))

    def Neighbor_allgatherv_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        **settings: Unpack[PlanSettings],
    ) -> Request:
        """Prepare an allgather with counts: `recvbuf` is as for Neighbor_alltoallv_init.

        The rest is as for Neighbor_allgather_init.
        """
        return self._begin("allgatherv", sendbuf, recvbuf, settings=plan_settings(settings))

    # --- blocking and nonblocking -----------------------------------------------------------------------
    #
    # With the graph's settings, and buffers as for the persistent ones.  Ranks call in the same order.  A
    # nonblocking call never waits for other ranks.  A blocking alltoall or allgather goes by a plan; the first few of
    # those with counts, and of the nonblocking ones, send one message per edge.  See vicinal.h.  An
    # error is that of one call: it is raised on the rank at fault and on those whose data depend on that
    # rank's, and later calls are as good as ever.

    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Run once what Neighbor_alltoall_init prepares."""
        self._begin("alltoall", sendbuf, recvbuf, blocking=True).wait()

    def Ineighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin what Neighbor_alltoall does."""
        return self._begin("alltoall", sendbuf, recvbuf)

    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Run once what Neighbor_alltoallv_init prepares."""
        self._begin("alltoallv", sendbuf, recvbuf, blocking=True).wait()

    def Ineighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin what Neighbor_alltoallv does."""
        return self._begin("alltoallv", sendbuf, recvbuf)

    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Run once what Neighbor_alltoallw_init prepares."""
        self._begin("alltoallw", sendbuf, recvbuf, blocking=True).wait()

    def Ineighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin what Neighbor_alltoallw does."""
        return self._begin("alltoallw", sendbuf, recvbuf)

    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Run once what Neighbor_allgather_init prepares."""
        self._begin("allgather", sendbuf, recvbuf, blocking=True).wait()

    def Ineighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin what Neighbor_allgather does."""
        return self._begin("allgather", sendbuf, recvbuf)

    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Run once what Neighbor_allgatherv_init prepares."""
        self._begin("allgatherv", sendbuf, recvbuf, blocking=True).wait()

    def Ineighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begin what Neighbor_allgatherv does."""
        return self._begin("allgatherv", sendbuf, recvbuf)

    def __repr__(self) -> str:
        return f"<vicinal.Graph: {len(self.sources)} sources, {len(self.destinations)} destinations>"
