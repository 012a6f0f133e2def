"""Collom, Li and Bienz 2023: persistent neighborhood collectives in the V-cycle of an algebraic multigrid solver.

It simulates what `vicinal bench amg` shows: the halo exchange of each level's matrix, by the
paper's three algorithms and by vicinal's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vicinal_command.outputs import Advance, CommandError

from ..benchmarks.amg_levels import (
    CHOSEN,
    CONTESTANTS,
    DEDUPLICATING,
    IDLE_LEAD,
    STANDARD,
    Hierarchies,
    LevelRow,
    by_level,
    level_rows,
    machine_of,
    sum_levels,
)
from ..benchmarks.hierarchy import BYTES_PER_ROW
from .paper import HERE, Figure, Found, Outcome, Paper, Point, Published, Scope

if TYPE_CHECKING:
    from vicinal._core import Profile

RANKS = (32, 64, 128, 256, 512, 1024, 2048)
PER_SOCKET = 16
ROWS, ROWS_PER_RANK = 524_288, 16_384
MOST = RANKS[-1]
AGGREGATING = "aggregating"

PUBLISHED = (
    Published.one(
        "strong-aggregating", "524,288 rows on 2,048 ranks: standard over aggregating", "section 4.4, figure 11a", 1.32
    ),
    Published.one("strong-deduplicating", "the same over deduplicating", "section 4.4, figure 11a", 1.39),
    Published.one(
        "weak-aggregating", "16,384 rows per rank, 2,048 ranks: standard over aggregating", "section 4.4, figure 11b",
        1.96,
    ),
    Published.one("weak-deduplicating", "the same over deduplicating", "section 4.4, figure 11b", 2.17),
    Published.one(
        "bytes-saved", "most bytes of a rank to other regions that deduplicating saves, on a level",
        "section 4.3, figure 9", 35, "%",
    ),
)
RULES = (
    "standard, aggregating, deduplicating: plans of algorithms 1 to 6, ranks of a region handing each other everything "
    "by messages between cores of one socket, with the standard on levels where it is faster",
    "not as in the paper: PyAMG's hierarchy of bilinear elements in the place of hypre's of a 7-point stencil; no rank "
    "waits for a whole step of its region before it goes on, and exchanges begin at one instant",
)


def _reproduce(scope: Scope, profile: Profile, advance: Advance) -> Outcome:
    outcome = Outcome()
    # At least as many ranks as two sockets have.
    ranks = [count // scope.fraction for count in RANKS if count // scope.fraction >= 2 * PER_SOCKET]
    if not ranks:
        raise CommandError(
            f"1/{scope.fraction} of {MOST:,} ranks are fewer than two sockets of {PER_SOCKET}; give a smaller "
            "--fraction"
        )
    hierarchies = Hierarchies()
    steps = 2 * len(ranks)
    scaling: dict[str, list[dict[str, Any]]] = {}
    for number, kind in enumerate(("strong", "weak")):
        rows: list[LevelRow] = []
        for index, count in enumerate(ranks):
            size = ROWS // scope.fraction if kind == "strong" else ROWS_PER_RANK * count
            if scope.memory is not None and size * BYTES_PER_ROW > scope.memory * 1e9:
                needed = f"{size:,} rows take {size * BYTES_PER_ROW / 1e9:.1f} GB"
                outcome.notes.append(f"{kind} scaling ends before {count:,} ranks: {needed}")
                break
            try:
                levels = hierarchies.levels(size, count, PER_SOCKET)
            except CommandError as error:
                outcome.notes.append(f"{kind} scaling ends before {count:,} ranks: {error}")
                break
            machine = machine_of(count, PER_SOCKET)
            for level in levels:
                rows += level_rows(level, machine, profile)
            advance((number * len(ranks) + index + 1) / steps)
        scaling[kind] = sum_levels(rows)
        _keep(outcome, kind, scaling[kind], rows, most=ranks[-1])
    outcome.figures.insert(0, _scaling(scaling, scope))
    return outcome


def _keep(outcome: Outcome, kind: str, sums: Sequence[dict[str, Any]], rows: Sequence[LevelRow], *, most: int) -> None:
    if not sums:
        return
    last = sums[-1]
    gains = {name: last[STANDARD] / last[name] for name in (AGGREGATING, DEDUPLICATING, CHOSEN)}
    at = f"{kind} scaling, {last['ranks']:,} ranks"
    # The paper's numbers are those of its most ranks. Results on fewer ranks have other keys.
    suffix = "" if last["ranks"] == most else f"-at-{last['ranks']}"
    for name in (AGGREGATING, DEDUPLICATING):
        outcome.found.append(Found.one(f"{kind}-{name}{suffix}", gains[name], f"{at}: standard over {name}"))
    outcome.found.append(
        Found.one(f"{HERE}-{kind}-standard", gains[CHOSEN], f"{at}: standard over vicinal's automatic")
    )
    over = f"{at}: deduplicating over vicinal's automatic"
    outcome.found.append(Found.one(f"{HERE}-{kind}-published", last[DEDUPLICATING] / last[CHOSEN], over))
    outcome.found.append(
        Found.one(f"{HERE}-{kind}-idle-lead", last[DEDUPLICATING] / last[IDLE_LEAD], f"{over}, with idle ranks leading")
    )
    if kind == "strong":
        levels = by_level(rows, last["ranks"])
        outcome.found.append(Found.one("bytes-saved", max(map(_saved, levels)), unit="%"))
        outcome.figures += _of_levels(levels)


def _saved(level: dict[str, LevelRow]) -> float:
    plain, once = (level[name]["nonlocal_bytes_max"] or 0 for name in (AGGREGATING, DEDUPLICATING))
    return 100 * (1 - once / plain) if plain else 0.0


def _of_levels(levels: Sequence[dict[str, LevelRow]]) -> list[Figure]:
    """Figures 8 to 10: messages, bytes and times by level."""

    def points(panel: str, key: str, factor: float = 1.0) -> list[Point]:
        return [
            Point(panel, each.name, row["level"], (row[key] or 0) * factor)  # type: ignore[literal-required]
            for each in CONTESTANTS
            for row in (level[each.name] for level in levels)
        ]

    return [
        Figure(
            "figure-8", "messages by level", "level", "most messages of a rank to other regions",
            points("", "nonlocal_messages_max"),
        ),
        Figure(
            "figure-9", "bytes by level", "level", "most bytes of a rank to other regions",
            points("", "nonlocal_bytes_max"),
        ),
        Figure("figure-10", "time by level", "level", "simulated time (µs)", points("", "predicted_us")),
    ]


def _scaling(scaling: dict[str, list[dict[str, Any]]], scope: Scope) -> Figure:
    """Figure 11: times of all levels by ranks, and the text's numbers for the most ranks."""
    points = [
        Point(f"{kind} scaling", each.name, case["ranks"], case[each.name])
        for kind, cases in scaling.items()
        for each in CONTESTANTS
        for case in cases
    ]
    published = [
        Point(f"{kind} scaling", name, case["ranks"], case[STANDARD] / each.low)
        for kind, cases in scaling.items()
        for name in (AGGREGATING, DEDUPLICATING)
        for each in PUBLISHED
        for case in cases
        if each.key == f"{kind}-{name}" and case["ranks"] == MOST and scope.fraction == 1
    ]
    return Figure(
        "figure-11", "one exchange on every level", "ranks", "simulated time (µs)", points, published, log_x=True,
        log_y=True,
    )


PAPER = Paper(
    "collom2023", "Collom, Li and Bienz 2023, neighborhood collectives with locality in AMG", PUBLISHED, _reproduce,
    RULES,
)
