"""The types that users see and that are no classes of their own at run time, or only records."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray


class Statistics(NamedTuple):
    """What one execution costs this rank, in messages and elements (indices, or bytes of a neighborhood collective)."""

    nonlocal_messages: int
    """Sent to other regions."""
    nonlocal_elements: int
    local_messages: int
    """Sent inside the region."""
    local_elements: int
    shared_elements: int
    """Copied into or out of shared memory."""
    copied_elements: int
    """Copied or combined within this rank's own memory."""
    shared_memory: str
    """Why messages are used between ranks of this node that could share memory; empty where all of them do."""


class Exchange(Protocol):
    """An exchange of a halo that has been started.  Local; not to be used by two threads at once."""

    def test(self) -> bool:
        """Whether it is complete.  Progresses all others too."""

    def wait(self, stream: Any = None) -> NDArray[Any]:
        """Wait until it is complete, progressing all others too.

        Returns what was filled: the ghosts, or for a reverse exchange the owned values.  May be called
        again, and returns the same then.

        With a `stream` of a GPU, what is put on the stream from now on comes after the exchange, and it is not waited for:
        not what the GPU has still to do with what has come, and where MPI was initialised for several threads, as mpi4py does,
        none of it.  Until then the arrays may be used on the stream only.  A fault in this is raised by a later start.
        For the first two exchanges of each place in flight this process waits all the same, and raises their faults (VICINAL_STREAM_AFTER).  docs/gpu.md says how many streams may
        wait so at once, and what must not be done beside one.
        """


class NativeHalo(Protocol):
    """A halo of the compiled module; `Halo` documents what its methods do."""

    in_flight: int
    owned_count: int
    ghost_count: int
    strategy: str

    def start(self, x: Any, ghosts: Any, stream: Any) -> Exchange: ...
    def start_reverse(self, x: Any, ghosts: Any, op: Any, stream: Any) -> Exchange: ...
    def persistent(self, x: Any, ghosts: Any, op: Any) -> NativeRequest: ...
    def wait_idle(self, reverse: bool) -> None: ...
    def wait(self, stream: Any) -> Any: ...
    def free(self) -> None: ...
    def send_map(self) -> dict[int, NDArray[Any]]: ...
    def receive_map(self) -> dict[int, NDArray[Any]]: ...
    def counts(self) -> tuple[int, int, int, int, int, int, str]: ...
    def text(self) -> str: ...


class NativeGraph(Protocol):
    """A graph of the compiled module."""

    def is_complete(self) -> bool: ...
    def sources(self) -> NDArray[Any]: ...
    def destinations(self) -> NDArray[Any]: ...


class NativeRequest(Protocol):
    """A request of the compiled module, persistent or of a nonblocking call."""

    strategy: str

    def start(self, stream: Any) -> None: ...
    def test(self) -> bool: ...
    def wait(self, stream: Any) -> None: ...
    def free(self) -> None: ...
    def mark_ready(self, neighbor: int, first: int, last: int) -> None: ...
    def has_arrived(self, neighbor: int, partition: int) -> bool: ...
    def counts(self) -> tuple[int, int, int, int, int, int, str]: ...
    def text(self) -> str: ...


Fault = tuple[str, str]
"""An error's kind and message, on its way to where all ranks learn of it."""


class NativeQuery(Protocol):
    """Requests of a sparse query that wait for their answers."""

    def requests(self) -> Any: ...
    def answer(self, arrays: list[NDArray[Any]], type: int, fault: Fault | None) -> Any: ...


class Native(Protocol):
    """The compiled module for one kind of MPI."""

    def make_halo(
        self, comm: int, owned: Any, needed: Any, owners: Any, settings: dict[str, str], fault: Fault | None
    ) -> NativeHalo: ...
    def make_graph(
        self, comm: int, sources: Any, destinations: Any, settings: dict[str, str], fault: Fault | None
    ) -> NativeGraph: ...
    def make_graph_from_topology(self, comm: int, settings: dict[str, str], fault: Fault | None) -> NativeGraph: ...
    def make_graph_from_one_side(
        self, are_sources: bool, comm: int, known: Any, settings: dict[str, str], fault: Fault | None
    ) -> NativeGraph: ...
    def make_complete_graph(self, comm: int, settings: dict[str, str], fault: Fault | None) -> NativeGraph: ...
    def kept_complete_graph(self, comm: int) -> NativeGraph: ...
    def neighbor(
        self, graph: NativeGraph, collective: str,
        sendbuf: Any, sendcounts: Any, senddispls: Any, sendtypes: list[Any],
        recvbuf: Any, recvcounts: Any, recvdispls: Any, recvtypes: list[Any],
        in_place: bool, items: Any, sendpartitions: Any, recvpartitions: Any,
        settings: dict[str, str] | None, blocking: bool, fault: Fault | None,
    ) -> NativeRequest: ...
    def sparse_exchange(
        self, comm: int, ranks: Any, arrays: list[NDArray[Any]], type: int,
        settings: dict[str, str], fault: Fault | None,
    ) -> Any: ...
    def Query(
        self, comm: int, ranks: Any, arrays: list[NDArray[Any]], type: int,
        settings: dict[str, str], fault: Fault | None,
    ) -> NativeQuery: ...
    Pending: type
    def wait_any(self, pending: list[Any]) -> int | None: ...
    def set_regions(self, comm: int, text: str) -> None: ...
    def get_regions(self, comm: int) -> NDArray[Any]: ...
    def progress(self) -> None: ...
    def Calibrator(self, comm: int, regions: str) -> Any: ...
    def Effort(self, repetitions: int, seconds: float) -> Any: ...
    def count_gpus(self) -> int: ...
    def ApplicationGpu(self, number: int) -> Any: ...
    def ScatterVectors(
        self, comm: int, gpu: Any, sources: Any, targets: Any, count: int, stride: int, first: int, needed: Any
    ) -> Any: ...
    def stop_threads(self) -> None: ...
    def dump(self) -> None: ...
