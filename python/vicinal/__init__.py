"""vicinal: communication among ranks that talk to a few others, planned once and run many times.

    halo = vicinal.Halo(comm, owned=(first, last), needed=indices)
    exchange = halo.start(x)
    ...                       # computation that needs no ghosts
    ghosts = exchange.wait()

Importing this package needs neither MPI nor mpi4py. Creating a Halo or a Graph needs both.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._allgather import Allgather, Allgather_init, Allgatherv, Allgatherv_init, Iallgather, Iallgatherv
from ._alltoall import Alltoallv, Alltoallv_init, Ialltoallv
from ._arrays import shown
from ._errors import Error
from ._graph import Graph
from ._halo import Halo
from ._load import address_of_comm, is_loaded, native
from ._request import Request
from ._settings import Settings, text_of
from ._sparse import sparse_exchange, sparse_query
from ._types import Exchange, Statistics

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "Allgather",
    "Allgather_init",
    "Allgatherv",
    "Allgatherv_init",
    "Alltoallv",
    "Alltoallv_init",
    "Error",
    "Exchange",
    "Graph",
    "Halo",
    "Iallgather",
    "Iallgatherv",
    "Ialltoallv",
    "Request",
    "Settings",
    "Statistics",
    "dump",
    "get_regions",
    "progress",
    "set_regions",
    "sparse_exchange",
    "sparse_query",
    "wait_any",
]


def wait_any(pending: Sequence[Exchange | Request]) -> int | None:
    """Waits until one of several exchanges and requests in flight is complete.

    Returns its position, or None if none is in flight. Exchanges and requests that were found
    complete before are skipped. Raises vicinal.Error if the one found has failed.
    """
    if not isinstance(pending, Iterable):
        raise TypeError(f"pending is {shown(pending)}; give a list of exchanges and requests")
    module = native()
    given = [getattr(each, "_request", each) for each in pending]
    for each in given:
        if not isinstance(each, (module.Pending, type(None))):
            raise TypeError(f"an entry of pending is {shown(each)}; give what start has returned, and requests of vicinal")
    return module.wait_any(given)


def progress() -> None:
    """Progresses every exchange of the process.

    Call it from long computations if other ranks may depend on this one to relay their data.
    """
    if is_loaded():
        native().progress()


def dump() -> None:
    """Writes to standard error what each exchange in flight waits for, to diagnose a hang."""
    if is_loaded():
        native().dump()


def set_regions(comm: MPI.Comm, regions: str | Sequence[int]) -> None:
    """Sets the default regions of a communicator, for halos and graphs created later.

    `regions` is a text ("node", "numa", "blocks:K", "round-robin:N", "list:0,0,1,...") or a label
    for each rank. It must be the same on all ranks. Local, but collective if it is the first use of
    the communicator.
    """
    if regions is None:
        raise TypeError("regions is None; give a text, such as 'node', or a label for each rank")
    native().set_regions(address_of_comm(comm), text_of("regions", regions))


def get_regions(comm: MPI.Comm) -> NDArray[np.int32]:
    """Returns the region of each rank. Collective if it is the first use of the communicator."""
    return native().get_regions(address_of_comm(comm))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("vicinal._core").__version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
