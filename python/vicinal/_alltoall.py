"""Alltoalls with counts over a communicator, with mpi4py's names and buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._graph import Graph
from ._request import Request

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Unpack

    from ._settings import PlanSettings

# All are collective over `comm`, and go by its complete graph, as the allgathers do: what is said there of regions and of
# the first call holds here.  The persistent form plans for its counts, by the planner that the environment variable
# VICINAL_STRATEGY or its `strategy` says: beside those of neighborhoods "tuna" and "tuna-hierarchical", which store and
# forward with the setting `radix`.  The other forms send one message per pair of ranks until they have been called again
# and again.  Raises vicinal.Error, also on ranks that are not at fault but depend on one that is.


def Alltoallv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Send a block of its own size to each rank: as `comm.Alltoallv(sendbuf, recvbuf)`.

    `sendbuf` and `recvbuf` are `[array, counts, displs, type]`, `[array, (counts, displs)]`, `[array, counts]`, ...
    with an entry for each rank, in elements.  `sendbuf` may be MPI.IN_PLACE: then what lies in each block of
    `recvbuf` is sent to the rank from which that block comes.
    """
    Graph.of_all(comm).Neighbor_alltoallv(sendbuf, recvbuf)


def Ialltoallv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begin what Alltoallv does.  Of what is sent in place a copy is taken here."""
    return Graph.of_all(comm).Ineighbor_alltoallv(sendbuf, recvbuf)


def Alltoallv_init(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, **settings: Unpack[PlanSettings]) -> Request:
    """Prepare what Alltoallv does once, to be started again and again.

    Of what is sent in place a copy is taken by each start.
    """
    return Graph.of_all(comm).Neighbor_alltoallv_init(sendbuf, recvbuf, **settings)
