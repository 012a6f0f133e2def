"""`vicinal explain`: what each strategy would send for a matrix, at any number of ranks.

Nothing is launched: planners run on virtual ranks in this process, and the verifier, which then sees
the plans of all ranks, proves that they do what the matrix asks for.  Every region is taken to be a
host of its own.  No times are given, since nothing was run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal import Error

from .matrices import Matrix, block_starts, needed_pairs, read_matrix
from .outputs import CommandError, OutputFile, interruptible, progress
from .tables import LOCAL_NOTE, Explained, as_json, make_row, show

if TYPE_CHECKING:
    from vicinal._core import Patterns, PlanSet

PLANNED_BYTES = 8
"""A halo is planned before the type of its values is known, as for 8 bytes each."""

VERIFY_SECONDS = 30
"""Once this long has passed, plans are verified only where the user insists."""


@dataclass(frozen=True)
class Request:
    """What `vicinal explain` was asked for."""

    matrix: str
    ranks: int
    regions: str
    strategies: Sequence[str]
    """The baseline first."""
    chosen: str | None
    """The one strategy asked for, if it was one."""
    verify: bool | None
    """None: as long as the time allows."""
    json: OutputFile | None
    plot: OutputFile | None
    goal: OutputFile | None
    rank: int | None


def explain(request: Request) -> int:
    """Plan, prove and count; show the table and write the files.  Returns the exit status."""
    from vicinal import _core

    begin = time.monotonic()
    matrix = read_matrix(request.matrix)
    starts = block_starts(matrix, request.ranks)
    labels = _core.read_regions(request.regions, request.ranks)
    machine = _core.Machine(labels, labels)
    patterns = _core.halo_patterns(request.ranks, starts, *needed_pairs(matrix, starts))

    explained, findings = [], []
    with progress("planning", 2 * len(request.strategies)) as advance:
        for index, strategy in enumerate(request.strategies):
            plan = partial(_core.PlanSet.plan, strategy, machine, patterns, element_bytes=PLANNED_BYTES)
            plans = interruptible(plan)
            advance(2 * index + 1)
            in_time = time.monotonic() - begin < VERIFY_SECONDS
            correct = None
            if request.verify or (request.verify is None and in_time):
                finding = _prove(plans, patterns)
                findings += [f"{strategy}: {finding}"] if finding else []
                correct = finding is None
            advance(2 * (index + 1))
            explained.append(_keep(strategy, plans, matrix, correct))
            if strategy == request.chosen:
                text = _details(request, plans, matrix)
            # Plans of thousands of ranks are large: those of one strategy at a time.
            del plans, plan

    rows = [it.row for it in explained]
    if request.json:
        request.json.write_text(as_json(rows))
    where = f"{matrix.rows:,} rows on {request.ranks:,} virtual ranks in {machine.regions:,} regions"
    title = f"{Path(matrix.name).name}: {where}"
    if request.plot:
        _plot(request.plot, title, explained)
    notes = ["no times: nothing was run", LOCAL_NOTE]
    if request.verify is False:
        notes.append("plans were not verified, as asked by --no-verify")
    elif any(row["correct"] is None for row in rows):
        notes.append(f"after {VERIFY_SECONDS} s, plans were no longer verified; --verify insists")
    show(title, rows, notes, timed=False)
    if request.rank is not None:
        print(text)
    if findings:
        raise CommandError(f"a plan does not do what it should: {findings[0]}; please report this")
    return 0


def _prove(plans: PlanSet, patterns: Patterns) -> str | None:
    """What the verifier finds fault with, if anything."""
    try:
        interruptible(lambda: plans.verify(patterns))
    except Error as error:
        return str(error)
    return None


def _keep(strategy: str, plans: PlanSet, matrix: Matrix, correct: bool | None) -> Explained:
    counts = plans.statistics()
    messages, elements = plans.region_traffic()
    row = make_row(strategy, counts, matrix.value_bytes, correct)
    return Explained(row, counts["nonlocal_messages"], messages, elements * matrix.value_bytes)


def _details(request: Request, plans: PlanSet, matrix: Matrix) -> str:
    """Write the GOAL program and return the text of a rank's plan, where they are asked for."""
    if request.goal:
        request.goal.write_text(plans.goal(matrix.value_bytes, _copied_bytes_per_nanosecond()))
    return plans.text(request.rank) if request.rank is not None else ""


def _copied_bytes_per_nanosecond() -> float:
    """The rate at which GOAL programs compute with copies: that of the library's machine profile."""
    from vicinal import _core

    return 1e-9 / _core.Profile.default().copy_seconds_per_byte


def _plot(file: OutputFile, title: str, explained: Sequence[Explained]) -> None:
    """The baseline beside the strategy that sends the fewest messages between regions."""
    from .plots import plot_traffic

    before, *others = explained
    after = min(others, key=lambda it: (it.row["nonlocal_messages"], it.row["nonlocal_bytes"]), default=before)
    file.write(lambda path: plot_traffic(path, file.kind, title, before, after))
