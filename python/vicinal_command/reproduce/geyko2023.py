"""Geyko, Collom, Schafer, Bridges and Bienz 2023: a sparse dynamic data exchange that goes by locality.

A rank asks the owners of what its rows refer to.  What an exchange sends are plans: one message per rank and owner for
the standard methods, one per rank and node for algorithm 3 (the planner two-step), one per pair of nodes for vicinal's.  How
ranks learn that all has come is added by closed forms: an MPI_Allreduce of a count for each rank by halving and doubling
(2 log2 p steps), or a barrier of log2 p steps; under vicinal's methods each rank of a node awaits each other, before and after.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..benchmarks.workloads import Requests, matrix_requests
from ..inputs import edge_patterns, read_machine
from ..matrices import Integers, Matrix, block_starts, read_matrix
from ..outputs import Advance, CommandError
from .exchanges import Algorithm, fraction_of, geometric_mean, microseconds
from .paper import HERE, Figure, Found, Outcome, Paper, Point, Published, Scope

if TYPE_CHECKING:
    from vicinal._core import LevelCost, Machine, Profile

NODES, PER_NODE = (2, 4, 8, 16, 32, 64), 32
MATRICES = ("helmholtz_2D",)
"""Where none is given: an example of PyAMG's."""
VALUE_BYTES = 8
COUNT_BYTES = 4

STANDARD = Algorithm("standard", "direct")
AGGREGATED = Algorithm("aggregated", "two-step")
OF_NODES = Algorithm("of nodes", "aggregate", shared=True)
PERSONALIZED, NONBLOCKING, LOCALITY = "personalized", "nonblocking", "locality, as published"
HERE_LOCALITY, HERE_PERSONALIZED, AUTOMATIC = "locality", "locality-personalized", "automatic"

PUBLISHED = (
    Published.one("most-over-second", "64 nodes: the faster of personalized and nonblocking over locality, the most of a matrix", "section 5; figure 3", 4),
    Published.one("messages-standard", "most messages of a rank between nodes, of the matrix that gains most", "section 4, figure 3h", 450, ""),
    Published.one("messages-aggregated", "the same, aggregated", "section 4, figure 3h", 15, ""),
)
RULES = (
    "personalized, nonblocking: one message per rank and owner; locality, as published: one per rank and node, and then inside the node (algorithm 3), all by "
    "messages; vicinal: one per pair of nodes, and shared memory",
    "added by closed forms: MPI_Allreduce of a count for each rank in 2 log2 p steps, a barrier in log2 p, an acknowledgement of synchronous sends; for "
    "vicinal's, that a rank awaits each other one of its node twice. What ranks do with records is in none of them",
    "the paper's matrices are pictures in its figure 3; those here are named on the command line, so its numbers are those of other matrices",
)


