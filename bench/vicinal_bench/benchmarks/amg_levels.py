"""Predicted times of the exchanges of a multigrid hierarchy's levels, on virtual ranks.

Beside vicinal's plans there are the three of Collom, Li and Bienz 2023, whose ranks exchange all
data by messages. They are standard (algorithms 1 to 3), aggregating, and deduplicating aggregation
(algorithms 4 to 6). As there, ranks of a region are cores of one socket. In sums over levels, the
aggregating ones use the standard on levels where that is faster (section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vicinal_command.inputs import plan, read_machine
from vicinal_command.outputs import CommandError, interruptible
from vicinal_command.prices import predict
from vicinal_command.rows import Row, make_row

from .hierarchy import Level, build, grid_of, levels_of, owners, require_memory

if TYPE_CHECKING:
    from vicinal._core import Machine, Profile


@dataclass(frozen=True)
class Contestant:
    """One implementation of a level's exchange."""

    name: str
    strategy: str
    shared: bool
    """True if ranks of a region exchange values through shared memory; else by messages."""
    published: bool
    """True if it is as in the paper, with the standard on levels where that is faster."""
    idle_lead: bool = False
    """True if ranks without edges participate, and may lead for their region."""


STANDARD, DEDUPLICATING, CHOSEN, IDLE_LEAD = "standard", "deduplicating", "automatic", "idle lead"
CONTESTANTS = (
    Contestant(STANDARD, "direct", shared=False, published=True),
    Contestant("aggregating", "aggregate-plain", shared=False, published=True),
    Contestant(DEDUPLICATING, "aggregate", shared=False, published=True),
    Contestant("aggregate", "aggregate", shared=True, published=False),
    Contestant(CHOSEN, "automatic", shared=True, published=False),
    Contestant(IDLE_LEAD, "automatic", shared=True, published=False, idle_lead=True),
)
"""All contestants, the baseline first."""


class LevelRow(Row):
    """One contestant's exchange on one level."""

    contestant: str
    local: str
    """Transport between ranks of a region: "shared" or "messages"."""
    ranks: int
    level: int
    level_rows: int
    nonzeros: int
    idle: int
    """Number of ranks without a row."""
    predicted_us: float
    deduplication_saves: float
    """Share of the bytes between regions that repeat data which the region already gets."""


class Hierarchies:
    """Hierarchies of problems of several sizes, one in memory at a time, since they are large."""

    def __init__(self) -> None:
        self._rows = 0
        self._built: Any = None
        self._grid = (0, 0)

    def levels(self, rows: int, ranks: int, ranks_per_region: int) -> Iterator[Level]:
        """Levels of the problem with `rows` rows. Raises CommandError if memory is too small."""
        if rows != self._rows:
            self._built, self._rows = None, 0  # frees memory before the next one is built
            require_memory(rows)
            self._grid = grid_of(rows)
            self._built, self._rows = interruptible(partial(build, self._grid)), rows
        return levels_of(self._built, owners(self._grid, ranks, ranks_per_region), ranks)


def check_ranks(ranks: int, ranks_per_region: int) -> None:
    """Refuses a number of ranks that does not fill its regions."""
    if ranks % ranks_per_region:
        raise CommandError(f"{ranks} ranks do not make regions of {ranks_per_region}; give numbers that it divides")


def machine_of(ranks: int, ranks_per_region: int) -> Machine:
    """The machine of the virtual ranks."""
    return read_machine(f"blocks:{ranks_per_region}", ranks, one_socket=True)


def level_rows(level: Level, machine: Machine, profile: Profile) -> list[LevelRow]:
    """Plans and prices a level's exchange for all contestants."""
    problem = level.problem
    apart, once = problem.between_regions(machine)
    rows: list[LevelRow] = []
    for each in CONTESTANTS:
        plans = plan(
            each.strategy, problem, machine, profile, shared_memory=each.shared, idle_ranks_lead=each.idle_lead
        )
        predicted = interruptible(partial(predict, plans, profile, problem.value_bytes))
        found = LevelRow(
            **make_row(each.strategy, plans.statistics(), problem.value_bytes, correct=None),
            contestant=each.name,
            local="shared" if each.shared else "messages",
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


def by_level(rows: Sequence[LevelRow], ranks: int) -> list[dict[str, LevelRow]]:
    """For each level, with `ranks` ranks, the rows by contestant."""
    found: dict[int, dict[str, LevelRow]] = {}
    for row in rows:
        if row["ranks"] == ranks:
            found.setdefault(row["level"], {})[row["contestant"]] = row
    return list(found.values())


def sum_levels(rows: Sequence[LevelRow]) -> list[dict[str, Any]]:
    """For each number of ranks, the time of all levels together, by contestant."""
    found = []
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        levels = by_level(rows, ranks)
        times = {each.name: round(sum(_time(level, each) for level in levels), 3) for each in CONTESTANTS}
        first = levels[0][STANDARD]
        found.append(
            {
                "ranks": ranks,
                "rows": first["level_rows"],
                "levels": len(levels),
                "saved": max(level[STANDARD]["deduplication_saves"] for level in levels),
                **times,
            }
        )
    return found


def _time(level: dict[str, LevelRow], contestant: Contestant) -> float:
    mine = level[contestant.name]["predicted_us"]
    return min(mine, level[STANDARD]["predicted_us"]) if contestant.published else mine
