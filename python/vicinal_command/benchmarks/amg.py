"""`vicinal bench amg`: the halo exchanges of a multigrid hierarchy, level by level, planned and priced at any scale.

Nothing is run: plans are those of virtual ranks, and times their prices on a machine's profile.  What is added up over
the levels is one exchange of each, for the product of the level's matrix with a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..inputs import plan, read_machine
from ..outputs import CommandError, OutputFile, interruptible, progress
from ..prices import predict, profile_of
from ..report import Report, tables_beside
from ..rows import Row, make_row
from ..tables import Column, duration, in_bytes, ratio, show, size, whole
from .hierarchy import ANGLE, ANISOTROPY, Level, build, grid_of, levels_of, owners, require_memory

if TYPE_CHECKING:
    from vicinal._core import Machine, Profile

STRATEGIES = {
    "direct": "standard",
    "aggregate-plain": "aggregating",
    "aggregate": "deduplicating",
    "automatic": "chosen",
}
"""What is compared, the baseline first, and what it is called where the levels are added up."""
WIDTH = 145
LIKELY_LEVELS = 12
"""For the progress bar alone."""


class LevelRow(Row):
    """One strategy's exchange on one level."""

    ranks: int
    level: int
    level_rows: int
    nonzeros: int
    idle: int
    """Ranks without a row."""
    predicted_us: float
    deduplication_saves: float
    """Of the bytes between regions, the share that is sent more than once to a region."""


@dataclass(frozen=True)
class Request:
    """What `vicinal bench amg` was asked for."""

    rows: int | None
    """Of the finest level; None: so many per rank."""
    rows_per_rank: int | None
    ranks: Sequence[int]
    ranks_per_region: int
    profile: str | None
    json: Report | None
    plot: OutputFile | None

    def rows_of(self, ranks: int) -> int:
        """Rows of the finest level."""
        return self.rows if self.rows is not None else (self.rows_per_rank or 1) * ranks


def amg(request: Request) -> int:
    """Build, plan, price and count; show tables, write files.  Returns the exit status."""
    profile = profile_of(request.profile)
    notes: list[str] = []
    for ranks in request.ranks:
        if ranks % request.ranks_per_region:
            raise CommandError(
                f"{ranks} ranks do not make regions of {request.ranks_per_region}; give numbers that it divides"
            )
    rows = _all_rows(request, profile, notes)
    if not rows:
        raise CommandError(notes[0])
    if request.json:
        facts = {
            "ranks": rows[-1]["ranks"], "regions": f"blocks:{request.ranks_per_region}", "angle": ANGLE,
            "anisotropy": ANISOTROPY, "scaling": "strong" if request.rows is not None else "weak",
        }
        request.json.write(rows, facts, profile.name)
    if request.plot:
        plot = request.plot
        plot.write(lambda path: _plot(path, plot.kind, rows))
    _show(request, profile, rows, notes)
    return 0


def _all_rows(request: Request, profile: Profile, notes: list[str]) -> list[LevelRow]:
    rows: list[LevelRow] = []
    hierarchy: Any = None
    grid, built = (0, 0), 0
    with progress("planning", len(request.ranks)) as advance:
        for index, ranks in enumerate(request.ranks):
            wanted = request.rows_of(ranks)
            if built != wanted:
                hierarchy = None  # before the next one needs the room
                try:
                    require_memory(wanted)
                except CommandError as error:
                    notes.append(f"{ranks:,} ranks: not looked at, for {error}")
                    continue
                grid = grid_of(wanted)
                hierarchy, built = interruptible(partial(build, grid)), wanted
            machine = read_machine(f"blocks:{request.ranks_per_region}", ranks)
            owner = owners(grid, ranks, request.ranks_per_region)
            for level in levels_of(hierarchy, owner, ranks):
                rows += _level_rows(level, machine, profile)
                advance(index + level.number / LIKELY_LEVELS)
    return rows


def _level_rows(level: Level, machine: Machine, profile: Profile) -> list[LevelRow]:
    problem = level.problem
    apart, once = problem.between_regions(machine)
    rows: list[LevelRow] = []
    for strategy in STRATEGIES:
        plans = plan(strategy, problem, machine, profile)
        predicted = interruptible(partial(predict, plans, profile, problem.value_bytes))
        found = LevelRow(
            **make_row(strategy, plans.statistics(), problem.value_bytes, correct=None),
            ranks=problem.ranks,
            level=level.number,
            level_rows=level.matrix.rows,
            nonzeros=len(level.matrix.columns),
            idle=level.idle,
            predicted_us=predicted.microseconds,
            deduplication_saves=round(1 - once / apart, 4) if apart else 0.0,
        )
        first = rows[0] if rows else found
        if first["predicted_us"]:
            found["ratio_to_direct"] = round(found["predicted_us"] / first["predicted_us"], 4)
        rows.append(found)
    return rows


def _cell(key: str, strategy: str, text: Any) -> Any:
    return lambda case: text(case[strategy][key])


