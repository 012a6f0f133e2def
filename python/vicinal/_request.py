"""Requests of a graph's collectives and of halos, which can be started, tested and awaited."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._types import NativeRequest, Statistics

if TYPE_CHECKING:
    from typing_extensions import Self


class Request:
    """A neighborhood collective, persistent or nonblocking, or a persistent exchange of a halo.

    All methods are local. A request keeps its buffers alive. The request of a nonblocking call is
    in flight from the beginning, and cannot be started again.
    """

    __slots__ = ("_request",)

    def __init__(self, request: NativeRequest) -> None:
        self._request = request

    def start(self) -> None:
        """Begins an execution. Never waits for other ranks.

        Raises vicinal.Error if one is in flight. Until completion, the send buffer must not be
        changed nor the receive buffer used.
        """
        self._request.start()

    def test(self) -> bool:
        """Returns whether it is complete, or none is in flight. Progresses all exchanges."""
        return self._request.test()

    def wait(self, *, stream: Any = None) -> None:
        """Waits until the execution is complete, and progresses all exchanges.

        With a `stream` of a GPU, later work on it runs after the execution. The process does not
        wait for the GPU's remaining work (see `Exchange.wait`).
        """
        self._request.wait(stream)

    def pready(self, neighbor: int, partition: int) -> None:
        """Marks a partition for destination `neighbor` of the graph as ready to be sent.

        Call it once for each partition after each start, in any order and from any threads, even
        while another thread waits. Raises vicinal.Error if the partition does not exist or is
        already marked, or if nothing is in flight.
        """
        self._request.mark_ready(neighbor, partition, partition)

    def pready_range(self, neighbor: int, first: int, last: int) -> None:
        """Marks the partitions `first` to `last`, both included, as pready does."""
        self._request.mark_ready(neighbor, first, last)

    def parrived(self, neighbor: int, partition: int) -> bool:
        """Returns whether a partition from source `neighbor` may be read.

        Progresses all exchanges if it may not.
        """
        return self._request.has_arrived(neighbor, partition)

    def free(self) -> None:
        """Waits for an execution in flight and frees the request, as dropping it does."""
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
        """Costs of one execution of a persistent request on this rank, in bytes."""
        return Statistics(*self._request.counts())

    @property
    def strategy(self) -> str:
        """Name of a persistent request's planner."""
        return self._request.strategy

    def describe(self) -> str:
        """Returns this rank's plan for a persistent request, as text."""
        return self._request.text()
