"""What the command needs of the compiled module to measure a machine; programs have no use for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ._load import address_of_comm, native

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray

Pair = tuple[int, int]


class Calibrator(Protocol):
    """Measures among the ranks of a communicator; src/choose/calibrate.hpp says what each function does.

    All but `level`, `hosts` and `gpus` are collective.  Samples are in seconds, repetition after repetition, and empty on
    ranks that have none.
    """

    def level(self, one: int, other: int, /) -> str: ...
    def hosts(self) -> list[int]: ...
    def one_way(
        self, pair: Pair, sizes: list[int], effort: Any, of_gpu: bool, others_wait: bool, /
    ) -> NDArray[Any]: ...
    def eager_limit(self, pair: Pair, largest: int, of_gpu: bool, /) -> int: ...
    def sends(
        self, pair: Pair, bytes: int, counts: list[int], effort: Any, of_gpu: bool, /
    ) -> NDArray[Any]: ...
    def receives(
        self, pair: Pair, bytes: int, counts: list[int], effort: Any, of_gpu: bool, /
    ) -> NDArray[Any]: ...
    def together(self, pairs: list[Pair], bytes: int, effort: Any, /) -> NDArray[Any]: ...
    def all_at_once(self, level: str, messages: int, bytes: int, effort: Any, /) -> NDArray[Any]: ...
    def queued(self, pair: Pair, third: int, counts: list[int], effort: Any, /) -> NDArray[Any]: ...
    def handover(self, pair: Pair, effort: Any, /) -> NDArray[Any]: ...
    def copy(self, pair: Pair, bytes: int, effort: Any, /) -> NDArray[Any]: ...
    def device(self, sizes: list[int], effort: Any, /) -> NDArray[Any]: ...
    def device_peer(self, pair: Pair, sizes: list[int], effort: Any, /) -> NDArray[Any]: ...
    def gpus(self) -> tuple[str, int, bool, bool]: ...
    def unit(self, effort: Any, /) -> NDArray[Any]: ...
    def paces(self, effort: Any, /) -> NDArray[Any]: ...


def calibrator(comm: MPI.Comm, regions: str) -> Calibrator:
    """One for the ranks of `comm`.  Collective."""
    made: Calibrator = native().Calibrator(address_of_comm(comm), regions)
    return made


def effort(repetitions: int, seconds: float) -> Any:
    """How often something is measured, and for how long each time, about."""
    return native().Effort(repetitions, seconds)
