"""Geyko, Collom, Schafer, Bridges and Bienz 2023: a locality-aware sparse dynamic data exchange.

A rank sends requests to the owners of the columns of its rows. Messages are priced, one for each
pair of ranks. The standard methods send to each owner. Algorithm 3 sends to each node, to the rank
there with the sender's place, and then inside nodes. Closed forms add the detection of completion:
an MPI_Allreduce of counts by halving and doubling (2 log2 p steps), or a barrier (log2 p steps).
See benchmarks/sdde_times.py for vicinal's methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING

import numpy as np

from vicinal_command.inputs import read_machine
from vicinal_command.matrices import Integers, Matrix, block_starts, read_matrix
from vicinal_command.outputs import Advance, CommandError

from ..benchmarks.sdde_times import method_times, one_each, rounds, us
from ..benchmarks.workloads import Requests, matrix_requests
from .exchanges import fraction_of
from .paper import HERE, Figure, Found, Outcome, Paper, Point, Published, Scope

if TYPE_CHECKING:
    from vicinal._core import LevelCost, Machine, Profile

NODES, PER_NODE = (2, 4, 8, 16, 32, 64), 32
MATRICES = ("helmholtz_2D",)
"""Default: an example of PyAMG's."""
COUNT_BYTES = 4
RECORD_WORDS = 1
"""Words of a record of algorithm 3 besides the indices: a rank and the number of indices."""

PERSONALIZED, NONBLOCKING, LOCALITY = "personalized", "nonblocking", "locality"
AUTOMATIC = "automatic"

PUBLISHED = (
    Published.one(
        "most-over-second",
        "64 nodes: the faster of personalized and nonblocking over locality, the most of a matrix",
        "section 5; figure 3", 4,
    ),
    Published.one(
        "messages-standard", "most messages of a rank between nodes, of the matrix that gains most",
        "section 4, figure 3h", 450, "",
    ),
    Published.one("messages-aggregated", "the same, aggregated", "section 4, figure 3h", 15, ""),
)
RULES = (
    "personalized, nonblocking: one message per rank and owner; locality: algorithm 3, one per rank and node, and then "
    "inside the node, all by messages; vicinal's: as vicinal bench sdde --count predicts them",
    "added by closed forms: MPI_Allreduce of a count for each rank in 2 log2 p steps, under locality of those of a "
    "node; a barrier in log2 p, an acknowledgement of synchronous sends. What ranks do with records is in none of the "
    "published methods",
    "the paper's matrices are pictures in its figure 3; those here are named on the command line, so its numbers are "
    "those of other matrices",
)


@dataclass(frozen=True)
class Case:
    """A matrix on a number of nodes: times in microseconds, and messages between nodes."""

    matrix: str
    nodes: int
    published: Mapping[str, float]
    ours: Mapping[str, float]
    standard: int
    """The most messages of a rank."""
    aggregated: int

    @property
    def gain(self) -> float:
        """Speed-up of the published algorithm over the second best."""
        return min(self.published[PERSONALIZED], self.published[NONBLOCKING]) / self.published[LOCALITY]


