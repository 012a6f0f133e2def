"""Program of one rank for timed exchanges with counts of values on each edge.

benchmarks/choice.py and benchmarks/amg.py start it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Graph, Settings
from vicinal_command.ranks.process import AGAIN, Exchange, RankProcess, run

from .competition import compete
from .neighborhood import Own, Planned, Side

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI

    Integers = npt.NDArray[np.int64]


class Edges(Side):
    """One rank's side of a case: values for each destination, and from each source."""

    def __init__(self, process: RankProcess, number: int) -> None:
        rank = process.comm.rank

        def load(name: str) -> Any:
            return process.load(f"{number}-{name}")

        def side(name: str) -> tuple[Integers, Integers]:
            first, end = load(f"{name}_starts")[rank : rank + 2]
            return np.array(load(name)[first:end]), np.array(load(f"{name}_counts")[first:end])

        self.rank = rank
        self.sources, self.received = side("in")
        self.destinations, self.sent = side("out")
        self.items: Integers | None = None
        """Identity of each element sent, edge after edge; None: no shared values."""
        if process.task["cases"][number]["has_items"]:
            first = int(load("item_starts")[rank])
            self.items = np.array(load("items")[first : first + int(self.sent.sum())])
        self.send: npt.NDArray[np.float64] = np.zeros(int(self.sent.sum()))
        self.receive: npt.NDArray[np.float64] = np.zeros(int(self.received.sum()))

    def fill(self, round_: int) -> None:
        """Sets sent data, different for each rank and round, and overwrites received data."""
        generator = np.random.default_rng([self.rank, round_])
        if self.items is None:
            self.send[:] = generator.random(len(self.send))
        elif len(self.items):
            # Elements with one identity get one value, on every edge.
            first = int(self.items.min())
            self.send[:] = generator.random(int(self.items.max()) - first + 1)[self.items - first]
        self.receive[:] = np.nan


class OwnAlltoallv(Own):
    """The MPI library's own neighborhood alltoallv."""

    def __init__(self, comm: MPI.Intracomm, case: Edges) -> None:
        from mpi4py import MPI

        super().__init__(comm, case)
        self._send: Any = [case.send, _places(case.sent), MPI.DOUBLE]
        self._receive: Any = [case.receive, _places(case.received), MPI.DOUBLE]

    def run(self) -> None:
        self.graph.Neighbor_alltoallv(self._send, self._receive)


def _planned(comm: MPI.Intracomm, case: Edges, strategy: str, settings: Settings) -> Planned:
    """A strategy on a graph of its own, so that its set-up time includes the graph."""
    graph = Graph(comm, case.sources, case.destinations, strategy=strategy, settings=settings)
    return Planned(graph.Neighbor_alltoallv_init([case.send, case.sent], [case.receive, case.received], case.items))


def _places(counts: Integers) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Counts and displacements in MPI's integer type, which mpi4py takes without conversion."""
    ends = np.cumsum(counts)
    if ends.size and ends[-1] > np.iinfo(np.int32).max:
        raise RuntimeError(f"this rank exchanges {ends[-1]} values, and MPI counts up to 2147483647; give more ranks")
    return counts.astype(np.int32), (ends - counts).astype(np.int32)


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""
    settings = Settings(regions=process.task["regions"], profile=process.task["profile"])

    def set_up(case: Edges, contestant: str | None) -> Exchange:
        if contestant is None:
            return OwnAlltoallv(process.comm, case)
        return _planned(process.comm, case, contestant.removesuffix(AGAIN), settings)

    compete(process, lambda number: Edges(process, number), set_up)


if __name__ == "__main__":
    run(main)
