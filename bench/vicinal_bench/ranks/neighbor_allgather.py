"""Program of one rank of `vicinal bench neighbor-allgather` (benchmarks/neighbor_allgather.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Graph, Settings
from vicinal_command.ranks.process import Exchange, RankProcess, run

from .competition import compete
from .neighborhood import Own, Planned, Side

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI


class OwnAllgather(Own):
    """The MPI library's own neighborhood allgather."""

    def __init__(self, comm: MPI.Intracomm, case: Blocks) -> None:
        from mpi4py import MPI

        super().__init__(comm, case)
        # For a rank without sources, mpi4py would give 0 as the length of a received block. Open
        # MPI then sends nothing from this rank, and its destinations wait forever.
        self._send: Any = [case.send, case.send.nbytes, MPI.BYTE]
        self._receive: Any = [case.receive, case.send.nbytes, MPI.BYTE]

    def run(self) -> None:
        self.graph.Neighbor_allgather(self._send, self._receive)


def _planned(comm: MPI.Intracomm, case: Blocks, strategy: str, regions: str) -> Planned:
    graph = Graph(comm, case.sources, case.destinations, strategy=strategy, settings=Settings(regions=regions))
    return Planned(graph.Neighbor_allgather_init(case.send, case.receive))


class Blocks(Side):
    """One rank's side of a case: neighbors, own block, and room for the blocks of its sources."""

    def __init__(self, process: RankProcess, number: int) -> None:
        rank = process.comm.rank

        def neighbours(side: str) -> npt.NDArray[np.int64]:
            first, end = process.load(f"{number}-{side}_starts")[rank : rank + 2]
            return np.array(process.load(f"{number}-{side}")[first:end])

        self.rank = rank
        self.sources, self.destinations = neighbours("in"), neighbours("out")
        self.allocate(process, number)

    def allocate(self, process: RankProcess, number: int) -> None:
        """Allocates the buffers."""
        count = process.task["cases"][number]["block_bytes"]
        self.send: npt.NDArray[Any] = np.zeros(count, np.uint8)
        self.receive: npt.NDArray[Any] = np.zeros((len(self.sources), count), np.uint8)

    def fill(self, round_: int) -> None:
        """Sets the own block, different for each rank and round, and overwrites received blocks."""
        self.send[:] = np.random.default_rng([self.rank, round_]).integers(0, 256, len(self.send), np.uint8)
        self.receive[:] = round_


class Product(Blocks):
    """Z = X Y: the blocks are those of Y's rows, all as long as the longest."""

    def allocate(self, process: RankProcess, number: int) -> None:
        from scipy.sparse import csr_array

        def load(name: str) -> Any:
            return process.load(f"{number}-{name}")

        starts = np.array(load("starts"))
        first, end = starts[self.rank : self.rank + 2]
        row_starts = np.array(load("row_starts")[first : end + 1])
        columns = load("columns")[row_starts[0] : row_starts[-1]].astype(np.int64)
        values = np.array(load("values")[row_starts[0] : row_starts[-1]])
        longest = int(np.diff(starts).max())

        # The local matrix refers to the blocks of the sources in their order, then to the own block.
        blocks = len(self.sources) + 1
        owners = np.searchsorted(starts, columns, side="right") - 1
        block_of = np.where(owners == self.rank, blocks - 1, np.searchsorted(self.sources, owners))
        places = block_of * longest + columns - starts[owners]
        self._x = csr_array((values, places, row_starts - row_starts[0]), (end - first, blocks * longest))
        self._y = np.array(load("y")[first:end])
        self._z, self._bound = np.array(load("z")[first:end]), np.array(load("bound")[first:end])
        self._all = np.zeros((blocks, longest, self._y.shape[1]), self._y.dtype)
        self.send, self.receive = self._all[-1], self._all[:-1]
        self._result = self._z

    def fill(self, round_: int) -> None:
        self.send[: len(self._y)] = self._y * 2.0**round_  # a power of two scales exactly
        self.receive[:] = np.nan

    def compute(self) -> None:
        self._result = self._x @ self._all.reshape(-1, self._all.shape[2])

    def right(self, round_: int) -> bool:
        off = np.abs(self._result - self._z * 2.0**round_)
        return bool((off <= self._bound * 2.0**round_).all())


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""

    def case_of(number: int) -> Blocks:
        return (Product if process.task["cases"][number]["multiplies"] else Blocks)(process, number)

    def set_up(case: Blocks, contestant: str | None) -> Exchange:
        if contestant is None:
            return OwnAllgather(process.comm, case)
        return _planned(process.comm, case, contestant, process.task["regions"])

    compete(process, case_of, set_up)


if __name__ == "__main__":
    run(main)
