"""Program of one rank of `vicinal bench allgather`, started by benchmarks/allgather.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Graph, Settings
from vicinal_command.ranks.process import COUNTED, Exchange, RankProcess, run

from .competition import compete
from .neighbor_allgather import Blocks
from .neighborhood import Planned

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI

BY_HAND = "bruck by hand"
"""Bruck's algorithm written with MPI_Sendrecv. It shows the overhead of the planners."""


class AllBlocks(Blocks):
    """One rank's side of a case: its block, and room for the blocks of all ranks."""

    def __init__(self, process: RankProcess, number: int) -> None:
        self.rank = process.comm.rank
        task = process.task["cases"][number]
        self.local: str = task["local"]
        self.send: npt.NDArray[Any] = np.zeros(task["block_bytes"], np.uint8)
        self.receive: npt.NDArray[Any] = np.zeros((process.comm.size, task["block_bytes"]), np.uint8)


class Own:
    """The MPI library's own allgather."""

    def __init__(self, comm: MPI.Intracomm, case: AllBlocks) -> None:
        self._comm, self._case = comm, case

    def run(self) -> None:
        self._comm.Allgather(self._case.send, self._case.receive)

    def counts(self) -> list[int]:
        return [0] * len(COUNTED)

    def free(self) -> None:
        """Does nothing: it owns no resources."""


class ByHand(Own):
    """Bruck's algorithm (Bienz et al. 2022, algorithm 1) as a program would write it with MPI_Sendrecv."""

    def run(self) -> None:
        comm, rank, size = self._comm, self._comm.rank, self._comm.size
        data = np.empty_like(self._case.receive)
        data[0] = self._case.send
        step = 1
        while step < size:
            count = min(step, size - step)
            comm.Sendrecv(
                data[:count], (rank - step) % size, recvbuf=data[step : step + count], source=(rank + step) % size
            )
            step *= 2
        self._case.receive[rank:] = data[: size - rank]
        self._case.receive[:rank] = data[size - rank :]


class OfAll(Planned):
    """An allgather by a planner."""

    def __init__(self, comm: MPI.Intracomm, case: AllBlocks, planner: str, regions: str) -> None:
        graph = Graph.complete(comm, settings=Settings(allgather=planner, regions=regions, local=case.local))
        super().__init__(graph.Neighbor_allgather_init(case.send, case.receive))


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""

    def set_up(case: AllBlocks, contestant: str | None) -> Exchange:
        if contestant is None:
            return Own(process.comm, case)
        if contestant == BY_HAND:
            return ByHand(process.comm, case)
        return OfAll(process.comm, case, contestant, process.task["regions"])

    compete(process, lambda number: AllBlocks(process, number), set_up)


if __name__ == "__main__":
    run(main)
