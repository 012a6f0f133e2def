"""Bienz, Gautam and Kharel 2022: a locality-aware Bruck allgather.

The paper measures allgathers of two integers per rank on up to 64 nodes, with one socket of each
node in use. The number of nodes is a power of the ranks per region.
"""

from __future__ import annotations

import math
from statistics import geometric_mean
from typing import TYPE_CHECKING

from vicinal_command.inputs import read_machine
from vicinal_command.outputs import Advance

from .exchanges import Algorithm, microseconds
from .paper import HERE, Figure, Found, Outcome, Paper, Point, Published, Scope

if TYPE_CHECKING:
    from vicinal._core import Profile

BRUCK = Algorithm("Bruck", "bruck")
HIERARCHICAL = Algorithm("hierarchical", "hierarchical")
LANES = Algorithm("multi-lane", "multi-lane")
LOCALITY = Algorithm("locality-aware Bruck", "locality-bruck")
CHOSEN = Algorithm("vicinal, automatic", "automatic", shared=True)
ALGORITHMS = (BRUCK, HIERARCHICAL, LANES, LOCALITY, CHOSEN)

MOST_NODES = 64
PER_NODE = (4, 8, 16, 32)
BLOCK = 8
BLOCKS = (4, 8, 32, 128, 512)
"""Block sizes of figure 8, which the paper models on 1,024 regions; here there are 16."""
SIZES_ON = (16, 16)
MORE = "the improvement grows with the ranks per region: of 32 over that of 4"

PUBLISHED = (
    Published(
        "over-bruck", "Bruck over locality-aware Bruck, small blocks", "section 5, figures 9 and 10", 1, math.inf
    ),
    Published("grows", MORE, "sections 4 and 5, figures 7, 9 and 10", 1, math.inf),
)
RULES = (
    "plans of algorithms 1 and 2 and of the hierarchical and multi-lane ones; all local operations are messages "
    "between cores of one socket. vicinal: shared memory",
    "the paper gives times in pictures only, so what its text says of them is all that is compared; MPI's own "
    "allgather is not simulated",
)


def _reproduce(scope: Scope, profile: Profile, advance: Advance) -> Outcome:
    most = max(4, MOST_NODES // scope.fraction)
    shapes = [(nodes, each) for each in PER_NODE for nodes in _powers(each, most)]
    points: list[Point] = []
    gains: dict[tuple[int, int], float] = {}
    ours: list[float] = []
    for number, (nodes, each) in enumerate(shapes):
        times = _times(nodes, each, BLOCK, profile)
        points += [Point(f"{each} ranks per region", name, nodes, time) for name, time in times.items()]
        gains[nodes, each] = times[BRUCK.name] / times[LOCALITY.name]
        ours.append(times[LOCALITY.name] / times[CHOSEN.name])
        advance((number + 1) / (len(shapes) + 1))
    nodes, each = (max(2, side // scope.fraction) for side in SIZES_ON)
    sizes = [
        Point("", name, block, time) for block in BLOCKS for name, time in _times(nodes, each, block, profile).items()
    ]
    advance(1)
    few, many = (max(gain for (_, each), gain in gains.items() if each == per) for per in (shapes[0][1], shapes[-1][1]))
    return Outcome(
        figures=[
            Figure(
                "figure-10", "two integers per rank", "nodes", "simulated time (µs)", points, log_x=True, log_y=True
            ),
            Figure(
                "figure-8", "blocks of several sizes", "bytes per rank", "simulated time (µs)", sizes, log_x=True,
                log_y=True,
            ),
        ],
        found=[
            Found("over-bruck", min(gains.values()), max(gains.values())),
            Found.one("grows", many / few),
            Found.one(
                f"{HERE}-mean", geometric_mean(ours), "locality-aware Bruck over vicinal's automatic, geometric mean"
            ),
            Found(f"{HERE}-range", min(ours), max(ours), "the same, least and most"),
        ],
    )


def _powers(base: int, most: int) -> list[int]:
    """Powers of the ranks per region, as in the paper; if none fits, `most`."""
    found = [base**power for power in range(1, 7) if base**power <= most]
    return found or [most]


def _times(nodes: int, per_node: int, block: int, profile: Profile) -> dict[str, float]:
    from vicinal import _core

    ranks = nodes * per_node
    machine = read_machine(f"blocks:{per_node}", ranks, one_socket=True)
    patterns = _core.allgather_patterns(ranks, 1)
    found = {}
    for algorithm in ALGORITHMS:
        plans = algorithm.plan(patterns, block, machine, profile, one_block=True, complete=True)
        found[algorithm.name] = microseconds(plans, profile, block)
    return found


PAPER = Paper(
    "bienz2022", "Bienz, Gautam and Kharel 2022, a locality-aware Bruck allgather", PUBLISHED, _reproduce, RULES
)
