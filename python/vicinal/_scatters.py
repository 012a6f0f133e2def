"""What the command needs of the compiled module to time scatters on GPUs; programs have no use for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

from ._load import address_of_comm, native
from ._settings import given_settings

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
    """Who carries a scatter out."""

    def run(self, iterations: int, /) -> tuple[float, float]:
        """Seconds that each of so many scatters in a row takes, to begin and to end it."""

    def free(self) -> None:
        """Collective."""


class Vectors:
    """One rank's vectors of a scatter, on a GPU.

    This one has a part for each of `targets`, of which the values that lie `stride` apart go there.  `needed` are the `count` values from each of `sources`, by their numbers among those of all ranks' vectors; `first` is that of the
    first value here.
    """

    def __init__(
        self, comm: MPI.Comm, gpu: Gpu, sources: NDArray[Any], targets: NDArray[Any], count: int,
        stride: int, first: int, needed: NDArray[Any],
    ) -> None:
        self._vectors = native().ScatterVectors(address_of_comm(comm), gpu, sources, targets, count, stride, first, needed)

    def fill(self, round_: int) -> None:
        """Other values in each round; whatever arrived is spoiled."""
        self._vectors.fill(round_)

    def right(self, round_: int) -> bool:
        """Whether what has arrived is what should have."""
        right: bool = self._vectors.right(round_)
        return right

    def application(self, way: ApplicationWay) -> Contestant:
        """Of what the application stages itself, by MPI_Ineighbor_alltoallv, or one message to each; or, with whole vectors, of
        what the host packs of them.  Collective."""
        made: Contestant = self._vectors.application(way)
        return made

    def halo(self, **settings: Any) -> Contestant:
        """As a halo.  Collective."""
        made: Contestant = self._vectors.halo(given_settings(**settings))
        return made

    def copy(self) -> Contestant:
        """What arrives, copied on the GPU."""
        made: Contestant = self._vectors.copy()
        return made


def count_gpus() -> int:
    """How many this host has, as their driver says; an Error where there are none to be had."""
    return native().count_gpus()


def gpu(number: int) -> Gpu:
    """One of them."""
    made: Gpu = native().ApplicationGpu(number)
    return made
