"""`vicinal bench alltoallv`: alltoalls with counts over all ranks, timed beside MPI_Alltoallv.

The sizes of all ranks' blocks are drawn here: equal, or by a power law. Timing works as in the
other benchmarks (competition.py), on the ranks of ranks/alltoallv.py. If the regions are known in
advance, each planner's predicted time is shown beside the measured one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vicinal_command.inputs import edge_patterns
from vicinal_command.matrices import Integers
from vicinal_command.outputs import CommandError, progress
from vicinal_command.prices import profile_of
from vicinal_command.ranks.process import COUNTED
from vicinal_command.tables import Column, size, timed, whole

from ..ranks.alltoallv import CALLS, planner_and_radix
from .competition import MPI_AGAIN, MPI_OWN, Terms, compete, conclude
from .tables import CONTESTANT, TIMES, VERDICT, WORKLOAD, Timed

EXPONENT = 1.5
"""Exponent of the power law: one block in k**1.5 is k times the least."""
MOST = 64
"""Upper limit of a block's size, as a multiple of the least."""
COUNTS = ("uniform", "power-law")
USUAL = (
    "automatic", "direct", "aggregate-plain", "split", "tuna", "tuna/2", "tuna/4", "tuna/8", "tuna-hierarchical", CALLS,
)

COLUMNS = (
    WORKLOAD, CONTESTANT, Column("set-up", timed("setup_us")), *TIMES,
    Column("predicted", timed("predicted_us")),
    Column("non-local\nmessages", whole("nonlocal_messages")), Column("most\nper rank", whole("nonlocal_messages_max")),
    VERDICT,
)


class Row(Timed):
    """One contestant's results in one case."""

    counts: str
    block_bytes: int
    """Mean bytes from one rank to another."""
    setup_us: float
    predicted_us: float | None
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None


@dataclass(frozen=True)
class Case:
    """Bytes from rank s to rank d: bytes[s, d]."""

    counts: str
    block_bytes: int
    bytes: Integers

    @property
    def name(self) -> str:
        return f"{size(self.block_bytes)}, {self.counts}"


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench alltoallv`."""

    ranks: int
    sizes: Sequence[int]
    counts: Sequence[str]
    predicted: bool
    """True if the regions are known in advance, so that times are predicted."""
    terms: Terms


def alltoallv(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    terms = request.terms
    cases = [Case(kind, each, drawn(kind, request.ranks, each)) for kind in request.counts for each in request.sizes]
    prices = predicted(request, cases) if request.predicted else [{} for _ in cases]
    arrays = {f"{number}-bytes": case.bytes for number, case in enumerate(cases)}
    results = compete(terms, "alltoallv", request.ranks, [{} for _ in cases], arrays)
    rows = []
    for number, case in enumerate(cases):
        for index, contestant in enumerate(terms.all_contestants):
            row = Row(
                workload=case.name,
                ranks=request.ranks,
                counts=case.counts,
                block_bytes=case.block_bytes,
                strategy=contestant,
                setup_us=results.setup_us(number, index),
                **results.measured(number, index),
                predicted_us=prices[number].get(contestant),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                correct=results.correct(number, index),
            )
            if contestant not in (MPI_OWN, CALLS, MPI_AGAIN):
                sent = results.counts(number, index)[:, COUNTED.index("nonlocal_messages")]
                row["nonlocal_messages"], row["nonlocal_messages_max"] = int(sent.sum()), int(sent.max())
            rows.append(row)
    title = f"alltoallv on {request.ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}"
    notes = [
        *terms.notes("exchange", "MPI_Alltoallv"),
        f"power-law: one block in k^{EXPONENT} is k times the least, below {MOST} times; sizes are means",
        f"{CALLS}: vicinal.Alltoallv in a loop, persistent requests else; planner/radix where one is given",
    ]
    if request.predicted:
        notes.append(f"predicted: by the profile {profile_of(terms.profile).name}")
    panels = {case.name: [row for row in rows if row["workload"] == case.name] for case in cases}
    return conclude(terms, title, COLUMNS, notes, rows, panels, {**results.facts, "exponent": EXPONENT, "most": MOST})


def drawn(kind: str, ranks: int, block_bytes: int) -> Integers:
    """Draws block sizes in whole bytes, with mean `block_bytes` approximately. Deterministic."""
    if kind == "uniform":
        return np.full((ranks, ranks), block_bytes, np.int64)
    generator = np.random.default_rng([ranks, block_bytes])
    # By inversion: the share of blocks larger than k is k**-EXPONENT.
    multiples = np.minimum(generator.random((ranks, ranks)) ** (-1 / EXPONENT), MOST)
    found: Integers = np.rint(multiples * (block_bytes / multiples.mean())).astype(np.int64)
    return found


def predicted(request: Request, cases: Sequence[Case]) -> list[Mapping[str, float]]:
    """Predicted times by contestant, in microseconds, if every region is a host."""
    from vicinal import _core

    terms, profile = request.terms, profile_of(request.terms.profile)
    labels = _core.read_regions(terms.regions, request.ranks)
    machine = _core.Machine(labels, labels)
    planners = [each for each in terms.contestants if each != CALLS]
    everybody = np.arange(request.ranks)
    sources, destinations = everybody.repeat(request.ranks), np.tile(everybody, request.ranks)
    found: list[Mapping[str, float]] = []
    with progress("planning", len(cases) * len(planners)) as advance:
        for case in cases:
            patterns = edge_patterns(request.ranks, sources, destinations, case.bytes.ravel())
            prices = {}
            for contestant in planners:
                planner, radix = planner_and_radix(contestant)
                plans = _core.PlanSet.plan(
                    planner, machine, patterns, complete=True, element_bytes=1, radix=radix, profile=profile
                )
                prices[contestant] = round(plans.price(profile, 1)["seconds"] * 1e6, 3)
                advance(len(found) * len(planners) + len(prices))
            found.append(prices)
    return found


def check_contestants(asked: str) -> list[str]:
    """The contestants in `asked`: planners, perhaps with a radix after a slash, and CALLS."""
    from vicinal import _core

    if asked == "all":
        return [*USUAL]
    known = [name for name, _ in _core.strategies(one_block=False, complete=True)]
    names = [name.strip() for name in asked.split(",")]
    for name in names:
        planner, slash, radix = name.partition("/")
        forwards = planner in ("tuna", "tuna-hierarchical")
        if name == CALLS or (planner in known and (not slash or (forwards and radix.isdigit() and int(radix) >= 2))):
            continue
        raise CommandError(
            f"there is no contestant '{name}'; choose all or some of {', '.join([*known, CALLS])}; tuna and "
            "tuna-hierarchical may have a radix of 2 or more after a slash, as tuna/4"
        )
    return list(dict.fromkeys(names))
