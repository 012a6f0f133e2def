"""Alltoalls with counts over a communicator, with mpi4py's names and buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._graph import Graph
from ._request import Request

if TYPE_CHECKING:
    from mpi4py import MPI

    from ._settings import Settings

# All functions are collective over `comm` and use its complete graph. The notes in _allgather.py on
# regions and the first call hold here, too. The persistent form makes a plan for its counts. The
# environment variable VICINAL_STRATEGY names its planner, or else its `strategy`. Besides the
# planners of neighborhoods there are "tuna" and "tuna-hierarchical", which store and forward with
# the setting `radix`. The other forms send one message per pair of ranks until they are called
# repeatedly. All raise vicinal.Error on a rank that failed, and on ranks that depend on it.


def Alltoallv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Sends a block of its own size to each rank, as `comm.Alltoallv(sendbuf, recvbuf)`.

    `sendbuf` and `recvbuf` are `[array, counts, displs, type]`, `[array, (counts, displs)]`,
    `[array, counts]`, ... with an entry for each rank, in elements. `sendbuf` may be MPI.IN_PLACE:
    then the data in each block of `recvbuf` is sent to the rank that fills the block.
    """
    Graph.of_all(comm).Neighbor_alltoallv(sendbuf, recvbuf)


def Ialltoallv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begins an Alltoallv. Data sent in place is copied before it returns."""
    return Graph.of_all(comm).Ineighbor_alltoallv(sendbuf, recvbuf)


def Alltoallv_init(
    comm: MPI.Comm, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
) -> Request:
    """Prepares an Alltoallv that can be started any number of times.

    Each start copies data that is sent in place.
    """
    return Graph.of_all(comm).Neighbor_alltoallv_init(sendbuf, recvbuf, strategy=strategy, settings=settings)
