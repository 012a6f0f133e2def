"""How one rank of `vicinal spmv` brings the ghosts of its vector up to date: by vicinal, and by MPI alone.

A vector has the owned entries first and the ghosts behind them, in ascending order, so that what comes from one
owner lies together; messages arrive in their place.  What is sent is gathered first, as in any program.
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
"""The ways to call for an exchange, each with a cost of its own in Python."""


class Sides:
    """Whom a rank sends which of its entries, and from whom it receives how many ghosts."""

    def __init__(
        self, sources: Integers, received: Integers, destinations: Integers, sent: Integers, places: Integers
    ) -> None:
        """Counts are by source and destination; `places` are those of the entries sent, destination by
        destination."""
        self.sources, self.received = sources, received
        self.destinations, self.sent = destinations, sent
        self.places = places

    @staticmethod
    def empty() -> Sides:
        """Those of a rank that has no neighbours."""
        none = np.empty(0, np.int64)
        return Sides(none, none, none, none, none)


class Planned:
    """A strategy's."""

    def __init__(self, halo: Halo, vector: npt.NDArray[Any]) -> None:
        self._halo, self._vector = halo, vector

    def run(self) -> None:
        self._halo.start(self._vector)
        self._halo.wait()

    def counts(self) -> list[int]:
        return [getattr(self._halo.statistics, name) for name in COUNTED]

    def free(self) -> None:
        """Halos go with the last reference to them."""


class _ByMpi:
    """What the two without vicinal have in common: buffers, and where each neighbour's part of them is."""

    def __init__(self, sides: Sides, vector: npt.NDArray[Any], owned: int) -> None:
        self.sides, self._vector = sides, vector
        self.send = np.empty(len(sides.places), vector.dtype)
        self.ghosts = vector[owned:]
        bytes_each = vector.dtype.itemsize
        self.sent_bytes, self.send_starts = _in_bytes(sides.sent, bytes_each)
        self.received_bytes, self.receive_starts = _in_bytes(sides.received, bytes_each)

    def gather(self) -> None:
        # Places are right; with any other mode NumPy would gather into a buffer of its own first.
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
    """A message for each neighbour, in requests that are set up once: what a program would do that is written with care.

    Begun and waited for in two calls, so that Python costs no more with more neighbours than a compiled program.
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
    """Counts and where they start, as MPI's integers, which mpi4py then takes as they are."""
    ends = np.cumsum(counts) * bytes_each
    if ends.size and ends[-1] > np.iinfo(np.int32).max:
        raise RuntimeError(
            f"this rank exchanges {ends[-1]} bytes, and {MPI_OWN} counts up to 2147483647; give more ranks"
        )
    return (counts * bytes_each).astype(np.int32), (ends - counts * bytes_each).astype(np.int32)


def _pieces(buffer: npt.NDArray[Any], counts: Integers) -> list[npt.NDArray[Any]]:
    return np.split(buffer, np.cumsum(counts)[:-1]) if len(counts) else []
