"""Rows of results, and how they are shown: one row per strategy, the same for `spmv` and `explain`.

The keys of a row are what its JSON form promises; a value that was not measured is None there and a
dash in the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy.typing as npt

Counts = Mapping[str, npt.NDArray[Any]]
"""For each thing counted in a plan, a number per rank."""

LOCAL_NOTE = "local bytes: what ranks of a region hand each other, as messages or through shared memory"

LEAST_WIDTH = 110
VERIFIED = {True: "[green]yes", False: "[bold red]NO", None: "skipped"}


class Row(TypedDict):
    """One strategy's results; bytes and messages are sent, per exchange."""

    strategy: str
    setup_us: float | None
    exchange_us: float | None
    ratio_to_direct: float | None
    nonlocal_messages: int
    nonlocal_messages_max: int
    nonlocal_bytes: int
    nonlocal_bytes_max: int
    local_bytes: int
    correct: bool | None
    exchange_median_us: float | None
    local_messages: int


@dataclass(frozen=True)
class Explained:
    """What is kept of a strategy's plans once they are gone."""

    row: Row
    sent: npt.NDArray[Any]
    """Messages to other regions, by rank."""
    messages: npt.NDArray[Any]
    """Messages from region (row) to region (column)."""
    bytes: npt.NDArray[Any]
    """Likewise."""


def make_row(strategy: str, counts: Counts, value_bytes: int, correct: bool | None) -> Row:
    """The row of a strategy, without times."""
    local = counts["local_elements"].sum() + counts["shared_elements"].sum()
    return Row(
        strategy=strategy,
        setup_us=None,
        exchange_us=None,
        ratio_to_direct=None,
        nonlocal_messages=int(counts["nonlocal_messages"].sum()),
        nonlocal_messages_max=int(counts["nonlocal_messages"].max()),
        nonlocal_bytes=int(counts["nonlocal_elements"].sum()) * value_bytes,
        nonlocal_bytes_max=int(counts["nonlocal_elements"].max()) * value_bytes,
        local_bytes=int(local) * value_bytes,
        correct=correct,
        exchange_median_us=None,
        local_messages=int(counts["local_messages"].sum()),
    )


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """`{"format": 1, "rows": [...]}`, ending with a newline; docs/versioning.md says how it changes."""
    return json.dumps({"format": 1, "rows": rows}, indent=2) + "\n"


def show(title: str, rows: Sequence[Row], notes: Iterable[str], timed: bool) -> None:
    """Print a table of the rows to standard output, with notes below it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    headings = ["set-up", "exchange", "to\ndirect"] if timed else []
    headings += ["non-local\nmessages", "most\nper rank", "non-local\nbytes", "most\nper rank", "local\nbytes"]
    for heading in [*headings, "verified"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        times = [duration(row["setup_us"]), duration(row["exchange_us"]), ratio(row["ratio_to_direct"])]
        table.add_row(
            row["strategy"],
            *(times if timed else []),
            f"{row['nonlocal_messages']:,}",
            f"{row['nonlocal_messages_max']:,}",
            size(row["nonlocal_bytes"]),
            size(row["nonlocal_bytes_max"]),
            size(row["local_bytes"]),
            VERIFIED[row["correct"]],
        )
    # In fewer columns numbers would be cut off; a pipe has no width of its own.
    console = Console()
    console.width = max(console.width, LEAST_WIDTH)
    console.print(table)
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)


def duration(microseconds: float | None) -> str:
    """Three digits and a unit."""
    if microseconds is None:
        return "-"
    for limit, unit in ((1e3, "µs"), (1e6, "ms")):
        if microseconds < limit * 0.9995:
            return f"{_three_digits(microseconds / limit * 1e3)} {unit}"
    return f"{_three_digits(microseconds / 1e6)} s"


def size(count: float) -> str:
    """Bytes with three digits and a decimal unit."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.5:
            break
    return f"{_three_digits(count)} {unit}"


def ratio(value: float | None) -> str:
    """A factor, such as 0.83."""
    return "-" if value is None else f"{value:.2f}"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{decimals}f}"
