"""Exchanges that update the ghosts of a vector in `vicinal spmv`: by vicinal, and by MPI alone.

A vector has the owned entries first and then the ghosts, in ascending order. So data from one owner
is contiguous, and messages arrive in place. The sent entries are gathered first, as in any program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Halo

from .process import COUNTED

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI

    Integers = npt.NDArray[np.int64]

MPI_OWN = "MPI_Neighbor_alltoallv"
BY_HAND = "by hand"
KINDS = ("vicinal", MPI_OWN, BY_HAND)
"""Kinds of calls for an exchange, each with its own cost in Python."""


class Sides:
    """Neighbors of a rank: the entries it sends to each, and the number of ghosts from each."""

    def __init__(
        self, sources: Integers, received: Integers, destinations: Integers, sent: Integers, places: Integers
    ) -> None:
        """`received` and `sent` are counts by source and destination.

        `places` are the positions of the entries sent, destination by destination.
        """
        self.sources, self.received = sources, received
        self.destinations, self.sent = destinations, sent
        self.places = places

    @staticmethod
    def empty() -> Sides:
        """The sides of a rank without neighbors."""
        none = np.empty(0, np.int64)
        return Sides(none, none, none, none, none)


class Planned:
    """An exchange by a strategy."""

    def __init__(self, halo: Halo, vector: npt.NDArray[Any]) -> None:
        self._halo, self._vector = halo, vector

    def run(self) -> None:
        self._halo.start(self._vector)
        self._halo.wait()

    def counts(self) -> list[int]:
        return [getattr(self._halo.statistics, name) for name in COUNTED]

    def free(self) -> None:
        """Does nothing: a halo is freed with the last reference to it."""


class _ByMpi:
    """Base of the two exchanges without vicinal: buffers, and each neighbor's part of them."""

    def __init__(self, sides: Sides, vector: npt.NDArray[Any], owned: int) -> None:
        self.sides, self._vector = sides, vector
        self.send = np.empty(len(sides.places), vector.dtype)
        self.ghosts = vector[owned:]
        bytes_each = vector.dtype.itemsize
        self.sent_bytes, self.send_starts = _in_bytes(sides.sent, bytes_each)
        self.received_bytes, self.receive_starts = _in_bytes(sides.received, bytes_each)

    def gather(self) -> None:
        # Places are valid. Any other mode makes NumPy gather into a temporary buffer first.
        self._vector.take(self.sides.places, out=self.send, mode="clip")

    def counts(self) -> list[int]:
        return [0] * len(COUNTED)


class Own(_ByMpi):
    """The MPI library's own neighborhood collective."""

    def __init__(self, comm: MPI.Intracomm, sides: Sides, vector: npt.NDArray[Any], owned: int) -> None:
        from mpi4py import MPI

        super().__init__(sides, vector, owned)
        self._graph = comm.Create_dist_graph_adjacent(
            sides.sources.tolist(), sides.destinations.tolist(), reorder=False
        )
        self._from: Any = [self.send, (self.sent_bytes, self.send_starts), MPI.BYTE]
        self._to: Any = [self.ghosts, (self.received_bytes, self.receive_starts), MPI.BYTE]

    def run(self) -> None:
        self.gather()
        self._graph.Neighbor_alltoallv(self._from, self._to)

    def free(self) -> None:
        self._graph.Free()


class ByHand(_ByMpi):
    """One message per neighbor, in requests set up once, as in a carefully written program.

    Two calls begin and complete all requests, so the cost of Python does not grow with the
    neighbors.
    """

    def __init__(self, comm: MPI.Intracomm, sides: Sides, vector: npt.NDArray[Any], owned: int) -> None:
        from mpi4py import MPI

        super().__init__(sides, vector, owned)
        self._start_all, self._wait_all = MPI.Prequest.Startall, MPI.Request.Waitall
        into, out = _pieces(self.ghosts, sides.received), _pieces(self.send, sides.sent)
        receives = [comm.Recv_init(part, int(rank)) for part, rank in zip(into, sides.sources, strict=True)]
        sends = [comm.Send_init(part, int(rank)) for part, rank in zip(out, sides.destinations, strict=True)]
        self._receives, self._sends = receives, sends
        self._all = [*receives, *sends]

    def run(self) -> None:
        self._start_all(self._receives)
        self.gather()
        self._start_all(self._sends)
        self._wait_all(self._all)

    def free(self) -> None:
        for request in self._all:
            request.Free()


def _in_bytes(counts: Integers, bytes_each: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Counts and displacements in bytes, in MPI's integer type, which mpi4py does not convert."""
    ends = np.cumsum(counts) * bytes_each
    if ends.size and ends[-1] > np.iinfo(np.int32).max:
        raise RuntimeError(
            f"this rank exchanges {ends[-1]} bytes, and {MPI_OWN} counts up to 2147483647; give more ranks"
        )
    return (counts * bytes_each).astype(np.int32), (ends - counts * bytes_each).astype(np.int32)


def _pieces(buffer: npt.NDArray[Any], counts: Integers) -> list[npt.NDArray[Any]]:
    return np.split(buffer, np.cumsum(counts)[:-1]) if len(counts) else []
