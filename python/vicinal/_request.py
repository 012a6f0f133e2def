"""What a graph's collectives give back: requests that can be started, tested and awaited."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._types import NativeRequest, Statistics

if TYPE_CHECKING:
    from typing_extensions import Self


class Request:
    """A neighborhood collective, persistent or nonblocking, or a persistent exchange of a halo.

    Everything is local; the buffers are kept alive.  That of a nonblocking call is in flight from the
    beginning, and cannot be started again.
    """

    __slots__ = ("_request",)

    def __init__(self, request: NativeRequest) -> None:
        self._request = request

    def start(self) -> None:
        """Begin an execution; never waits for other ranks.  Raises vicinal.Error where one is in flight.

        Until it is complete, the send buffer must not be changed nor the receive buffer used.
        """
        self._request.start()

    def test(self) -> bool:
        """Whether the execution is complete, or none is in flight.  Progresses all others too."""
        return self._request.test()

    def wait(self, *, stream: Any = None) -> None:
        """Wait until the execution is complete, progressing all others too.

        With a `stream` of a GPU, what is put on the stream from now on comes after the execution, and what the GPU has
        still to do is not waited for (see `Exchange.wait`).
        """
        self._request.wait(stream)

    def pready(self, neighbor: int, partition: int) -> None:
        """Mark a partition of what goes to destination `neighbor` of the graph as ready to be sent.

        To be called once for each partition after each start, in any order and from any threads, also while
        another one waits.  Raises vicinal.Error where there is no such partition, it has been marked already, or
        nothing is in flight.
        """
        self._request.mark_ready(neighbor, partition, partition)

    def pready_range(self, neighbor: int, first: int, last: int) -> None:
        """Mark the partitions `first` to `last`, both included, as pready."""
        self._request.mark_ready(neighbor, first, last)

    def parrived(self, neighbor: int, partition: int) -> bool:
        """Whether a partition of what comes from source `neighbor` may be read.  Progresses all exchanges if not."""
        return self._request.has_arrived(neighbor, partition)

    def free(self) -> None:
        """Wait for an execution in flight and give everything back.  Also happens when it is dropped."""
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
        """What one execution of a persistent request costs this rank, in bytes."""
        return Statistics(*self._request.counts())

    @property
    def strategy(self) -> str:
        """The name of a persistent request's planner."""
        return self._request.strategy

    def describe(self) -> str:
        """This rank's plan for a persistent request, as text."""
        return self._request.text()
