"""Patterns, regions and counts for the tests on virtual ranks.

NumPy alone counts the messages of a halo from its pairs (needing rank, index). The counts share
nothing with the planners but the definition of what a strategy sends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from vicinal import _core

Runs = list[tuple[int, int, int]]


def regions(kind: str, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """The region of each rank: equal blocks, round-robin, or unequal and not contiguous."""
    if kind == "equal":
        return _core.read_regions("blocks:4", size)
    if kind == "round-robin":
        return _core.read_regions("round-robin:3", size)
    return rng.choice(4, size, p=[0.55, 0.25, 0.15, 0.05]).astype(np.int32)


def as_runs(numbers: list[int]) -> Runs:
    """(identity, position, count) of items whose identity is their position."""
    runs: Runs = []
    for number in numbers:
        if runs and runs[-1][0] + runs[-1][2] == number:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((number, number, 1))
    return runs


def random_patterns(size: int, identity: bool, rng: np.random.Generator) -> _core.Patterns:
    """Returns edges of all kinds: to the own rank, several between two ranks, one-way, without
    items.

    Some ranks have no neighbors. Edges share items; with `identity`, some items fill several slots.
    """
    idle = rng.random(size) < 0.15
    out: list[list[tuple[int, Runs]]] = [[] for _ in range(size)]
    arriving: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for origin in range(size):
        if idle[origin]:
            continue
        owned = int(rng.integers(1, 30))
        for _ in range(int(rng.integers(0, 6))):
            target = int(rng.integers(size))
            if idle[target]:
                continue
            count = int(rng.integers(0, owned + 1)) if rng.random() < 0.9 else 0
            items = sorted(rng.choice(owned, count, replace=False).tolist())
            out[origin].append((target, as_runs(items)))
            arriving[target].append((origin, count))
    into = []
    for edges in arriving:
        # In-edges come in any order, but several from one rank keep the order in which it sends.
        sources = rng.permutation(sorted({origin for origin, _ in edges})).tolist()
        edges = [edge for origin in sources for edge in edges if edge[0] == origin]
        copies = [[1 + int(identity and rng.random() < 0.2) for _ in range(count)] for _, count in edges]
        slots = iter(rng.permutation(sum(map(sum, copies))).tolist())
        into.append([
            (origin, count, [(offset, next(slots), 1) for offset in range(count) for _ in range(times[offset])])
            for (origin, count), times in zip(edges, copies, strict=True)
        ])
    return _core.Patterns.from_edges(out, into, identity)


def halo_pairs(
    matrix: object, size: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Distributes the rows of a sparse matrix equally.

    Returns the row offsets, and for each needed remote index the rank that needs it.
    """
    coordinates = matrix.tocoo()  # type: ignore[attr-defined]
    offsets = np.linspace(0, coordinates.shape[0], size + 1).astype(np.int64)
    needer = np.searchsorted(offsets, coordinates.row, side="right") - 1
    owner = np.searchsorted(offsets, coordinates.col, side="right") - 1
    pairs = np.unique(np.stack([needer, coordinates.col])[:, needer != owner], axis=1)
    return offsets, pairs[0].astype(np.int32), pairs[1].astype(np.int64)


def expected_traffic(
    strategy: str, region_of: NDArray[np.int32], offsets: NDArray[np.int64], needers: NDArray[np.int32],
    indices: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the messages and elements between regions that a strategy sends for these pairs."""
    count = int(region_of.max()) + 1
    owners = np.searchsorted(offsets, indices, side="right") - 1
    source, target = region_of[owners], region_of[needers]
    away = source != target

    def matrix(*key: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts the distinct keys for each pair of regions."""
        table = np.stack([source, target, *key])[:, away]
        distinct = np.unique(table, axis=1)
        result = np.zeros((count, count), np.int64)
        np.add.at(result, (distinct[0], distinct[1]), 1)
        return result

    nothing = np.zeros_like(indices)
    messages = {
        "direct": matrix(owners, needers),
        "nearest-first": matrix(owners, needers),
        "aggregate": matrix(nothing),
        "aggregate-plain": matrix(nothing),
        "two-step": matrix(owners),
    }[strategy]
    once = strategy in ("aggregate", "two-step")
    elements = matrix(indices) if once else matrix(needers, indices)
    return messages, elements
