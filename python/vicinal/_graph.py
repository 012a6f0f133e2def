"""Graphs, and the neighborhood collectives on them, with mpi4py's names and buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import read_indices, read_ranks
from ._buffers import Side, is_in_place, read_blocks, read_partitions, read_side, read_typed_side
from ._errors import Error, fault_of
from ._load import address_of_comm, native
from ._request import Request
from ._settings import COMPLETE_GRAPH, GRAPH, GRAPH_FROM_ONE_SIDE, PERSISTENT, Settings, check_settings, info_keys
from ._types import Fault, Native, NativeGraph

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Self

Reader = Callable[[Any, int, str], Side]
Form = Literal["persistent", "nonblocking", "blocking"]

# Readers of the two sides of each collective.
READERS: dict[str, tuple[Reader, Reader]] = {
    "alltoall": (read_blocks, read_blocks),
    "alltoallv": (read_side, read_side),
    "alltoallw": (read_typed_side, read_typed_side),
    "allgather": (read_blocks, read_blocks),
    "allgatherv": (read_blocks, read_side),
}


class Graph:
    """A directed graph over the ranks of a communicator.

    Parameters
    ----------
    comm
        An mpi4py communicator. It may be freed before the graph.
    sources, destinations
        The ranks that this rank receives from and sends to, as for MPI_Dist_graph_create_adjacent.
        A rank may occur several times: the k-th edge from p to q at p is the k-th from p to q at q.
        A rank may name itself. Ranks are never reordered.
    strategy
        The planner: as for Halo, or for allgathers also "distance-halving". A complete graph uses
        it for alltoalls only, where it may also be "tuna" or "tuna-hierarchical".
    settings
        All other settings, a `Settings` (default: none given).

    Collective over `comm`. The first graph on a communicator duplicates it, detects its locality
    and sets up shared memory. All send two control messages per rank, and a few words per region.
    Raises vicinal.Error on every rank for invalid arguments, unequal settings, one-sided edges.
    """

    __slots__ = ("_graph", "_module", "_settings")

    _graph: NativeGraph
    _settings: dict[str, str]

    def __init__(
        self,
        comm: MPI.Comm,
        sources: ArrayLike,
        destinations: ArrayLike,
        *,
        strategy: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        known = {"sources": sources, "destinations": destinations}
        self._make(GRAPH, comm, known, strategy, settings, lambda module: module.make_graph)

    @classmethod
    def from_destinations(
        cls, comm: MPI.Comm, destinations: ArrayLike, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Self:
        """Creates a graph where each rank knows only the ranks that it sends to.

        A sparse exchange by the method `settings.exchange` finds the sources, in ascending order.
        Collective over `comm`. Raises vicinal.Error on every rank.
        """
        graph = cls.__new__(cls)
        graph._make_from_one_side(comm, {"destinations": destinations}, strategy, settings)
        return graph

    @classmethod
    def from_sources(
        cls, comm: MPI.Comm, sources: ArrayLike, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Self:
        """As from_destinations, but each rank knows the ranks it receives from."""
        graph = cls.__new__(cls)
        graph._make_from_one_side(comm, {"sources": sources}, strategy, settings)
        return graph

    @classmethod
    def from_topology(cls, comm: MPI.Comm, *, strategy: str | None = None, settings: Settings | None = None) -> Self:
        """Creates a graph from the topology of `comm`: Cartesian, graph, or distributed graph.

        The neighbors have MPI's order. In a Cartesian topology, `MPI.PROC_NULL` keeps the place of
        a missing neighbor. Its parts of buffers are left alone.
        Collective over `comm`. Raises vicinal.Error if `comm` has no topology.
        """
        graph = cls.__new__(cls)
        graph._make(GRAPH, comm, {}, strategy, settings, lambda module: module.make_graph_from_topology)
        return graph

    @classmethod
    def complete(cls, comm: MPI.Comm, *, strategy: str | None = None, settings: Settings | None = None) -> Self:
        """Creates the graph with an edge from every rank to every rank, itself included.

        `strategy` names the planner of its alltoalls, `settings.allgather` that of its allgathers.
        MPI.IN_PLACE is allowed, except with partitions. Collective over `comm`.
        """
        graph = cls.__new__(cls)
        graph._make(COMPLETE_GRAPH, comm, {}, strategy, settings, lambda module: module.make_complete_graph)
        return graph

    def _make_from_one_side(
        self, comm: MPI.Comm, known: Mapping[str, ArrayLike], strategy: str | None, settings: Settings | None
    ) -> None:
        def function(module: Native) -> Callable[..., NativeGraph]:
            return partial(module.make_graph_from_one_side, "sources" in known)

        self._make(GRAPH_FROM_ONE_SIDE, comm, known, strategy, settings, function)

    def _make(
        self,
        kind: str,
        comm: MPI.Comm,
        known: Mapping[str, ArrayLike],
        strategy: str | None,
        settings: Settings | None,
        function: Callable[[Native], Callable[..., NativeGraph]],
    ) -> None:
        """Creates a graph of this kind by a function of the compiled module."""
        check_settings(settings)
        self._module, address = native(), address_of_comm(comm)
        self._module.require_usable()  # before the size of the communicator is read from MPI
        self._settings = {}
        ranks = dict.fromkeys(known, np.empty(0, np.int32))
        fault: Fault | None = None
        try:
            ranks = {what: self._read(comm, given, what) for what, given in known.items()}
            self._settings = info_keys(kind, strategy, settings)
        except Exception as error:  # raised in the agreement of all ranks, so that all learn of it
            fault = fault_of(error)
        self._graph = function(self._module)(address, *ranks.values(), self._settings, fault)

    @classmethod
    def of_all(cls, comm: MPI.Comm) -> Self:
        """The complete graph of `comm`, which exists as long as `comm`.

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
        form: Form,
        strategy: str | None = None,
        settings: Settings | None = None,
        *,
        items: ArrayLike | None = None,
        partitions: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Request:
        """Plans a persistent collective, or begins a call of one of the other forms."""
        check_settings(settings)
        self._module.require_usable()  # before extents of datatypes are read from MPI
        read_send, read_receive = READERS[collective]
        gathers = collective.startswith("allgather")
        given = dict(self._settings) if form == "persistent" else None
        send, receive = Side(), Side()
        in_place = is_in_place(sendbuf)
        identities: NDArray[np.int64] | None = None
        # All ranks know that there are partitions, even if one rank's partitions are invalid.
        ready, arriving = (None, None) if partitions is None else (np.empty(0, np.int32), np.empty(0, np.int32))
        fault: Fault | None = None
        try:
            if given is not None:
                strategy_key = "allgather" if gathers and self._graph.is_complete() else "strategy"
                given |= info_keys(PERSISTENT, strategy, settings, strategy_key)
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
        except Exception as error:  # reported to the neighbors, which wait for this rank
            fault = fault_of(error)
        request = self._module.neighbor(
            self._graph, collective,
            send.buffer, send.counts, send.displacements, send.datatypes,
            receive.buffer, receive.counts, receive.displacements, receive.datatypes,
            in_place, identities, ready, arriving, given, form == "blocking", fault,
        )
        return Request(request)

    # --- persistent -------------------------------------------------------------------------------------

    def Neighbor_alltoall_init(
        self, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Request:
        """Prepares an all-to-all of equal blocks: block i is for destination i, or from source i.

        `sendbuf` and `recvbuf` are arrays that divide equally among the neighbors, or mpi4py's
        `[array, count, type]`, `[array, count]`, `[array, type]`, with the count of one block.

        `strategy` and `settings` are as for the graph, whose values hold by default. `Settings`
        says which of its fields apply to persistent collectives, as this is one.

        Collective over the ranks that have neighbors. Raises vicinal.Error on the rank that failed
        and on all ranks that paths of edges connect with it.
        """
        return self._begin("alltoall", sendbuf, recvbuf, "persistent", strategy, settings)

    def Neighbor_alltoallv_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        items: ArrayLike | None = None,
        *,
        strategy: str | None = None,
        settings: Settings | None = None,
    ) -> Request:
        """Prepares an all-to-all with counts.

        `sendbuf` and `recvbuf` are buffer specifications as for mpi4py: `[array, counts, displs, type]`,
        `[array, (counts, displs), type]`, `[array, counts]`, ... Counts and displacements are in
        elements, with an entry for each edge. Send regions may overlap each other; receive regions
        must not.

        `items` gives an identity, not negative, for each element sent, edge after edge. Elements of
        a rank with equal identities must have equal values at each start, and may be sent once.

        Otherwise as Neighbor_alltoall_init.
        """
        return self._begin("alltoallv", sendbuf, recvbuf, "persistent", strategy, settings, items=items)

    def Neighbor_alltoallv_partitioned_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        sendpartitions: ArrayLike,
        recvpartitions: ArrayLike,
        *,
        strategy: str | None = None,
        settings: Settings | None = None,
    ) -> Request:
        """Prepares an all-to-all with counts in partitions, after MPI-4.

        Data for destination i has `sendpartitions[i]` equal parts (or `sendpartitions`, if a
        number), data from source i `recvpartitions[i]`. The two ends of an edge may have different
        numbers. After each start, mark every part once by `Request.pready`, from any thread.
        `Request.parrived` tells which have arrived. Strategies other than "direct" and
        "nearest-first" may delay a part until all parts of its message are ready. Otherwise as
        Neighbor_alltoallv_init.
        """
        return self._begin(
            "alltoallv", sendbuf, recvbuf, "persistent", strategy, settings,
            partitions=(sendpartitions, recvpartitions),
        )

    def Neighbor_alltoallw_init(
        self, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Request:
        """Prepares an all-to-all with a datatype for each neighbor.

        `sendbuf` and `recvbuf` are `[array, counts, displs, types]`, `[array, (counts, displs), types]` or
        `[array, types]` (counts 1, displacements 0). Displacements are in bytes. Otherwise as
        Neighbor_alltoall_init.
        """
        return self._begin("alltoallw", sendbuf, recvbuf, "persistent", strategy, settings)

    def Neighbor_allgather_init(
        self, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Request:
        """Prepares an allgather: `sendbuf` goes to all destinations, block i comes from source i.

        `sendbuf` is an array or `[array, count, type]`, ...; `recvbuf` is as for Neighbor_alltoall_init.
        Strategies forward a block through other ranks if that is faster. On a complete graph,
        `strategy` is any planner that `Settings.allgather` lists; the graph's `allgather` holds by
        default. Otherwise as Neighbor_alltoall_init.
        """
        return self._begin("allgather", sendbuf, recvbuf, "persistent", strategy, settings)

    def Neighbor_allgatherv_init(
        self, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
    ) -> Request:
        """Prepares an allgather with counts: `recvbuf` is as for Neighbor_alltoallv_init.

        Otherwise as Neighbor_allgather_init.
        """
        return self._begin("allgatherv", sendbuf, recvbuf, "persistent", strategy, settings)

    # --- blocking and nonblocking -----------------------------------------------------------------------
    #
    # They use the graph's settings, and take buffers as the persistent forms do. Ranks call in the
    # same order. A nonblocking call never waits for other ranks. A blocking alltoall or allgather
    # uses a plan. The first few other calls send one message per edge. See vicinal.h. An error
    # concerns one call, on the rank that failed and on ranks that depend on it. Later calls can
    # succeed.

    def Neighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """Runs an all-to-all as of Neighbor_alltoall_init."""
        self._begin("alltoall", sendbuf, recvbuf, "blocking").wait()

    def Ineighbor_alltoall(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begins a Neighbor_alltoall."""
        return self._begin("alltoall", sendbuf, recvbuf, "nonblocking")

    def Neighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Runs an all-to-all as of Neighbor_alltoallv_init."""
        self._begin("alltoallv", sendbuf, recvbuf, "blocking").wait()

    def Ineighbor_alltoallv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begins a Neighbor_alltoallv."""
        return self._begin("alltoallv", sendbuf, recvbuf, "nonblocking")

    def Neighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> None:
        """Runs an all-to-all as of Neighbor_alltoallw_init."""
        self._begin("alltoallw", sendbuf, recvbuf, "blocking").wait()

    def Ineighbor_alltoallw(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begins a Neighbor_alltoallw."""
        return self._begin("alltoallw", sendbuf, recvbuf, "nonblocking")

    def Neighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """Runs an allgather as of Neighbor_allgather_init."""
        self._begin("allgather", sendbuf, recvbuf, "blocking").wait()

    def Ineighbor_allgather(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begins a Neighbor_allgather."""
        return self._begin("allgather", sendbuf, recvbuf, "nonblocking")

    def Neighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """Runs an allgather as of Neighbor_allgatherv_init."""
        self._begin("allgatherv", sendbuf, recvbuf, "blocking").wait()

    def Ineighbor_allgatherv(self, sendbuf: Any, recvbuf: Any) -> Request:
        """Begins a Neighbor_allgatherv."""
        return self._begin("allgatherv", sendbuf, recvbuf, "nonblocking")

    def __repr__(self) -> str:
        return f"<vicinal.Graph: {len(self.sources)} sources, {len(self.destinations)} destinations>"
