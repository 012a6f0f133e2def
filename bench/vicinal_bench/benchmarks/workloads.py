"""Graphs for measurements: edges, and for requests the requested values. Needs no MPI.

Random graphs, Moore neighborhoods and blocks of rows are those of Sharifian, Sojoodi and Afsahi
2024, section VII. A recorded graph is that of a real application, from a profiler. Requests list
the values that a rank needs from another.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vicinal_command.matrices import Integers, Matrix, needed_pairs
from vicinal_command.outputs import CommandError
from vicinal_command.recorded import read_recorded


@dataclass(frozen=True)
class Workload:
    """A graph over `ranks` ranks; edge k goes from `sources[k]` to `destinations[k]`."""

    name: str
    ranks: int
    sources: Integers
    destinations: Integers
    made_of: Mapping[str, Any] | None = field(default=None, kw_only=True)
    """Facts of the underlying matrix or recorded pattern, for the JSON output."""

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.sources)

    def incoming(self) -> tuple[Integers, Integers]:
        """The sources of rank r, ascending, from entry r of the first array to entry r + 1."""
        return _grouped(self.ranks, self.destinations, self.sources)

    def outgoing(self) -> tuple[Integers, Integers]:
        """The destinations of each rank, in the form of incoming()."""
        return _grouped(self.ranks, self.sources, self.destinations)


def made_of(workloads: Sequence[Workload]) -> dict[str, Any]:
    """Facts of all matrices and patterns of workloads, each once, for the JSON output."""
    found: dict[str, Any] = {}
    for workload in workloads:
        for kind, what in (workload.made_of or {}).items():
            listed = found.setdefault(kind, [])
            if what not in listed:
                listed.append(what)
    return found


def _grouped(ranks: int, by: Integers, others: Integers) -> tuple[Integers, Integers]:
    order = np.lexsort((others, by))
    return np.searchsorted(by[order], np.arange(ranks + 1)).astype(np.int64), others[order]


def random_sparse(ranks: int, density: float, seed: int = 0) -> Workload:
    """An Erdős-Rényi graph: each rank sends to each other rank with probability `density`."""
    if not 0 <= density <= 1:
        raise CommandError(f"a density of {density:g} was given; densities are from 0 to 1")
    chosen = np.random.default_rng(seed).random((ranks, ranks)) < density
    np.fill_diagonal(chosen, False)
    sources, destinations = np.nonzero(chosen)
    return Workload(f"random, density {density:g}", ranks, sources, destinations)


def grid_shape(ranks: int, dimensions: int) -> list[int]:
    """The sides of a grid of `ranks` ranks, as nearly equal as possible, the longest first."""
    best: list[int] | None = None

    def divide(left: int, sides: list[int]) -> None:
        nonlocal best
        if len(sides) == dimensions - 1:
            shape = sorted([*sides, left], reverse=True)
            if best is None or (shape[0] - shape[-1], shape) < (best[0] - best[-1], best):
                best = shape
            return
        for side in range(1, left + 1):
            if left % side == 0 and (not sides or side >= sides[-1]):
                divide(left // side, [*sides, side])

    divide(ranks, [])
    assert best is not None
    return best


def moore(ranks: int, radius: int, dimensions: int) -> Workload:
    """A periodic grid on which ranks send to all ranks within `radius` steps in each dimension.

    These are (2 radius + 1)^dimensions - 1 other ranks, or fewer on a smaller grid.
    """
    if radius < 1 or dimensions < 1:
        raise CommandError(f"a Moore neighborhood of radius {radius} in {dimensions} dimensions was given; both "
                           "are at least 1")
    shape = grid_shape(ranks, dimensions)
    places = np.stack(np.unravel_index(np.arange(ranks), shape))
    chosen = np.zeros((ranks, ranks), bool)
    # On a side shorter than the neighborhood, further steps reach the same ranks again.
    steps = [np.unique(np.arange(-radius, radius + 1) % side) for side in shape]
    for shift in itertools.product(*steps):
        moved = (places + np.array(shift)[:, None]) % np.array(shape)[:, None]
        chosen[np.arange(ranks), np.ravel_multi_index(tuple(moved), shape)] = True
    np.fill_diagonal(chosen, False)
    sources, destinations = np.nonzero(chosen)
    grid = "×".join(map(str, shape))
    return Workload(f"Moore, radius {radius}, grid {grid}", ranks, sources, destinations)


def block_rows(matrix: Matrix, starts: Integers) -> Workload:
    """Blocks of rows for Z = X Y: a rank gets the blocks of Y that its rows of X need.

    Rank r has rows starts[r] to starts[r + 1] - 1 of both.
    """
    ranks = len(starts) - 1
    needers, needed = needed_pairs(matrix, starts)
    owners = np.searchsorted(starts, needed, side="right") - 1
    edges = np.unique(owners * ranks + needers)
    name = f"SpMM, {Path(matrix.name).name}"
    return Workload(name, ranks, edges // ranks, edges % ranks, made_of={"matrices": matrix.describe()})


@dataclass(frozen=True)
class Requests(Workload):
    """A graph on whose edges ranks request values of their owners.

    Edges are ordered by source and then destination. Edge k requests values[starts[k]] to
    values[starts[k + 1] - 1].
    """

    starts: Integers
    values: Integers


def _requests(
    name: str, ranks: int, askers: npt.NDArray[Any], owners: Integers, values: Integers, *,
    made_of: Mapping[str, Any] | None = None,
) -> Requests:
    """Makes one request for each asker and owner. Arguments are sorted by asker, owner, value."""
    edges, starts = np.unique(askers.astype(np.int64) * ranks + owners, return_index=True)
    starts = np.append(starts, len(values))
    return Requests(name, ranks, edges // ranks, edges % ranks, starts, values, made_of=made_of)


def random_requests(ranks: int, values: int, probability: float, seed: int = 0) -> Requests:
    """Each rank needs each of the `values` values of each other rank with this probability."""
    generator = np.random.default_rng(seed)
    parts = []
    for asker in range(ranks):
        needed = generator.random((ranks, values)) < probability
        needed[asker] = False
        owners, numbers = np.nonzero(needed)
        parts.append((np.full(len(owners), asker), owners, numbers))
    name = f"{values} values, each with probability {probability:g}"
    return _requests(name, ranks, *(np.concatenate(column) for column in zip(*parts, strict=True)))


def few_requests(ranks: int, partners: int, values: int) -> Requests:
    """Each rank requests `values` values from each of `partners` other ranks, evenly spread."""
    if not 0 < partners < ranks:
        raise CommandError(
            f"{partners} partners were asked for, but each of {ranks} ranks has {ranks - 1} others; give fewer"
        )
    askers = np.repeat(np.arange(ranks), partners)
    owners = (askers + np.tile(1 + np.arange(partners) * ranks // partners, ranks)) % ranks
    owners = np.sort(owners.reshape(ranks, partners)).ravel()
    numbers = np.tile(np.arange(values), ranks * partners)
    return _requests(f"{partners} partners", ranks, askers.repeat(values), owners.repeat(values), numbers)


def all_to_few_requests(ranks: int, receivers: int, values: int) -> Requests:
    """Each rank requests `values` values from one of `receivers` ranks, which are evenly spread."""
    if not 0 < receivers < ranks:
        raise CommandError(f"{receivers} receivers were asked for, but there are {ranks} ranks; give fewer")
    askers = np.arange(ranks)
    owners = askers % receivers * ranks // receivers
    askers, owners = askers[askers != owners], owners[askers != owners]
    numbers = np.tile(np.arange(values), len(askers))
    return _requests(f"all to {receivers}", ranks, askers.repeat(values), owners.repeat(values), numbers)


def matrix_requests(matrix: Matrix, starts: Integers) -> Requests:
    """Each rank requests the columns that its rows use from their owners.

    Rank r has rows and columns starts[r] to starts[r + 1] - 1.
    """
    needers, needed = needed_pairs(matrix, starts)
    owners = np.searchsorted(starts, needed, side="right") - 1
    name, made = Path(matrix.name).name, {"matrices": matrix.describe()}
    return _requests(name, len(starts) - 1, needers, owners, needed, made_of=made)


def recorded(path: str) -> Workload:
    """The graph of a recorded run, without its weights."""
    run = read_recorded(path)
    return Workload(run.name, run.ranks, run.sources, run.destinations, made_of={"patterns": run.describe()})
