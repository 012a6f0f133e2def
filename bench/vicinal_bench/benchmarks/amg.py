"""`vicinal bench amg`: halo exchanges of a multigrid hierarchy, planned and priced by level.

Nothing runs, so any scale is possible: plans are for virtual ranks, and times are their prices on a
machine's profile. A sum over the levels has one exchange of each, for the product of the level's
matrix with a vector. (With --run, amg_run.py starts ranks.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal_command.outputs import CommandError, OutputFile, progress
from vicinal_command.prices import profile_of
from vicinal_command.report import Report, tables_beside
from vicinal_command.tables import Column, duration, in_bytes, ratio, show, size, whole

from .amg_levels import (
    CHOSEN,
    CONTESTANTS,
    DEDUPLICATING,
    IDLE_LEAD,
    STANDARD,
    Hierarchies,
    LevelRow,
    by_level,
    check_ranks,
    level_rows,
    machine_of,
    sum_levels,
)
from .hierarchy import ANGLE, ANISOTROPY

if TYPE_CHECKING:
    from vicinal._core import Profile

LIKELY_LEVELS = 12
"""For the progress bar only."""
NAMES = [each.name for each in CONTESTANTS]


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench amg`."""

    rows: int | None
    """Of the finest level; None: use rows_per_rank."""
    rows_per_rank: int | None
    ranks: Sequence[int]
    ranks_per_region: int
    profile: str | None
    json: Report | None
    plot: OutputFile | None

    def rows_of(self, ranks: int) -> int:
        """Number of rows of the finest level."""
        return self.rows if self.rows is not None else (self.rows_per_rank or 1) * ranks

    def facts(self) -> dict[str, Any]:
        """Facts of the problem for the JSON output."""
        return {"angle": ANGLE, "anisotropy": ANISOTROPY, "scaling": "strong" if self.rows is not None else "weak"}


def amg(request: Request) -> int:
    """Builds, plans, prices and counts; shows tables, writes files. Returns the exit status."""
    profile = profile_of(request.profile)
    notes: list[str] = []
    for ranks in request.ranks:
        check_ranks(ranks, request.ranks_per_region)
    rows = _all_rows(request, profile, notes)
    if not rows:
        raise CommandError(notes[0])
    if request.json:
        facts = {"ranks": rows[-1]["ranks"], "regions": f"blocks:{request.ranks_per_region}", **request.facts()}
        request.json.write(rows, facts, profile.name)
    if request.plot:
        plot = request.plot
        plot.write(lambda path: _plot(path, plot.kind, rows))
    _show(request, profile, rows, notes)
    return 0


def _all_rows(request: Request, profile: Profile, notes: list[str]) -> list[LevelRow]:
    rows: list[LevelRow] = []
    hierarchies = Hierarchies()
    with progress("planning", len(request.ranks)) as advance:
        for index, ranks in enumerate(request.ranks):
            try:
                levels = hierarchies.levels(request.rows_of(ranks), ranks, request.ranks_per_region)
            except CommandError as error:
                notes.append(f"{ranks:,} ranks: not looked at, for {error}")
                continue
            machine = machine_of(ranks, request.ranks_per_region)
            for level in levels:
                rows += level_rows(level, machine, profile)
                advance(index + level.number / LIKELY_LEVELS)
    return rows


def _cell(key: str, name: str, text: Any) -> Any:
    return lambda case: text(case[name][key])


