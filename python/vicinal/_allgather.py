"""Allgathers over a communicator, with mpi4py's names and buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._graph import Graph
from ._request import Request

if TYPE_CHECKING:
    from mpi4py import MPI

    from ._settings import Settings

# All functions are collective over `comm`. The environment variable VICINAL_ALLGATHER names the
# planner, or else `strategy` of the persistent forms; the default chooses for the machine. Regions
# are the default regions of the communicator. The first call on a communicator creates its complete
# graph and waits for the other ranks. So does the first call after set_regions has changed the
# regions. Later nonblocking calls never wait. Blocks of all sizes share one plan, made in the
# background. Allgatherv and Iallgatherv send one message per pair of ranks. All raise vicinal.Error
# on a rank that failed, and on ranks that depend on it.


def Allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Gathers a block of each rank to all ranks, as `comm.Allgather(sendbuf, recvbuf)`.

    `sendbuf` is an array, `[array, count, type]`, ... or MPI.IN_PLACE. `recvbuf` divides equally
    among the ranks, or is given with the count of one block.
    """
    Graph.of_all(comm).Neighbor_allgather(sendbuf, recvbuf)


def Iallgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begins an Allgather."""
    return Graph.of_all(comm).Ineighbor_allgather(sendbuf, recvbuf)


def Allgather_init(
    comm: MPI.Comm, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
) -> Request:
    """Prepares an Allgather that can be started any number of times.

    `strategy` is any planner that `Settings.allgather` lists.
    """
    return Graph.of_all(comm).Neighbor_allgather_init(sendbuf, recvbuf, strategy=strategy, settings=settings)


def Allgatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Gathers blocks of different sizes, as `comm.Allgatherv(sendbuf, recvbuf)`.

    `recvbuf` is `[array, counts, displs, type]`, `[array, counts]`, ... with the same counts on all ranks.
    """
    Graph.of_all(comm).Neighbor_allgatherv(sendbuf, recvbuf)


def Iallgatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begins an Allgatherv."""
    return Graph.of_all(comm).Ineighbor_allgatherv(sendbuf, recvbuf)


def Allgatherv_init(
    comm: MPI.Comm, sendbuf: Any, recvbuf: Any, *, strategy: str | None = None, settings: Settings | None = None
) -> Request:
    """Prepares an Allgatherv that can be started any number of times.

    `strategy` is as for Allgather_init.
    """
    return Graph.of_all(comm).Neighbor_allgatherv_init(sendbuf, recvbuf, strategy=strategy, settings=settings)
