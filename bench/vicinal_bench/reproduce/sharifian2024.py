"""Sharifian, Sojoodi and Afsahi 2024: neighborhood allgather by distance halving.

Graphs and sizes are those of the paper's sections VII-A and VII-B. MPI's default is one message per
edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

import numpy as np

from vicinal_command.outputs import Advance

from ..benchmarks.workloads import Workload, moore, random_sparse
from .exchanges import Algorithm, fraction_of, gather_patterns, machine_of, microseconds
from .paper import HERE, Figure, Found, Outcome, Paper, Point, Published, Scope

if TYPE_CHECKING:
    from vicinal._core import Machine, Patterns, PlanSet, Profile

DEFAULT = Algorithm("one message per edge", "direct")
COMMON = Algorithm("common neighbor", "common-neighbor")
HALVING = Algorithm("distance halving", "distance-halving")
CHOSEN = Algorithm("vicinal, automatic", "automatic", shared=True)
CASCADE = Algorithm("vicinal, cascade", "cascade", shared=True)
ALGORITHMS = (DEFAULT, COMMON, HALVING, CHOSEN, CASCADE)

DENSITIES = (0.05, 0.1, 0.3, 0.5, 0.7)
RANDOM_SIZES = (32, 4096, 65536, 4 << 20)
RANDOM_NODES, RANDOM_PER_NODE = 60, 36
NEIGHBORHOODS = ((1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (1, 4))
"""Radius and dimensions. The text does not list those of figure 6."""
MOORE_SIZES = (4 << 10, 256 << 10, 4 << 20)
MOORE_NODES, MOORE_PER_NODE = 64, 32
FEW_NODES, FEW_PER_NODE = 512, 4
"""Not in the paper: nodes with one rank for each GPU."""
FEW_DENSITIES = (0.05, 0.3)
FEW_SIZES = (32, 4096)
SOCKETS = 2
PLANNED_BYTES = 4096
"""Bytes for which plans are made that are the same for all sizes."""
ONE_PLAN = (DEFAULT, HALVING)

FIGURE_5, FIGURE_6 = "section VII-A, figure 5", "section VII-B, figure 6"
PUBLISHED = (
    Published(
        "random-default", "random graphs, by density, mean of all sizes: distance halving over Open MPI's default",
        FIGURE_5, 1.25, 8.31,
    ),
    Published("random-common", "the same over common neighbor", FIGURE_5, 1.41, 8.13),
    Published.one("random-peak", "the most over the default: density 0.7, 32 B", FIGURE_5, 30),
    Published.one("random-sparse-peak", "the most over the default of densities 0.05 and 0.1", FIGURE_5, 3.5),
    Published(
        "moore-default", "Moore neighborhoods, mean of each: distance halving over the default", "abstract; figure 6",
        1.81, 8.78,
    ),
    Published("moore-common", "the same over common neighbor", "abstract; figure 6", 0.62, 2.57),
    Published.one("moore-peak", "the most over the default", FIGURE_6, 14),
    Published.one(
        "example-off-socket", "messages of a rank off its socket: 2,000 ranks, density 0.3", "section V-A", 7, ""
    ),
    Published.one("example-intra-socket", "the same inside its socket", "section V-A", 16, ""),
    Published.one("example-default", "the same, one message per edge", "section V-A", 600, ""),
)
RULES = (
    "plans of distance halving (algorithms 1 to 4) and of common neighbors, whose regions are sockets, and one message "
    "per edge for Open MPI's default; all local operations are messages; groups of common neighbors are as large as "
    "the profile finds best for each size. vicinal: shared memory inside a node, and regions that are nodes",
    "not simulated: making the pattern (figure 8), and the multiplication (figure 7), for which the text does not say "
    "on how many ranks",
)


@dataclass(frozen=True)
class Times:
    """Times of each algorithm, on one graph with one size."""

    graph: str
    size: int
    of: Mapping[Algorithm, float]

    def over(self, other: Algorithm) -> float:
        """Another algorithm's time over that of distance halving."""
        return self.of[other] / self.of[HALVING]


class Cluster:
    """Ranks on nodes of two sockets, on which graphs are planned and priced."""

    def __init__(self, profile: Profile, ranks: int, per_node: int) -> None:
        self.profile = profile
        self.by_socket = machine_of(ranks, per_node, SOCKETS, regions="sockets")
        self.by_node = machine_of(ranks, per_node, SOCKETS, regions="nodes")

    def _machine(self, algorithm: Algorithm) -> Machine:
        return self.by_node if algorithm.shared else self.by_socket

    def plan(self, algorithm: Algorithm, patterns: Patterns, size: int) -> PlanSet:
        """The algorithm's plans for blocks of this size."""
        return algorithm.plan(patterns, size, self._machine(algorithm), self.profile, one_block=True)

    def times(self, graph: Workload, name: str, sizes: Sequence[int]) -> Iterator[Times]:
        """Times of all algorithms, by size."""
        patterns = gather_patterns(graph)
        found: dict[int, dict[Algorithm, float]] = {size: {} for size in sizes}
        for algorithm in ALGORITHMS:
            plans = self.plan(algorithm, patterns, PLANNED_BYTES) if algorithm in ONE_PLAN else None
            for size in sizes:
                mine = plans or self.plan(algorithm, patterns, size)
                found[size][algorithm] = microseconds(mine, self.profile, size)
        return (Times(name, size, of) for size, of in found.items())


