"""Graphs, and persistent neighborhood all-to-alls on them, with mpi4py's names and buffers."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import read_indices, read_ranks
from ._buffers import Side, read_side
from ._errors import Error
from ._load import address_of_comm, native
from ._settings import given_settings
from ._types import Fault, NativeRequest, Statistics

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Self


class Request:
    """A persistent all-to-all.  Everything is local; the buffers are kept alive."""

    __slots__ = ("_request",)

    def __init__(self, request: NativeRequest) -> None:
        self._request = request

    def start(self) -> None:
        """Begin an execution; never waits for other ranks.  Raises vicinal.Error where one is in flight.

        Until it is complete, the send buffer must not be changed nor the receive buffer used.
        """
        self._request.start()

    def test(self) -> bool:
        """Whether the execution is complete, or none is in flight.  Progresses this one only."""
        return self._request.test()

    def wait(self) -> None:
        """Wait until the execution is complete, progressing all others too."""
        self._request.wait()

    def free(self) -> None:
        """Wait for an execution in flight and give everything back.  Also happens when it is dropped."""
        self._request.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.free()

    @property
    def statistics(self) -> Statistics:
        """What one execution costs this rank, in bytes."""
        return Statistics(*self._request.counts())

    @property
    def strategy(self) -> str:
        """The name of the planner."""
        return self._request.strategy

    def describe(self) -> str:
        """This rank's plan, as text."""
        return self._request.text()


class Graph:
    """Who talks to whom on a communicator.

    Parameters
    ----------
    comm
        An mpi4py communicator.  It may be freed before the graph.
    sources, destinations
        The ranks that this rank receives from and sends to, as for MPI_Dist_graph_create_adjacent.
        They may repeat (the k-th edge from p to q at p is the k-th from p to q at q), and may be the
        rank itself.  Ranks are never reordered.
    strategy, regions, local, split_bytes, leader_shift
        As for Halo; `strategy` may also be "common-neighbor".
    group_size
        The most ranks of a group of the strategy "common-neighbor" (default 0: as many as a cost model
        finds best).

    Collective over `comm`: the first graph on a communicator duplicates it, finds out where its ranks
    live and sets up shared memory; later ones take an allreduce and a few words inside each region.
    Raises vicinal.Error on every rank where an argument of any cannot be read.
    """

    __slots__ = ("_destinations", "_graph", "_module", "_settings", "_sources")

    def __init__(
        self,
        comm: MPI.Comm,
        sources: ArrayLike,
        destinations: ArrayLike,
        *,
        strategy: str | None = None,
        regions: str | Sequence[int] | None = None,
        local: str | None = None,
        split_bytes: int | None = None,
        leader_shift: int | None = None,
        group_size: int | None = None,
    ) -> None:
        self._module, address = native(), address_of_comm(comm)
        self._settings: dict[str, str] = {}
        self._sources = self._destinations = np.empty(0, np.int32)
        fault: Fault | None = None
        try:
            self._sources = self._read(comm, sources, "sources")
            self._destinations = self._read(comm, destinations, "destinations")
            self._settings = given_settings(
                strategy=strategy, regions=regions, local=local,
                split_bytes=split_bytes, leader_shift=leader_shift, group_size=group_size,
            )
        except Error as error:  # raised where all ranks meet, so that the others learn of it
            fault = (error.kind, str(error))
        except (TypeError, ValueError) as error:
            fault = ("argument", str(error))
        self._graph = self._module.make_graph(
            address, self._sources, self._destinations, self._settings, fault
        )

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
        return self._sources.copy()

    @property
    def destinations(self) -> NDArray[np.int32]:
        """The ranks that this rank sends to."""
        return self._destinations.copy()

    def Neighbor_alltoallv_init(
        self,
        sendbuf: Any,
        recvbuf: Any,
        items: ArrayLike | None = None,
        *,
        strategy: str | None = None,
        local: str | None = None,
        split_bytes: int | None = None,
        leader_shift: int | None = None,
        group_size: int | None = None,
    ) -> Request:
        """Prepare an all-to-all along the graph's edges.

        `sendbuf` and `recvbuf` are buffer specifications as for mpi4py: `[array, counts, displs, type]`,
        `[array, (counts, displs), type]`, `[array, counts]`, ...; counts and displacements are in
        elements, an entry for each edge.  Send regions may overlap each other, receive regions must
        not.  The settings are the graph's where they are not given.

        `items` gives an identity, not negative, for each element sent, edge after edge: elements of one
        rank with the same identity must have equal values whenever the request is started; they travel
        once where the planner can share them.

        Collective over the ranks that have neighbours.  Raises vicinal.Error on the rank at fault and on
        those that communicate with it.
        """
        settings = dict(self._settings)
        send, receive = Side(), Side()
        identities: NDArray[np.int64] | None = None
        fault: Fault | None = None
        try:
            settings |= given_settings(
                strategy=strategy, local=local, split_bytes=split_bytes, leader_shift=leader_shift,
                group_size=group_size,
            )
            send = read_side(sendbuf, len(self._destinations), "sendbuf")
            receive = read_side(recvbuf, len(self._sources), "recvbuf")
            identities = None if items is None else read_indices(items, "items")
        except Error as error:  # told to the neighbours, who are waiting for this rank
            fault = (error.kind, str(error))
        except (TypeError, ValueError) as error:
            fault = ("argument", str(error))
        request = self._module.alltoallv_init(
            self._graph,
            send.buffer, send.counts, send.displacements, send.datatype,
            receive.buffer, receive.counts, receive.displacements, receive.datatype,
            identities, settings, fault,
        )
        return Request(request)

    def __repr__(self) -> str:
        return f"<vicinal.Graph: {len(self._sources)} sources, {len(self._destinations)} destinations>"
