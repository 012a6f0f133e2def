"""Program of one rank of `vicinal bench alltoallv`, started by benchmarks/alltoallv.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Graph, Settings
from vicinal_command.ranks.process import COUNTED, Exchange, RankProcess, run

from .competition import compete
from .neighborhood import OnlyExchanged, Planned

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI

CALLS = "calls"
"""Blocking calls in a loop, whose counts the library does not know beforehand."""


def planner_and_radix(contestant: str) -> tuple[str, int]:
    """The planner and radix of a contestant such as "tuna/4"; radix 0 if none is given."""
    planner, _, radix = contestant.partition("/")
    return planner, int(radix or 0)


class AllBlocks(OnlyExchanged):
    """One rank's side of a case: its data for each rank, and room for data from each rank."""

    def __init__(self, process: RankProcess, number: int) -> None:
        self.rank = process.comm.rank
        table = process.load(f"{number}-bytes")
        self.sent, self.received = np.array(table[self.rank]), np.array(table[:, self.rank])
        self.send: npt.NDArray[np.uint8] = np.zeros(int(self.sent.sum()), np.uint8)
        self.receive: npt.NDArray[np.uint8] = np.zeros(int(self.received.sum()), np.uint8)

    def fill(self, round_: int) -> None:
        """Sets sent data, different for each rank and round, and overwrites received data."""
        generator = np.random.default_rng([self.rank, round_])
        self.send[:] = generator.integers(0, 256, len(self.send), np.uint8)
        self.receive[:] = 0


class Own:
    """The MPI library's own alltoallv."""

    def __init__(self, comm: MPI.Intracomm, case: AllBlocks) -> None:
        from mpi4py import MPI

        def side(array: npt.NDArray[np.uint8], counts: npt.NDArray[np.int64]) -> list[Any]:
            places = np.cumsum(counts) - counts
            # MPI's integer type, which mpi4py takes without conversion.
            return [array, (counts.astype(np.int32), places.astype(np.int32)), MPI.BYTE]

        self._comm, self._send, self._receive = comm, side(case.send, case.sent), side(case.receive, case.received)

    def run(self) -> None:
        self._comm.Alltoallv(self._send, self._receive)

    def counts(self) -> list[int]:
        return [0] * len(COUNTED)

    def free(self) -> None:
        """Does nothing: it owns no resources."""


class Calls:
    """vicinal's blocking calls."""

    def __init__(self, graph: Graph, case: AllBlocks) -> None:
        self._graph, self._send, self._receive = graph, [case.send, case.sent], [case.receive, case.received]

    def run(self) -> None:
        self._graph.Neighbor_alltoallv(self._send, self._receive)

    def counts(self) -> list[int]:
        return [0] * len(COUNTED)

    def free(self) -> None:
        """Does nothing: its resources belong to the graph."""


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""
    comm = process.comm
    given = {name: process.task[name] for name in ("regions", "profile")}

    def set_up(case: AllBlocks, contestant: str | None) -> Exchange:
        if contestant is None:
            return Own(comm, case)
        if contestant == CALLS:
            return Calls(Graph.complete(comm, settings=Settings(**given)), case)
        planner, radix = planner_and_radix(contestant)
        graph = Graph.complete(comm, strategy=planner, settings=Settings(radix=radix, **given))
        return Planned(graph.Neighbor_alltoallv_init([case.send, case.sent], [case.receive, case.received]))

    compete(process, lambda number: AllBlocks(process, number), set_up)


if __name__ == "__main__":
    run(main)
