"""Rows of `vicinal bench`: one for each graph, block size and contestant.

The keys are what the JSON form promises; what a contestant does not tell is None there and a dash in
the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from .tables import LEAST_WIDTH, VERIFIED, duration, ratio, size


class BenchRow(TypedDict):
    """One contestant's results on one graph; bytes and messages are sent, per exchange."""

    workload: str
    ranks: int
    edges: int
    block_bytes: int
    strategy: str
    setup_us: float
    exchange_us: float
    exchange_median_us: float
    ratio_to_mpi: float
    """Of the best times: what share of the time of MPI's own this contestant takes."""
    median_ratio_to_mpi: float
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None
    nonlocal_bytes: int | None
    local_bytes: int | None
    correct: bool


def show_bench(title: str, rows: Sequence[BenchRow], notes: Iterable[str]) -> None:
    """Print a table of the rows to standard output, a block for each graph and size, with notes below."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("graph", "edges\nper rank", "block", "contestant"):
        table.add_column(heading, no_wrap=True, justify="left" if heading in ("graph", "contestant") else "right")
    headings = ["set-up", "exchange", "median", "to\nMPI", "non-local\nmessages", "most\nper rank"]
    for heading in [*headings, "verified"]:
        table.add_column(heading, justify="right", no_wrap=True)
    before = None
    for row in rows:
        case = (row["workload"], row["block_bytes"])
        first = case != before
        if first and before is not None:
            table.add_section()
        before = case
        table.add_row(
            row["workload"] if first else "",
            f"{row['edges'] / row['ranks']:.1f}" if first else "",
            size(row["block_bytes"]) if first else "",
            row["strategy"],
            duration(row["setup_us"]),
            duration(row["exchange_us"]),
            duration(row["exchange_median_us"]),
            ratio(row["ratio_to_mpi"]),
            _count(row["nonlocal_messages"]),
            _count(row["nonlocal_messages_max"]),
            VERIFIED[row["correct"]],
        )
    console = Console()
    console.width = max(console.width, LEAST_WIDTH + 30)
    console.print(table)
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