def _reproduce(scope: Scope, profile: Profile, advance: Advance) -> Outcome:
    names = list(scope.matrices) or list(MATRICES)
    most = fraction_of(NODES[-1], scope.fraction, NODES[0])
    nodes = [count for count in NODES if count <= most]
    cases: list[Case] = []
    outcome = Outcome()
    for number, name in enumerate(names):
        matrix = read_matrix(name)
        for index, count in enumerate(nodes):
            ranks = count * PER_NODE
            if matrix.rows < ranks:
                outcome.notes.append(f"{name} has {matrix.rows:,} rows, too few for {ranks:,} ranks")
                break
            cases.append(_case(matrix, count, profile))
            advance((number * len(nodes) + index + 1) / (len(names) * len(nodes)))
    last = [case for case in cases if case.nodes == nodes[-1]]
    if not last:
        raise CommandError(
            f"no matrix has rows enough for {nodes[-1] * PER_NODE:,} ranks; give others by --matrix, or --fraction"
        )
    best = max(last, key=lambda case: case.gain)
    ours = [min(case.published.values()) / case.ours[AUTOMATIC] for case in last]
    others = [case.ours[AUTOMATIC] / min(case.ours.values()) for case in cases]
    outcome.found = [
        Found.one("most-over-second", best.gain),
        Found.one("messages-standard", best.standard, unit=""),
        Found.one("messages-aggregated", best.aggregated, unit=""),
        Found(f"{HERE}-gain-range", min(case.gain for case in last), max(case.gain for case in last),
              f"{nodes[-1]} nodes: second best over locality as published, least and most of {len(last)} matrices"),
        Found.one(
            f"{HERE}-published", geometric_mean(ours),
            "best of the three published over vicinal's automatic, geometric mean",
        ),
        Found(f"{HERE}-published-range", min(ours), max(ours), "the same, least and most"),
        Found.one(f"{HERE}-regret", max(others), "automatic over the best method, the most of all matrices and nodes"),
    ]
    outcome.figures = [_figure(cases)]
    outcome.figures.append(Figure(
        "figure-3-messages", "messages between nodes", "nodes", "most of a rank",
        [Point(case.matrix, series, case.nodes, value) for series in ("standard", "aggregated")
         for case in cases for value in (case.standard if series == "standard" else case.aggregated,)],
        log_x=True,
    ))
    return outcome


def _case(matrix: Matrix, nodes: int, profile: Profile) -> Case:
    ranks = nodes * PER_NODE
    requests = matrix_requests(matrix, block_starts(matrix, ranks))
    machine = read_machine(f"blocks:{PER_NODE}", ranks)
    network, node = profile.levels["network"], profile.levels["node"]
    direct = one_each(requests.sources, requests.destinations, np.diff(requests.starts), machine, profile)
    consensus = (1 + rounds(ranks)) * us(network, 0)
    between, inside, aggregated = _algorithm_3(requests, machine, profile)
    published = {
        PERSONALIZED: direct + _allreduce(network, ranks),
        NONBLOCKING: direct + consensus,
        LOCALITY: between + consensus + inside + _allreduce(node, PER_NODE),
    }
    crossing = requests.sources // PER_NODE != requests.destinations // PER_NODE
    standard = int(np.bincount(requests.sources[crossing], minlength=1).max())
    published = {name: round(time, 3) for name, time in published.items()}
    return Case(
        matrix.name.rsplit("/", 1)[-1], nodes, published, method_times(requests, machine, profile), standard, aggregated
    )


def _algorithm_3(requests: Requests, machine: Machine, profile: Profile) -> tuple[float, float, int]:
    """Times of messages between and inside nodes, and the most of a rank between nodes.

    Messages keep the sender's place in its node, so the forwarding rank is the one with that place.
    """
    ranks, words = requests.ranks, np.diff(requests.starts) + RECORD_WORDS
    source, destination = requests.sources, requests.destinations
    by_way_of = destination // PER_NODE * PER_NODE + source % PER_NODE

    def hop(begin: Integers, end: Integers) -> tuple[float, Integers]:
        edges, of_edge = np.unique((begin * ranks + end)[begin != end], return_inverse=True)
        carried = np.bincount(of_edge, words[begin != end], len(edges)).astype(np.int64)
        return one_each(edges // ranks, edges % ranks, carried, machine, profile), edges // ranks

    between, senders = hop(source, by_way_of)
    inside, _ = hop(by_way_of, destination)
    return between, inside, int(np.bincount(senders, minlength=1).max())


def _allreduce(level: LevelCost, ranks: int) -> float:
    """Time of an allreduce of a count per rank: reduce-scatter by halving, gather by doubling."""
    return 2 * sum(us(level, ranks * COUNT_BYTES >> step) for step in range(1, rounds(ranks) + 1))


def _figure(cases: list[Case]) -> Figure:
    points = [
        Point(case.matrix, name, case.nodes, time)
        for case in cases for name, time in (*case.published.items(), (f"vicinal's {AUTOMATIC}", case.ours[AUTOMATIC]))
    ]
    return Figure("figure-3", "sparse exchange", "nodes", "simulated time (µs)", points, log_x=True, log_y=True)


PAPER = Paper(
    "geyko2023", "Geyko et al. 2023, a locality-aware sparse dynamic data exchange", PUBLISHED, _reproduce, RULES
)