@dataclass(frozen=True)
class Case:
    """A matrix on so many nodes: times in microseconds, and messages between nodes."""

    matrix: str
    nodes: int
    times: dict[str, float]
    standard: int
    """The most of a rank."""
    aggregated: int

    @property
    def gain(self) -> float:
        """What the published algorithm brings over the second best."""
        return min(self.times[PERSONALIZED], self.times[NONBLOCKING]) / self.times[LOCALITY]


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
        raise CommandError(f"no matrix has rows enough for {nodes[-1] * PER_NODE:,} ranks; give others by --matrix, or --fraction")
    best = max(last, key=lambda case: case.gain)
    ours = [min(case.times[name] for name in (PERSONALIZED, NONBLOCKING, LOCALITY)) / case.times[AUTOMATIC] for case in last]
    others = [
        case.times[AUTOMATIC] / min(case.times[name] for name in (PERSONALIZED, NONBLOCKING, HERE_LOCALITY, HERE_PERSONALIZED))
        for case in cases
    ]
    outcome.found = [
        Found.one("most-over-second", best.gain),
        Found.one("messages-standard", best.standard, unit=""),
        Found.one("messages-aggregated", best.aggregated, unit=""),
        Found(f"{HERE}-gain-range", min(case.gain for case in last), max(case.gain for case in last),
              f"{nodes[-1]} nodes: second best over locality as published, least and most of {len(last)} matrices"),
        Found.one(f"{HERE}-published", geometric_mean(ours), "best of the three published over vicinal's automatic, geometric mean"),
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
    from vicinal import _core

    ranks = nodes * PER_NODE
    requests = matrix_requests(matrix, block_starts(matrix, ranks))
    machine = read_machine(f"blocks:{PER_NODE}", ranks)
    counts = np.diff(requests.starts)
    patterns = edge_patterns(ranks, requests.sources, requests.destinations, counts)
    network = profile.levels["network"]
    standard = STANDARD.plan(patterns, VALUE_BYTES, machine, profile)
    aggregated = AGGREGATED.plan(patterns, VALUE_BYTES, machine, profile)
    direct = microseconds(standard, profile, VALUE_BYTES)
    meet = 2e6 * (PER_NODE - 1) * profile.handover
    rounds = math.ceil(math.log2(ranks))
    barrier, sent = rounds * _us(network, 0), _us(network, 0)
    times = {
        PERSONALIZED: direct + _allreduce(network, ranks),
        NONBLOCKING: direct + sent + barrier,
        LOCALITY: microseconds(aggregated, profile, VALUE_BYTES) + min(sent + barrier, _allreduce(network, ranks)),
        HERE_LOCALITY: microseconds(OF_NODES.plan(patterns, VALUE_BYTES, machine, profile), profile, VALUE_BYTES)
        + math.ceil(math.log2(nodes)) * _us(network, VALUE_BYTES)
        + meet,
        HERE_PERSONALIZED: _all_pairs(requests, counts, machine, profile) + meet,
    }
    times[AUTOMATIC] = times[_core.chosen_exchange(machine, profile=profile)]
    sends = (int(plans.statistics()["nonlocal_messages"].max()) for plans in (standard, aggregated))
    return Case(matrix.name.rsplit("/", 1)[-1], nodes, {name: round(time, 3) for name, time in times.items()}, *sends)


def _all_pairs(requests: Requests, counts: Integers, machine: Machine, profile: Profile) -> float:
    """As `locality-personalized` does it: a message for each pair of nodes, empty or not, and no more is to be agreed on."""
    regions = machine.regions
    region_of = np.asarray(machine.region_of, np.int64)
    have = np.zeros((regions, regions), bool)
    have[region_of[requests.sources], region_of[requests.destinations]] = True
    np.fill_diagonal(have, True)
    first, second = np.nonzero(~have)
    sources = np.append(requests.sources, first * PER_NODE + second % PER_NODE)
    destinations = np.append(requests.destinations, second * PER_NODE + first % PER_NODE)
    sizes = np.append(counts, np.ones(len(first), np.int64))
    order = np.lexsort((destinations, sources))
    patterns = edge_patterns(requests.ranks, sources[order], destinations[order], sizes[order])
    return microseconds(OF_NODES.plan(patterns, VALUE_BYTES, machine, profile), profile, VALUE_BYTES)


def _us(level: LevelCost, bytes_: int) -> float:
    return 1e6 * level.seconds(bytes_)


def _allreduce(network: LevelCost, ranks: int) -> float:
    """Of a count for each rank: reduce and scatter by halving, then gather by doubling."""
    rounds = math.ceil(math.log2(ranks))
    return 2 * sum(_us(network, ranks * COUNT_BYTES >> step) for step in range(1, rounds + 1))


def _figure(cases: list[Case]) -> Figure:
    series = (PERSONALIZED, NONBLOCKING, LOCALITY, AUTOMATIC)
    points = [Point(case.matrix, name, case.nodes, case.times[name]) for name in series for case in cases]
    return Figure("figure-3", "sparse exchange", "nodes", "simulated time (µs)", points, log_x=True, log_y=True)


PAPER = Paper("geyko2023", "Geyko et al. 2023, a locality-aware sparse dynamic data exchange", PUBLISHED, _reproduce, RULES)
