"""Exchanges with counts for measurements: 8-byte values on each edge, perhaps with identities.

Values may have an identity, as in the halo of a matrix. Then edges of one rank may carry the same
value, and a planner may send it to a region once. This module needs no MPI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vicinal_command.inputs import RECORDED_BYTES, edge_patterns, folded, plan_patterns, read_machine, values_of
from vicinal_command.matrices import Integers, Matrix, block_starts, needed_pairs, read_matrix
from vicinal_command.outputs import CommandError, interruptible, progress
from vicinal_command.prices import predict
from vicinal_command.recorded import Recorded, read_recorded

from .workloads import Workload, random_requests

if TYPE_CHECKING:
    from vicinal._core import Patterns, Profile

VALUE_BYTES = RECORDED_BYTES


@dataclass(frozen=True)
class Transfers(Workload):
    """A graph whose edges, by source and then destination, each carry `counts` values."""

    counts: Integers
    starts: Integers | None = None
    """For values with an identity: rank r has the values from starts[r] to starts[r + 1] - 1."""
    items: Integers | None = None
    """For values with an identity: the values on the edges, edge after edge, ascending on each."""

    @property
    def bytes(self) -> int:
        """Total over all edges."""
        return int(self.counts.sum()) * VALUE_BYTES

    def arrays(self, number: int) -> dict[str, npt.NDArray[Any]]:
        """Input of the ranks of ranks/neighbor_alltoallv.py for case `number`."""
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
        """The transfers as patterns, for planners on virtual ranks."""
        from vicinal import _core

        if self.items is None or self.starts is None:
            return edge_patterns(self.ranks, self.sources, self.destinations, self.counts)
        needers = self.destinations.repeat(self.counts)
        order = np.lexsort((self.items, needers))
        return _core.halo_patterns(self.ranks, self.starts, needers[order].astype(np.int32), self.items[order])


def alike(graph: Workload, block_bytes: int) -> Transfers:
    """Each edge of a graph carries `block_bytes` bytes of its own, rounded up to whole values."""
    counts = np.full(graph.edges, -(-block_bytes // VALUE_BYTES), np.int64)
    return Transfers(
        f"{graph.name}, {counts[0] * VALUE_BYTES if graph.edges else 0} B", graph.ranks, graph.sources,
        graph.destinations, counts, made_of=graph.made_of,
    )


def wanted(
    name: str, starts: Integers, needers: npt.NDArray[Any], items: Integers, made_of: Mapping[str, Any] | None = None
) -> Transfers:
    """Rank needers[i] needs items[i]. Rank r owns the values starts[r] to starts[r + 1] - 1."""
    ranks = len(starts) - 1
    owners = np.searchsorted(starts, items, side="right") - 1
    order = np.lexsort((items, needers, owners))
    edges, counts = np.unique(owners * ranks + needers, return_counts=True)
    return Transfers(name, ranks, edges // ranks, edges % ranks, counts, starts, items[order], made_of=made_of)


def random_halo(ranks: int, values: int, probability: float) -> Transfers:
    """Each rank needs each of the `values` values of each other rank with this probability."""
    requests = random_requests(ranks, values, probability)
    sizes = np.diff(requests.starts)
    items = requests.values + requests.destinations.repeat(sizes) * values
    return wanted(requests.name, np.arange(ranks + 1) * values, requests.sources.repeat(sizes), items)


def matrix_halo(name: str, ranks: int) -> Transfers:
    """Entries of a vector that the rows of a matrix use, with rows in near-equal blocks."""
    matrix: Matrix = read_matrix(name)
    starts = block_starts(matrix, ranks)
    return wanted(Path(matrix.name).name, starts, *needed_pairs(matrix, starts), {"matrices": matrix.describe()})


def recorded_transfers(path: str, ranks: int, exchanges: int) -> list[Transfers]:
    """A recorded run on fewer ranks: all of its ranks folded onto them, and its first ranks alone.

    The recorded amounts are taken as the total of `exchanges` exchanges.
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


def predicted(
    cases: Sequence[Transfers], strategies: Sequence[str], regions: str, profile: Profile
) -> list[dict[str, float]]:
    """Price of each strategy's plans in microseconds for each case, if every region is a host."""
    found: list[dict[str, float]] = []
    with progress("predicting", len(cases)) as advance:
        for case in cases:
            machine, patterns = read_machine(regions, case.ranks), case.patterns()
            prices = {}
            for strategy in strategies:
                plans = plan_patterns(strategy, patterns, VALUE_BYTES, machine, profile)
                prices[strategy] = interruptible(partial(predict, plans, profile, VALUE_BYTES)).microseconds
            found.append(prices)
            advance(len(found))
    return found
