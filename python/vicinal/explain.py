"""`vicinal explain`: what each strategy would send for a matrix, at any number of ranks.

Nothing is launched: planners run on virtual ranks in this process, and the verifier, which then sees
the plans of all ranks, proves that they do what the matrix asks for.  Every region is taken to be a
host of its own.  No times are given, since nothing was run.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrices import Matrix, block_starts, needed_pairs, read_matrix
from .outputs import CommandError, OutputFile, progress
from .tables import Counts, Row, as_json, make_row, show

PLANNED_BYTES = 8
"""A halo is planned before the type of its values is known, as for 8 bytes each."""


@dataclass(frozen=True)
class Explained:
    """What is kept of a strategy's plans once they are gone."""

    row: Row
    counts: Counts
    messages: npt.NDArray[Any]
    """Region by region (from, to)."""
    bytes: npt.NDArray[Any]


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
    verify: bool
    json: OutputFile | None
    plot: OutputFile | None
    goal: OutputFile | None
    rank: int | None


def explain(request: Request) -> int:
    """Plan, prove and count; show the table and write the files.  Returns the exit status."""
    from . import _core

    labels = _core.read_regions(request.regions, request.ranks)
    machine = _core.Machine(labels, labels)
    matrix = read_matrix(request.matrix)
    starts = block_starts(matrix, request.ranks)
    patterns = _core.halo_patterns(request.ranks, starts, *needed_pairs(matrix, starts))

    explained = []
    steps = 2 if request.verify else 1
    with progress("planning", steps * len(request.strategies)) as advance:
        for index, strategy in enumerate(request.strategies):
            plans = _core.plan(strategy, machine, patterns, element_bytes=PLANNED_BYTES)
            advance(steps * index + 1)
            correct = _prove(plans, patterns, strategy) if request.verify else None
            advance(steps * (index + 1))
            counts = plans.statistics()
            messages, elements = plans.region_traffic()
            row = make_row(strategy, counts, matrix.value_bytes, correct)
            explained.append(Explained(row, counts, messages, elements * matrix.value_bytes))
            if strategy == request.chosen:
                _details(request, plans, matrix)
            # Plans of thousands of ranks are large: those of one strategy at a time.
            del plans
            gc.collect()

    rows = [it.row for it in explained]
    if request.json:
        request.json.write_text(as_json(rows))
    if request.plot:
        _plot(request.plot, matrix, request, explained)
    regions = len(np.unique(labels))
    title = (
        f"{Path(matrix.name).name}: {matrix.rows:,} rows on {request.ranks:,} virtual ranks in {regions:,} regions"
    )
    notes = ["no times: nothing was run"]
    if not request.verify:
        notes.append("plans not verified (--no-verify)")
    show(title, rows, notes, timed=False)
    return 0 if all(row["correct"] is not False for row in rows) else 1