def _show(request: Request, profile: Profile, rows: Sequence[LevelRow], notes: Sequence[str]) -> None:
    stream = tables_beside(request.json)
    last = rows[-1]["ranks"]
    cases = _cases([row for row in rows if row["ranks"] == last], "level")
    columns = [
        Column("level", lambda case: str(case["direct"]["level"])),
        Column("\nrows", lambda case: f"{case['direct']['level_rows']:,}"),
        Column("\nnonzeros", lambda case: f"{case['direct']['nonzeros']:,}"),
        Column("most non-local\nmessages: direct", lambda case: whole("nonlocal_messages_max")(case["direct"])),
        Column("\naggregate", lambda case: whole("nonlocal_messages_max")(case["aggregate"])),
        Column("\nautomatic", lambda case: whole("nonlocal_messages_max")(case["automatic"])),
        Column("non-local bytes:\ndirect", lambda case: in_bytes("nonlocal_bytes")(case["direct"])),
        Column("once per\nregion", lambda case: f"- {100 * case['direct']['deduplication_saves']:.0f} %"),
        *(Column(f"predicted:\n{name}" if name == "direct" else f"\n{name}", _cell("predicted_us", name, duration))
          for name in STRATEGIES),
    ]
    title = f"rotated anisotropic diffusion, {cases[0]['direct']['level_rows']:,} rows, classical AMG, on {last:,} ranks"
    about = [f"predicted: by the profile {profile.name}, one halo exchange of the level's matrix; nothing was run"]
    show(title, cases, columns, about, stream=stream, width=WIDTH)
    totals = [
        Column("ranks", lambda case: f"{case['ranks']:,}"),
        Column("rows", lambda case: f"{case['rows']:,}"),
        Column("levels", lambda case: str(case["levels"])),
        *(Column(f"{word}:\n{name}", _cell_of(name)) for name, word in STRATEGIES.items()),
        *(Column(f"direct over\n{name}", _gain_of(name)) for name in list(STRATEGIES)[1:]),
        Column("most bytes saved\non a level", lambda case: f"{100 * case['saved']:.0f} %"),
    ]
    show("one exchange on every level", sum_levels(rows), totals, notes, stream=stream, width=WIDTH)


def _cell_of(name: str) -> Any:
    return lambda case: duration(case[name])


def _gain_of(name: str) -> Any:
    return lambda case: ratio(case["direct"] / case[name] if case[name] else None)


def _cases(rows: Sequence[LevelRow], key: str) -> list[dict[str, LevelRow]]:
    """By a key, in order, the rows by strategy."""
    found: dict[Any, dict[str, LevelRow]] = {}
    for row in rows:
        found.setdefault(row[key], {})[row["strategy"]] = row  # type: ignore[literal-required]
    return list(found.values())


def sum_levels(rows: Sequence[LevelRow]) -> list[dict[str, Any]]:
    """For each number of ranks, what all levels take together under each strategy."""
    found = []
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        here = [row for row in rows if row["ranks"] == ranks]
        times = {
            name: round(sum(row["predicted_us"] for row in here if row["strategy"] == name), 3) for name in STRATEGIES
        }
        found.append(
            {
                "ranks": ranks,
                "rows": here[0]["level_rows"],
                "levels": 1 + max(row["level"] for row in here),
                "saved": max(row["deduplication_saves"] for row in here),
                **times,
            }
        )
    return found


def _plot(path: Path, kind: str, rows: Sequence[LevelRow]) -> None:
    """Times by level at the most ranks, and of all levels by ranks where there are several numbers of them."""
    from ..plots import new_figure

    sums = sum_levels(rows)
    last = [row for row in rows if row["ranks"] == sums[-1]["ranks"]]
    figure = new_figure(
        f"rotated anisotropic diffusion, {sums[-1]['rows']:,} rows, on {sums[-1]['ranks']:,} virtual ranks", 13, 5
    )
    by_level, bytes_, by_ranks = figure.subplots(1, 3)
    for name, word in STRATEGIES.items():
        of_it = [row for row in last if row["strategy"] == name]
        levels = [row["level"] for row in of_it]
        by_level.plot(levels, [row["predicted_us"] for row in of_it], marker="o", label=f"{name} ({word})")
        bytes_.plot(levels, [row["nonlocal_bytes"] for row in of_it], marker="o")
        by_ranks.plot([case["ranks"] for case in sums], [case[name] for case in sums], marker="o")
    by_level.set(xlabel="level", ylabel="predicted time of an exchange (µs)", ylim=(0, None))
    bytes_.set(xlabel="level", ylabel="bytes between regions", ylim=(0, None))
    bytes_.yaxis.set_major_formatter(lambda value, _: size(value))
    by_ranks.set(xlabel="ranks", ylabel="predicted time, all levels (µs)", ylim=(0, None))
    by_ranks.set_xscale("log", base=2)
    by_ranks.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (by_level, bytes_, by_ranks):
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, format=kind)
