"""Access to the compiled benchmark of scatters on GPUs, for the command only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ._load import address_of_comm, native
from ._settings import HALO, Settings, info_keys

if TYPE_CHECKING:
    from mpi4py import MPI
    from numpy.typing import NDArray


ApplicationWay = Literal["collective", "point to point", "whole vectors"]


class Gpu(Protocol):
    """One of this host's GPUs, as an application has it."""

    name: str
    driver: str
    """CUDA or HIP."""
    kernels: str
    """precompiled, compiled at run time, or none."""


class Contestant(Protocol):
    """An implementation of a scatter, compared with others."""

    def run(self, iterations: int, /) -> tuple[float, float]:
        """Runs scatters in a row. Returns the mean seconds to begin and to end one."""

    def free(self) -> None:
        """Collective."""


class Vectors:
    """One rank's vectors of a scatter, on a GPU.

    The vector has one part for each of `targets`. From each part it sends the values that lie
    `stride` apart. `needed` are the global numbers of the `count` values from each of `sources`.
    `first` is the global number of this vector's first value.
    """

    def __init__(
        self, comm: MPI.Comm, gpu: Gpu, sources: NDArray[Any], targets: NDArray[Any], count: int,
        stride: int, first: int, needed: NDArray[Any],
    ) -> None:
        self._vectors = native().ScatterVectors(address_of_comm(comm), gpu, sources, targets, count, stride, first, needed)

    def fill(self, round_: int) -> None:
        """Sets the vector to the values of a round, and overwrites the received values."""
        self._vectors.fill(round_)

    def right(self, round_: int) -> bool:
        """Returns whether the received values are the expected ones."""
        right: bool = self._vectors.right(round_)
        return right

    def application(self, way: ApplicationWay) -> Contestant:
        """An application that stages its data itself. Collective.

        It sends by MPI_Ineighbor_alltoallv, or by one message to each target. With whole vectors,
        the host packs.
        """
        made: Contestant = self._vectors.application(way)
        return made

    def halo(self, settings: Settings | None = None) -> Contestant:
        """A halo. Collective."""
        made: Contestant = self._vectors.halo(info_keys(HALO, None, settings))
        return made

    def copy(self) -> Contestant:
        """A copy of the expected values on the GPU."""
        made: Contestant = self._vectors.copy()
        return made


def count_gpus() -> int:
    """Number of GPUs of this host, from their driver. Raises Error if there is none."""
    return native().count_gpus()


def gpu(number: int) -> Gpu:
    """Returns the GPU with this number."""
    made: Gpu = native().ApplicationGpu(number)
    return made
