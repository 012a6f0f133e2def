"""Exchanges with counts to measure on: who sends whom how many values of 8 bytes, and perhaps which.

Where values have an identity, as in the halo of a matrix, edges of one rank may carry the same one, and a planner may
send it to a region once.  Nothing here needs MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..inputs import RECORDED_BYTES, edge_patterns, folded, values_of
from ..matrices import Integers, Matrix, block_starts, read_matrix
from ..outputs import CommandError
from ..recorded import Recorded, read_recorded
from .workloads import Requests, Workload, matrix_requests, random_requests

if TYPE_CHECKING:
    from vicinal._core import Patterns

VALUE_BYTES = RECORDED_BYTES


@dataclass(frozen=True)
class Transfers(Workload):
    """A graph whose edges, by source and then destination, each carry so many values."""

    counts: Integers
    starts: Integers | None = None
    """Where values have an identity: rank r has those from starts[r] to starts[r + 1] - 1 ..."""
    items: Integers | None = None
    """... and these are the ones that the edges carry, edge after edge, ascending on each."""

    @property
    def bytes(self) -> int:
        """Of all edges."""
        return int(self.counts.sum()) * VALUE_BYTES

    def arrays(self, number: int) -> dict[str, npt.NDArray[Any]]:
        """What the ranks of ranks/neighbor_alltoallv.py read of case `number`."""
        found: dict[str, npt.NDArray[Any]] = {}
        sides = (("in", self.destinations, self.sources), ("out", self.sources, self.destinations))
        for side, by, others in sides:
            order = np.lexsort((others, by))
            found[f"{side}_starts"] = np.searchsorted(by[order], np.arange(self.ranks + 1))
            found[side], found[f"{side}_counts"] = others[order], self.counts[order]
        if self.items is not None:
            edge_starts = np.append(0, np.cumsum(self.counts))
            found["items"] = self.items
            found["item_starts"] = edge_starts[found["out_starts"]]
        return {f"{number}-{name}": array for name, array in found.items()}

    def patterns(self) -> Patterns:
        """The same for planners of virtual ranks."""
        from vicinal import _core

        if self.items is None or self.starts is None:
            return edge_patterns(self.ranks, self.sources, self.destinations, self.counts)
        needers = self.destinations.repeat(self.counts)
        order = np.lexsort((self.items, needers))
        return _core.halo_patterns(self.ranks, self.starts, needers[order].astype(np.int32), self.items[order])


def alike(graph: Workload, block_bytes: int) -> Transfers:
    """Each edge of a graph carries so many bytes of its own, rounded up to whole values."""
    counts = np.full(graph.edges, -(-block_bytes // VALUE_BYTES), np.int64)
    return Transfers(
        f"{graph.name}, {counts[0] * VALUE_BYTES if graph.edges else 0} B", graph.ranks, graph.sources,
        graph.destinations, counts, made_of=graph.made_of,
    )


def answers(requests: Requests, starts: Integers) -> Transfers:
    """What owners send to those who ask them; rank r has the values from starts[r] to starts[r + 1] - 1."""
    sizes = np.diff(requests.starts)
    order = np.lexsort((requests.sources, requests.destinations))
    # By edge in the new order, its values.
    firsts = requests.starts[:-1][order]
    counts = sizes[order]
    begins = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) - np.repeat(begins - firsts, counts)
    return Transfers(
        requests.name, requests.ranks, requests.destinations[order], requests.sources[order], counts, starts,
        requests.values[places], made_of=requests.made_of,
    )


def random_halo(ranks: int, values: int, probability: float) -> Transfers:
    """Each rank needs each of the `values` values of each other rank with this probability."""
    requests = random_requests(ranks, values, probability)
    owners = requests.destinations.repeat(np.diff(requests.starts))
    numbered = Requests(
        requests.name, ranks, requests.sources, requests.destinations, requests.starts,
        requests.values + owners * values,
    )
    return answers(numbered, np.arange(ranks + 1) * values)


def matrix_halo(name: str, ranks: int) -> Transfers:
    """The entries of a vector that the rows of a matrix refer to, rows in near-equal blocks."""
    matrix: Matrix = read_matrix(name)
    starts = block_starts(matrix, ranks)
    return answers(matrix_requests(matrix, starts), starts)


def recorded_transfers(path: str, ranks: int, exchanges: int) -> list[Transfers]:
    """A recorded run on fewer ranks: all of its ranks folded onto them, and its first ranks alone.

    What was recorded is taken to be the total of so many exchanges.
    """
    run = read_recorded(path)
    if run.ranks < ranks:
        raise CommandError(f"pattern {path} has {run.ranks} ranks, but {ranks} are to run; leave it out, or run fewer")
    if run.ranks == ranks:
        return [_of_run(run, run.name, ranks, (run.sources, run.destinations, run.megabytes), exchanges)]
    near = (run.sources < ranks) & (run.destinations < ranks)
    first = (run.sources[near], run.destinations[near], run.megabytes[near])
    return [
        _of_run(run, f"{run.name}, folded", ranks, folded(run, ranks), exchanges),
        _of_run(run, f"{run.name}, first ranks", ranks, first, exchanges),
    ]


def _of_run(
    run: Recorded, name: str, ranks: int, edges: Sequence[npt.NDArray[Any]], exchanges: int
) -> Transfers:
    sources, destinations, megabytes = edges
    counts = values_of(megabytes, exchanges)
    return Transfers(name, ranks, sources, destinations, counts, made_of={"patterns": run.describe()})