def _reproduce(scope: Scope, profile: Profile, advance: Advance) -> Outcome:
    outcome = Outcome()
    ranks = fraction_of(RANDOM_NODES, scope.fraction, 2) * RANDOM_PER_NODE
    cluster = Cluster(profile, ranks, RANDOM_PER_NODE)
    steps = sum(DENSITIES) + sum(FEW_DENSITIES) + 0.5
    random: list[Times] = []
    for density in DENSITIES:
        random += cluster.times(random_sparse(ranks, density), f"density {density:g}", RANDOM_SIZES)
        advance(sum(each for each in DENSITIES if each <= density) / steps)
    outcome.figures.append(_figure("figure-5", f"random graphs, {ranks:,} ranks", random, _peak(ranks)))

    ranks = fraction_of(MOORE_NODES, scope.fraction, 2) * MOORE_PER_NODE
    cluster = Cluster(profile, ranks, MOORE_PER_NODE)
    grids: list[Times] = []
    for radius, dimensions in NEIGHBORHOODS:
        grids += cluster.times(moore(ranks, radius, dimensions), f"r = {radius}, d = {dimensions}", MOORE_SIZES)
    outcome.figures.append(_figure("figure-6", f"Moore neighborhoods, {ranks:,} ranks", grids))
    advance(1 - sum(FEW_DENSITIES) / steps)

    ranks = fraction_of(FEW_NODES, scope.fraction, 2) * FEW_PER_NODE
    cluster = Cluster(profile, ranks, FEW_PER_NODE)
    few: list[Times] = []
    for density in FEW_DENSITIES:
        few += cluster.times(random_sparse(ranks, density), f"density {density:g}", FEW_SIZES)
    outcome.figures.append(
        _figure("few-ranks-per-node", f"random graphs, {ranks:,} ranks, {FEW_PER_NODE} per node", few)
    )
    advance(1)

    outcome.found += _speedups("random", random) + _speedups("moore", grids)
    sparse = [each.over(DEFAULT) for each in random if each.graph in ("density 0.05", "density 0.1")]
    outcome.found.append(Found.one("random-sparse-peak", max(sparse)))
    for kind, times, of in (("random", random, "random graphs"), ("moore", grids, "Moore neighborhoods")):
        gains = [each.of[HALVING] / each.of[CHOSEN] for each in times]
        outcome.found += [
            Found.one(
                f"{HERE}-{kind}-mean", geometric_mean(gains),
                f"{of}: distance halving over vicinal's automatic, geometric mean",
            ),
            Found(f"{HERE}-{kind}-range", min(gains), max(gains), "the same, least and most"),
            Found(
                f"{HERE}-{kind}-default", min(each.of[DEFAULT] / each.of[CHOSEN] for each in times),
                max(each.of[DEFAULT] / each.of[CHOSEN] for each in times),
                "the default over vicinal's automatic, least and most",
            ),
        ]
    on_few = f"random graphs on nodes of {FEW_PER_NODE} ranks"
    for kind, times, of in (
        ("random", random, "random graphs"), ("moore", grids, "Moore neighborhoods"), ("few", few, on_few)
    ):
        for name, other in (("automatic", CHOSEN), ("halving", HALVING)):
            gains = [each.of[other] / each.of[CASCADE] for each in times]
            what = f"{of}: {other.name} over {CASCADE.name}, least and most"
            outcome.found.append(Found(f"{HERE}-{kind}-cascade-{name}", min(gains), max(gains), what))
    outcome.found += _example(scope, profile)
    return outcome


def _peak(ranks: int) -> list[Point]:
    whole = ranks == RANDOM_NODES * RANDOM_PER_NODE
    return [Point("density 0.7", HALVING.name, 32, 30)] if whole else []


def _figure(name: str, title: str, times: Sequence[Times], published: Sequence[Point] = ()) -> Figure:
    points = [
        Point(each.graph, algorithm.name, each.size, each.of[DEFAULT] / each.of[algorithm])
        for algorithm in ALGORITHMS[1:]
        for each in times
    ]
    return Figure(
        name, title, "bytes per block", "the default's time over this one's", points, published, log_x=True, log_y=True
    )


def _speedups(kind: str, times: Sequence[Times]) -> list[Found]:
    graphs = list(dict.fromkeys(each.graph for each in times))

    def means(other: Algorithm) -> list[float]:
        """Mean over all sizes by graph, as in the paper."""
        return [float(np.mean([each.over(other) for each in times if each.graph == graph])) for graph in graphs]

    default, common = means(DEFAULT), means(COMMON)
    return [
        Found(f"{kind}-default", min(default), max(default)),
        Found(f"{kind}-common", min(common), max(common)),
        Found.one(f"{kind}-peak", max(each.over(DEFAULT) for each in times)),
    ]


def _example(scope: Scope, profile: Profile) -> list[Found]:
    """The example of section V-A: 50 nodes of 40 ranks."""
    if scope.fraction > 1:
        return []
    ranks, per_node = 2000, 40
    cluster = Cluster(profile, ranks, per_node)
    patterns = gather_patterns(random_sparse(ranks, 0.3))
    halving = cluster.plan(HALVING, patterns, PLANNED_BYTES).statistics()
    default = cluster.plan(DEFAULT, patterns, PLANNED_BYTES).statistics()
    return [
        Found.one("example-off-socket", float(halving["nonlocal_messages"].mean()), unit=""),
        Found.one("example-intra-socket", float(halving["local_messages"].mean()), unit=""),
        Found.one("example-default", float((default["nonlocal_messages"] + default["local_messages"]).mean()), unit=""),
    ]


PAPER = Paper(
    "sharifian2024", "Sharifian, Sojoodi and Afsahi 2024, neighborhood allgather by distance halving", PUBLISHED,
    _reproduce, RULES,
)
