"""`make simgrid`: compares the price of plans with their times on SimGrid's simulated MPI.

    python tools/confirm_prices.py [--profile FILE] [--all] [--no-install]

The tool runs 128 ranks in regions of 16, with four patterns (random, two- and three-dimensional
halos, a hub), four message sizes and every strategy. The network is flat, or the 16 ranks of a
region share a port. Plans use no shared memory, since SMPI knows messages only, and a profile that
SMPI can represent (tools/smpi.py).

A table shows the deviations and their limits. The exit status is 1 if a limit is exceeded. Root
installs SimGrid with apt-get if it is missing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import numpy as np  # noqa: E402  (found through the path set above)
import smpi  # noqa: E402
from integration_runs import Needs, NotRunError  # noqa: E402
from vicinal import _core  # noqa: E402

RANKS = 128
REGION = 16
SIZES = (8, 512, 8192, 65536)
LARGE = 8192
NETWORKS = ("flat", "ports")
# Load of the busiest link or port, as a fraction of the total time. Below FREE there is no
# contention, above FULL bytes dominate.
FREE, FULL = 0.1, 0.5
DIRECT, MEDIAN, SINGLE, CONTENDED, BEST = 0.02, 0.05, 0.20, 0.15, 0.05

Edges = set[tuple[int, int]]


# ---- programs -------------------------------------------------------------------------------------


def random_edges(ranks: int = RANKS) -> Edges:
    """Returns edges from each rank to ten others."""
    rng = np.random.default_rng(13)
    return {
        (rank, (rank + 1 + int(other)) % ranks)
        for rank in range(ranks) for other in rng.choice(ranks - 1, 10, replace=False)
    }


def halo_edges(shape: tuple[int, ...]) -> Edges:
    """Returns edges between neighbors in a periodic grid, also across edges and corners."""
    ranks = np.arange(np.prod(shape)).reshape(shape)
    steps = [tuple(step - 1 for step in steps) for steps in np.ndindex(*(3 for _ in shape))]
    axes = tuple(range(len(shape)))
    edges: Edges = set()
    for step in steps:
        edges |= set(zip(ranks.ravel().tolist(), np.roll(ranks, step, axes).ravel().tolist(), strict=True))
    return {(a, b) for a, b in edges if a != b}


def hub_edges() -> Edges:
    """Returns a ring, with edges between rank 0 and every other rank."""
    ring = {(rank, (rank + 1) % RANKS) for rank in range(RANKS)}
    return ring | {(0, rank) for rank in range(1, RANKS)} | {(rank, 0) for rank in range(1, RANKS)}


PATTERNS: dict[str, Callable[[], Edges]] = {
    "random": random_edges,
    "2-D halo": lambda: halo_edges((16, 8)),
    "3-D halo": lambda: halo_edges((8, 4, 4)),
    "hub": hub_edges,
}


def patterns_of(edges: Edges, count: int, new: float = 0.5, ranks: int = RANKS) -> _core.Patterns:
    """Returns patterns with `count` items per edge, of which the fraction `new` is new.

    The others repeat the last items of the rank's previous edge.
    """
    out: list[list[tuple[int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    into: list[list[tuple[int, int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    for source, destination in sorted(edges):
        first = int(len(out[source]) * count * new)
        out[source].append((destination, [(first, first, count)]))
        into[destination].append((source, count, [(0, len(into[destination]) * count, count)]))
    return _core.Patterns.from_edges(out, into, True)


def machine_of(network: str, ranks: int = RANKS) -> _core.Machine:
    regions = np.arange(ranks, dtype=np.int32) // REGION
    return _core.Machine(regions, np.arange(ranks, dtype=np.int32) if network == "flat" else regions)


@dataclass(frozen=True)
class Compared:
    """A program with its price and its simulated time in seconds."""

    network: str
    pattern: str
    bytes: int
    strategy: str
    price: float
    smpi: float
    load: float
    """Time that the busiest link or port needs for its bytes alone, as a fraction of SMPI's
    time."""

    @property
    def case(self) -> tuple[str, str, int]:
        return self.network, self.pattern, self.bytes

    @property
    def ratio(self) -> float:
        return self.price / self.smpi

    @property
    def contended(self) -> bool:
        return self.bytes >= LARGE and self.load >= FULL


def compare(network: str, pattern: str, sizes: Iterable[int], profile: _core.Profile, folder: Path) -> list[Compared]:
    """Returns the price and simulated time of every strategy's plans of that pattern on that
    network."""
    of = smpi.plain(profile, flat=network == "flat")
    machine = machine_of(network)
    edges = PATTERNS[pattern]()
    programs: list[_core.PlanSet] = []
    found: list[tuple[str, int, str, float]] = []
    for size in sizes:
        wanted = patterns_of(edges, size // smpi.ELEMENT_BYTES)
        for strategy, _ in _core.strategies(with_reverse=False, one_block=False):
            plans = _core.PlanSet.plan(strategy, machine, wanted, shared_memory=False,
                                       element_bytes=smpi.ELEMENT_BYTES, profile=of.profile)
            programs.append(plans)
            found.append((pattern, size, strategy, plans.price(of.profile, smpi.ELEMENT_BYTES)["seconds"]))
    times = smpi.simulate(programs, machine, of, folder)
    return [
        Compared(network, *program, seconds, smpi.busiest(plans, machine, of) / seconds)
        for program, plans, seconds in zip(found, programs, times, strict=True)
    ]


# ---- requirements ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """A line of the table."""

    what: str
    ratios: list[float]
    required: str
    good: bool

    def line(self) -> str:
        numbers = (median(self.ratios), min(self.ratios), max(self.ratios)) if self.ratios else ()
        ratios = " ".join(f"{number:7.3f}" for number in numbers)
        verdict = "passed" if self.good else "FAILED"
        return f"{self.what:36} {len(self.ratios):8} {ratios:23}   {self.required:24} {verdict}"


HEADING = f"{'price / SMPI':36} {'programs':>8} {'median':>7} {'lowest':>7} {'highest':>7}   required"


def within(ratio: float, limit: float) -> bool:
    """Returns whether the two times differ by at most `limit`, relative to either."""
    return 1 / (1 + limit) <= ratio <= 1 + limit


def single(what: str, programs: Sequence[Compared], limit: float) -> Finding:
    ratios = [it.ratio for it in programs]
    return Finding(what, ratios, f"each within {limit:.0%}", all(within(ratio, limit) for ratio in ratios))


def agreeing(programs: Sequence[Compared]) -> Finding:
    """Finds for each case the strategy that is nearest to the best, in the worse of its two
    ratios."""
    ratios = []
    for case in dict.fromkeys(it.case for it in programs):
        rows = [it for it in programs if it.case == case]
        prices, times = min(it.price for it in rows), min(it.smpi for it in rows)
        ratios.append(min(max(it.price / prices, it.smpi / times) for it in rows))
    good = all(ratio <= 1 + BEST for ratio in ratios)
    return Finding("a strategy near the best of both", ratios, f"in each case within {BEST:.0%}", good)


def findings(programs: Sequence[Compared]) -> list[Finding]:
    free = [it for it in programs if it.strategy == "direct" and it.bytes < LARGE and it.load < FREE]
    contended = [it for it in programs if it.contended]
    others = [it for it in programs if it not in free and not it.contended]
    result = [single("direct, small, nobody in the way", free, DIRECT)]
    for strategy in dict.fromkeys(it.strategy for it in others):
        ratios = [it.ratio for it in others if it.strategy == strategy]
        good = within(median(ratios), MEDIAN) and all(within(ratio, SINGLE) for ratio in ratios)
        result.append(Finding(strategy, ratios, f"median {MEDIAN:.0%}, each {SINGLE:.0%}", good))
    for network in dict.fromkeys(it.network for it in contended):
        rows = [it for it in contended if it.network == network]
        result.append(single(f"large, contended, {network}", rows, CONTENDED))
    return [*result, agreeing(programs)]


def show(programs: Sequence[Compared]) -> None:
    heading = f"{'network':8}{'pattern':10}{'bytes':>6}  {'strategy':24}"
    print(f"{heading}{'price, us':>11}{'SMPI, us':>11}{'ratio':>8}{'load':>6}")
    for it in programs:
        program = f"{it.network:8}{it.pattern:10}{it.bytes:6}  {it.strategy:24}"
        print(f"{program}{it.price * 1e6:11.3f}{it.smpi * 1e6:11.3f}{it.ratio:8.3f}{it.load:6.2f}")
    print()


# ---- running --------------------------------------------------------------------------------------


def main(given: argparse.Namespace) -> int:
    if not smpi.installed():
        Needs(not given.no_install).packages(smpi.PACKAGE)
    profile = _core.Profile.read(given.profile) if given.profile else _core.Profile.default()
    parts = [(network, pattern) for network in NETWORKS for pattern in PATTERNS]
    with tempfile.TemporaryDirectory() as work, smpi.simulations() as pool:
        # Separate simulations, because a long one slows down.
        done = pool.map(lambda part: compare(part[0], part[1], SIZES, profile, Path(work, "-".join(part))), parts)
        programs = [program for part in done for program in part]
    if given.all:
        show(programs)
    print(HEADING)
    lines = findings(programs)
    for finding in lines:
        print(finding.line())
    return int(not all(finding.good for finding in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", help="the machine (default: the built-in profile)")
    parser.add_argument("--all", action="store_true", help="a line for each program, too")
    parser.add_argument("--no-install", action="store_true", help="use what is there")
    try:
        sys.exit(main(parser.parse_args()))
    except (smpi.SmpiError, NotRunError) as fault:
        sys.exit(f"vicinal: {fault}")
