"""Shared parts of the contestants of neighborhood collectives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from vicinal_command.ranks.process import COUNTED

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI


class OnlyExchanged:
    """One rank's side of a case in which only exchanges are timed."""

    receive: npt.NDArray[Any]

    def delivered(self) -> bytes:
        """The received data."""
        return self.receive.tobytes()

    def compute(self) -> None:
        """Does nothing: there is no work between two exchanges."""

    def right(self, round_: int) -> bool:
        """Returns true: there is no computed result."""
        del round_
        return True


class Side(OnlyExchanged):
    """One rank's side of a case in a neighborhood."""

    sources: npt.NDArray[Any]
    destinations: npt.NDArray[Any]


class Own(ABC):
    """The MPI library's own collective, on a graph of its own."""

    def __init__(self, comm: MPI.Intracomm, case: Side) -> None:
        self.graph = comm.Create_dist_graph_adjacent(
            case.sources.tolist(), case.destinations.tolist(), reorder=False
        )

    @abstractmethod
    def run(self) -> None:
        """Runs one exchange to completion."""

    def counts(self) -> list[int]:
        """Zeros: the counts are unknown."""
        return [0] * len(COUNTED)

    def free(self) -> None:
        """Frees the graph."""
        self.graph.Free()


class Planned:
    """An exchange by a strategy, as a persistent request."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def run(self) -> None:
        """Runs one exchange to completion."""
        self._request.start()
        self._request.wait()

    def counts(self) -> list[int]:
        """Counts of one exchange on this rank."""
        return [getattr(self._request.statistics, name) for name in COUNTED]

    def free(self) -> None:
        """Frees the request."""
        self._request.free()
