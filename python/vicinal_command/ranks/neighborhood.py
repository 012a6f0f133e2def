"""What the contestants of neighborhood collectives have in common, whatever they exchange."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from .process import COUNTED

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI


class OnlyExchanged:
    """One rank's side of a case whose exchanges alone are timed."""

    receive: npt.NDArray[Any]

    def delivered(self) -> bytes:
        """What has arrived."""
        return self.receive.tobytes()

    def compute(self) -> None:
        """What a program does between two exchanges, where that is timed too."""

    def right(self, round_: int) -> bool:
        """Whether what was computed is right."""
        del round_
        return True


class Side(OnlyExchanged):
    """The same in a neighborhood."""

    sources: npt.NDArray[Any]
    destinations: npt.NDArray[Any]


class Own(ABC):
    """The MPI library's own, on a graph of its own."""

    def __init__(self, comm: MPI.Intracomm, case: Side) -> None:
        self.graph = comm.Create_dist_graph_adjacent(
            case.sources.tolist(), case.destinations.tolist(), reorder=False
        )

    @abstractmethod
    def run(self) -> None:
        """One exchange, to its end."""

    def counts(self) -> list[int]:
        """Not known."""
        return [0] * len(COUNTED)

    def free(self) -> None:
        """Give back what it holds."""
        self.graph.Free()


class Planned:
    """A strategy's, as a persistent request."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def run(self) -> None:
        """One exchange, to its end."""
        self._request.start()
        self._request.wait()

    def counts(self) -> list[int]:
        """What one costs this rank."""
        return [getattr(self._request.statistics, name) for name in COUNTED]

    def free(self) -> None:
        """Give back what it holds."""
        self._request.free()
