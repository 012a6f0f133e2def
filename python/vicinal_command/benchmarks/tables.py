"""Rows of `vicinal bench`, one for each case and contestant, and how they are shown.

The keys are what the JSON form promises; what a contestant does not tell is None there and a dash in
the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from ..tables import LEAST_WIDTH, VERIFIED, duration, ratio


class Measured(TypedDict):
    """Times of one contestant in one case."""

    exchange_us: float
    exchange_median_us: float
    ratio_to_mpi: float
    """Of the best times: what share of the time of MPI's own this contestant takes."""
    median_ratio_to_mpi: float


class Timed(Measured):
    """What every benchmark's rows tell."""

    workload: str
    ranks: int
    strategy: str
    """The contestant: a strategy, a method, or MPI's own."""
    correct: bool


@dataclass(frozen=True)
class Column:
    """One column of a benchmark's table."""

    heading: str
    text: Callable[[Any], str]
    """What stands there for a row."""
    of_case: bool = False
    """It belongs to the case, whose further rows leave it empty."""
    left: bool = False


WORKLOAD = Column("workload", lambda row: str(row["workload"]), of_case=True, left=True)
CONTESTANT = Column("contestant", lambda row: str(row["strategy"]), left=True)
TIMES = (
    Column("exchange", lambda row: duration(row["exchange_us"])),
    Column("median", lambda row: duration(row["exchange_median_us"])),
    Column("to\nMPI", lambda row: ratio(row["ratio_to_mpi"])),
)
VERDICT = Column("verified", lambda row: VERIFIED[row["correct"]])


def per_rank(key: str) -> Callable[[Any], str]:
    """The mean over the ranks of a number for all of them."""
    return lambda row: f"{row[key] / row['ranks']:.1f}"


def whole(key: str) -> Callable[[Any], str]:
    """A number of things."""
    return lambda row: "-" if row[key] is None else f"{row[key]:,}"


def show_bench(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], notes: Iterable[str]
) -> None:
    """Print a table of the rows to standard output, a block for each case, with notes below."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column.heading, no_wrap=True, justify="left" if column.left else "right")
    before = None
    for row in rows:
        case = [column.text(row) for column in columns if column.of_case]
        first = case != before
        if first and before is not None:
            table.add_section()
        before = case
        table.add_row(*(column.text(row) if first or not column.of_case else "" for column in columns))
    console = Console()
    console.width = max(console.width, LEAST_WIDTH + 30)
    console.print(table)
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)
