"""Allgathers over a communicator, with mpi4py's names and buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._graph import Graph
from ._request import Request

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Unpack

    from ._settings import PlanSettings

# All are collective over `comm`.  The planner is what the environment variable VICINAL_ALLGATHER or the
# persistent forms' `allgather` says, or one chosen for the machine; regions are the communicator's default ones.
# The first call on a communicator, and the first after set_regions has changed the regions, makes its complete
# graph and so waits for the other ranks; later nonblocking ones never do.  Blocks of all sizes share one plan,
# which is made in the background; Allgatherv and Iallgatherv send one message per pair of ranks.  Raises
# vicinal.Error, also on ranks that are not at fault but depend on one that is.


def Allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Gather a block of each rank to all ranks: as `comm.Allgather(sendbuf, recvbuf)`.

    `sendbuf` is an array, `[array, count, type]`, ... or MPI.IN_PLACE; `recvbuf` divides equally among the
    ranks, or is given with the count of one block.
    """
    Graph.of_all(comm).Neighbor_allgather(sendbuf, recvbuf)


def Iallgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begin what Allgather does."""
    return Graph.of_all(comm).Ineighbor_allgather(sendbuf, recvbuf)


def Allgather_init(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, **settings: Unpack[PlanSettings]) -> Request:
    """Prepare what Allgather does once, to be started again and again."""
    return Graph.of_all(comm).Neighbor_allgather_init(sendbuf, recvbuf, **settings)


def Allgatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> None:
    """Gather blocks of different sizes: as `comm.Allgatherv(sendbuf, recvbuf)`.

    `recvbuf` is `[array, counts, displs, type]`, `[array, counts]`, ... with the same counts on all ranks.
    """
    Graph.of_all(comm).Neighbor_allgatherv(sendbuf, recvbuf)


def Iallgatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Request:
    """Begin what Allgatherv does."""
    return Graph.of_all(comm).Ineighbor_allgatherv(sendbuf, recvbuf)


def Allgatherv_init(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, **settings: Unpack[PlanSettings]) -> Request:
    """Prepare what Allgatherv does once, to be started again and again."""
    return Graph.of_all(comm).Neighbor_allgatherv_init(sendbuf, recvbuf, **settings)
