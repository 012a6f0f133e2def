"""`vicinal bench allgather`: planners of allgathers over all ranks, timed beside MPI_Allgather, or counted.

Timing works as in the other benchmarks (competition.py), on the ranks of ranks/allgather.py.
Counting starts no ranks: it plans for virtual ranks, counts their messages, and predicts the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from vicinal_command.outputs import progress
from vicinal_command.prices import profile_of
from vicinal_command.ranks.process import COUNTED
from vicinal_command.report import tables_beside
from vicinal_command.rows import Counts
from vicinal_command.tables import Column, in_bytes, show, size, timed, whole

from ..ranks.allgather import BY_HAND
from .competition import MPI_AGAIN, MPI_OWN, Terms, compete, conclude
from .tables import CONTESTANT, TIMES, VERDICT, WORKLOAD, Timed, per_rank

BUILDS = 3
"""Number of set-ups of each contestant; the fastest counts."""

_MESSAGES = (
    Column("non-local\nmessages", whole("nonlocal_messages")),
    Column("most\nper rank", whole("nonlocal_messages_max")),
)
TIMED_COLUMNS = (
    WORKLOAD, CONTESTANT, Column("set-up", timed("setup_us")), *TIMES, *_MESSAGES, VERDICT,
)
COUNTED_COLUMNS = (
    WORKLOAD,
    CONTESTANT,
    *_MESSAGES,
    Column("non-local\nbytes", in_bytes("nonlocal_bytes")),
    Column("most\nper rank", in_bytes("nonlocal_bytes_max")),
    Column("local\nper rank", per_rank("local_messages")),
    Column("predicted", timed("predicted_us")),
)


class Counted(TypedDict):
    """Messages of all ranks for one planner, per allgather; None if unknown."""

    nonlocal_messages: int | None
    nonlocal_messages_max: int | None
    nonlocal_bytes: int | None
    nonlocal_bytes_max: int | None
    local_messages: int | None


class TimedRow(Timed, Counted):
    """One contestant's results with one block size."""

    block_bytes: int
    setup_us: float


class CountedRow(Counted):
    """One planner's counts and prediction with one block size, without running ranks."""

    workload: str
    ranks: int
    regions: int
    block_bytes: int
    strategy: str
    predicted_us: float
    """Price of the plans: time until the last rank is done."""


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench allgather`."""

    ranks: int
    sizes: Sequence[int]
    """Bytes per rank."""
    local: str
    """Transport of blocks between ranks of a region: "shared" or "messages"."""
    terms: Terms


def planners() -> list[str]:
    """Returns the planners made for allgathers over all ranks, and "automatic"."""
    from vicinal import _core

    others = dict([*_core.strategies(), *_core.strategies(one_block=False, complete=True)])
    return ["automatic", *(name for name, _ in _core.strategies(complete=True) if name not in others)]


def allgather(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    terms = replace(request.terms, contestants=[BY_HAND, *request.terms.contestants])
    cases = [{"block_bytes": each, "local": request.local} for each in request.sizes]
    results = compete(terms, "allgather", request.ranks, cases, {}, BUILDS)
    rows = []
    for number, block_bytes in enumerate(request.sizes):
        for index, contestant in enumerate(terms.all_contestants):
            row = TimedRow(
                workload=_workload(block_bytes),
                ranks=request.ranks,
                block_bytes=block_bytes,
                strategy=contestant,
                setup_us=results.setup_us(number, index),
                **results.measured(number, index),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                nonlocal_bytes=None,
                nonlocal_bytes_max=None,
                local_messages=None,
                correct=results.correct(number, index),
            )
            if contestant not in (MPI_OWN, BY_HAND, MPI_AGAIN):
                of_planner = dict(zip(COUNTED, results.counts(number, index).T, strict=True))
                row.update(_count(of_planner, 1))
            rows.append(row)
    title = f"allgather on {request.ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}, local: {request.local}"
    notes = [
        *terms.notes("exchange", "MPI_Allgather"),
        f"{BY_HAND}: as a program would write it, with MPI_Sendrecv",
        f"set-up: the best of {BUILDS}",
    ]
    panels = {_workload(each): [row for row in rows if row["block_bytes"] == each] for each in request.sizes}
    facts = {**results.facts, "local": request.local}
    return conclude(terms, title, TIMED_COLUMNS, notes, rows, panels, facts)


def count(request: Request) -> int:
    """Plans for virtual ranks and counts; shows and writes the rows. Returns the exit status."""
    from vicinal import _core

    terms = request.terms
    profile = profile_of(None)
    labels = _core.read_regions(terms.regions, request.ranks)
    machine = _core.Machine(labels, labels)
    patterns = _core.allgather_patterns(request.ranks, 1)
    rows: list[CountedRow] = []
    with progress("planning", len(request.sizes) * len(terms.contestants)) as advance:
        for block_bytes in request.sizes:
            for planner in terms.contestants:
                plans = _core.PlanSet.plan(
                    planner, machine, patterns, shared_memory=request.local == "shared", one_block=True,
                    complete=True, element_bytes=block_bytes, profile=profile,
                )
                rows.append(CountedRow(
                    workload=_workload(block_bytes),
                    ranks=request.ranks,
                    regions=machine.regions,
                    block_bytes=block_bytes,
                    strategy=planner,
                    **_count(plans.statistics(), block_bytes),
                    predicted_us=round(plans.price(profile, block_bytes)["seconds"] * 1e6, 3),
                ))
                advance(len(rows))
    if terms.json:
        facts = {"ranks": request.ranks, "regions": terms.regions, "region_count": machine.regions}
        terms.json.write(rows, facts, profile.name)
    notes = [
        f"predicted: until the last rank is done, by the profile {profile.name}",
        "every region is taken to be a host",
    ]
    title = f"allgather on {request.ranks:,} virtual ranks in {machine.regions:,} regions, local: {request.local}"
    show(title, rows, COUNTED_COLUMNS, notes, stream=tables_beside(terms.json))
    return 0


def _workload(block_bytes: int) -> str:
    return f"{size(block_bytes)} per rank"


def _count(counts: Counts, element_bytes: int) -> Counted:
    return Counted(
        nonlocal_messages=int(counts["nonlocal_messages"].sum()),
        nonlocal_messages_max=int(counts["nonlocal_messages"].max()),
        nonlocal_bytes=int(counts["nonlocal_elements"].sum()) * element_bytes,
        nonlocal_bytes_max=int(counts["nonlocal_elements"].max()) * element_bytes,
        local_messages=int(counts["local_messages"].sum()),
    )