def _show(request: Request, profile: Profile, rows: Sequence[LevelRow], notes: Sequence[str]) -> None:
    stream = tables_beside(request.json)
    last = rows[-1]["ranks"]
    cases = by_level(rows, last)
    most = "nonlocal_messages_max"
    columns = [
        Column("level", _cell("level", STANDARD, str)),
        Column("\nrows", _cell("level_rows", STANDARD, "{:,}".format)),
        Column("\nnonzeros", _cell("nonzeros", STANDARD, "{:,}".format)),
        Column("most non-local\nmessages: standard", lambda case: whole(most)(case[STANDARD])),
        Column("aggre-\ngate", lambda case: whole(most)(case[DEDUPLICATING])),
        Column("auto-\nmatic", lambda case: whole(most)(case[CHOSEN])),
        Column("non-local bytes:\nstandard", lambda case: in_bytes("nonlocal_bytes")(case[STANDARD])),
        Column("once per\nregion", lambda case: f"- {100 * case[STANDARD]['deduplication_saves']:.0f} %"),
        *(Column(f"predicted:\n{name}" if name == STANDARD else f"\n{name}", _cell("predicted_us", name, duration))
          for name in NAMES),
    ]
    finest = cases[0][STANDARD]["level_rows"]
    title = f"rotated anisotropic diffusion, {finest:,} rows, classical AMG, on {last:,} ranks"
    about = [
        f"predicted: by the profile {profile.name}, one halo exchange of the level's matrix; nothing was run",
        "standard, aggregating, deduplicating: as Collom, Li and Bienz 2023 published them, whose ranks of a region "
        "hand each other everything by messages, as cores of one socket; aggregate and automatic: through shared "
        "memory",
        "idle lead: automatic, where ranks without a row take part (--idle-ranks lead)",
    ]
    show(title, cases, columns, about, stream=stream)
    totals = [
        Column("ranks", lambda case: f"{case['ranks']:,}"),
        Column("rows", lambda case: f"{case['rows']:,}"),
        Column("levels", lambda case: str(case["levels"])),
        *(Column(f"\n{name}", _cell_of(name)) for name in NAMES),
        *(Column("standard over:\n" + name if name == NAMES[1] else f"\n{name}", _gain_of(STANDARD, name))
          for name in NAMES[1:]),
        *(Column(f"{DEDUPLICATING} over:\n{name}" if name == CHOSEN else f"\n{name}", _gain_of(DEDUPLICATING, name))
          for name in (CHOSEN, IDLE_LEAD)),
        Column("bytes saved\nat most", lambda case: f"{100 * case['saved']:.0f} %"),
    ]
    below = ["aggregating, deduplicating: as published, with the standard on levels where that is faster", *notes]
    show("one exchange on every level", sum_levels(rows), totals, below, stream=stream)


def _cell_of(name: str) -> Any:
    return lambda case: duration(case[name])


def _gain_of(one: str, name: str) -> Any:
    return lambda case: ratio(case[one] / case[name] if case[name] else None)


def _plot(path: Path, kind: str, rows: Sequence[LevelRow]) -> None:
    """Plots times by level at the most ranks, and the sums over levels by ranks."""
    from vicinal_command.plots import new_figure

    sums: Sequence[Mapping[str, Any]] = sum_levels(rows)
    last = [row for row in rows if row["ranks"] == sums[-1]["ranks"]]
    figure = new_figure(
        f"rotated anisotropic diffusion, {sums[-1]['rows']:,} rows, on {sums[-1]['ranks']:,} virtual ranks", 13, 5
    )
    by_levels, bytes_, by_ranks = figure.subplots(1, 3)
    for name in NAMES:
        of_it = [row for row in last if row["contestant"] == name]
        levels = [row["level"] for row in of_it]
        by_levels.plot(levels, [row["predicted_us"] for row in of_it], marker="o", label=name)
        bytes_.plot(levels, [row["nonlocal_bytes"] for row in of_it], marker="o")
        by_ranks.plot([case["ranks"] for case in sums], [case[name] for case in sums], marker="o")
    by_levels.set(xlabel="level", ylabel="predicted time of an exchange (µs)", ylim=(0, None))
    bytes_.set(xlabel="level", ylabel="bytes between regions", ylim=(0, None))
    bytes_.yaxis.set_major_formatter(lambda value, _: size(value))
    by_ranks.set(xlabel="ranks", ylabel="predicted time, all levels (µs)", ylim=(0, None))
    by_ranks.set_xscale("log", base=2)
    by_ranks.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (by_levels, bytes_, by_ranks):
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(NAMES), frameon=False)
    figure.savefig(path, format=kind)
