"""Tables of results for people: rows by columns, notes below, and numbers with units."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.table import Table

NOTES_WIDTH = 110
"""Width of notes below a narrower table in a file."""
VERIFIED = {True: "[green]yes", False: "[bold red]NO", None: "skipped"}


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    heading: str
    text: Callable[[Any], str]
    """Text of a row's cell."""
    of_case: bool = False
    """True if it belongs to the case; the case's further rows leave it empty."""
    left: bool = False
    """True if it names the row. It is always shown."""
    kept: bool = False
    """True if it is always shown."""


class Width:
    """The option --wide, with which tables keep all columns on a narrow terminal."""

    is_wide = False


def show(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], notes: Iterable[str], *,
    stream: TextIO | None = None, best: Mapping[str, Any] | None = None, findings: Iterable[str] = (),
) -> None:
    """Prints a table of the rows to `stream` (standard output), with notes below.

    Each case is a block. A narrow terminal shows fewer columns: the last are dropped first. The row
    `best` and the sentences of `findings` are bold.
    """
    from rich.console import Console
    from rich.measure import Measurement

    stream = stream or sys.stdout
    console = Console(file=stream)
    is_narrow = stream.isatty() and not Width.is_wide
    unlimited = console.options.update(max_width=sys.maxsize)
    shown = list(columns)
    while True:
        table = _table(title, rows, shown, best)
        needed = Measurement.get(console, unlimited, table).maximum
        spare = [column for column in shown if not column.left and not column.kept]
        if not is_narrow or needed <= console.width or not spare:
            break
        shown.remove(spare[-1])
    # Fewer columns cannot narrow it further without cutting numbers. A file has no width of its
    # own.
    width = console.width if stream.isatty() else max(NOTES_WIDTH, needed)
    console.width = max(width, needed)
    console.print(table)
    console.width = width
    if len(shown) < len(columns):
        left_out = {_in_a_line(column) for column in columns} - {_in_a_line(column) for column in shown}
        notes = [note for note in notes if note.split(":")[0] not in left_out]
        notes.insert(
            0, f"shown are {len(shown)} of {len(columns)} columns, for the width of the terminal; --wide shows all"
        )
    for finding in findings:
        console.print(finding, style="bold", highlight=False, markup=False)
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)


def _in_a_line(column: Column) -> str:
    return " ".join(column.heading.split())


def _table(
    title: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], best: Mapping[str, Any] | None
) -> Table:
    from rich import box
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
        cells = [column.text(row) if first or not column.of_case else "" for column in columns]
        table.add_row(*cells, style="bold" if row is best else None)
    return table


def whole(key: str) -> Callable[[Any], str]:
    """Formats a count."""
    return lambda row: "-" if row[key] is None else f"{row[key]:,}"


def in_bytes(key: str) -> Callable[[Any], str]:
    """Formats a number of bytes."""
    return lambda row: "-" if row[key] is None else size(row[key])


def timed(key: str) -> Callable[[Any], str]:
    """Formats a number of microseconds."""
    return lambda row: duration(row[key])


def duration(microseconds: float | None) -> str:
    """Formats three digits and a unit."""
    if microseconds is None:
        return "-"
    for limit, unit in ((1e3, "µs"), (1e6, "ms")):
        if microseconds < limit * 0.9995:
            return f"{_three_digits(microseconds / limit * 1e3)} {unit}"
    return f"{_three_digits(microseconds / 1e6)} s"


def size(count: float) -> str:
    """Formats bytes with three digits and a decimal unit."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 999.5:
            break
    return f"{_three_digits(count)} {unit}"


def ratio(value: float | None) -> str:
    """Formats a factor, such as 0.83."""
    return "-" if value is None else f"{value:.2f}"


def listed(names: Sequence[str]) -> str:
    """Joins names or other texts as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _three_digits(value: float) -> str:
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:,.{decimals}f}"
