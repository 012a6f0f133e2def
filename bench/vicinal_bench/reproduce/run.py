"""Runs the reproduction of a paper, and shows and writes its results."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from vicinal_command.outputs import CommandError, OutputFile, progress
from vicinal_command.plots import new_figure, plot_file
from vicinal_command.prices import profile_of
from vicinal_command.report import Report, tables_beside
from vicinal_command.tables import Column, show

from . import bienz2022, collom2023, geyko2023, sharifian2024
from .paper import Figure, Outcome, Paper, Point, Scope

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (collom2023.PAPER, sharifian2024.PAPER, geyko2023.PAPER, bienz2022.PAPER)
}


class ResultRow(TypedDict):
    """A published number beside the number found; None for a missing one."""

    key: str
    what: str
    place: str
    unit: str
    published_low: float | None
    published_high: float | None
    found_low: float | None
    found_high: float | None
    off: float | None
    """Found over published, at the upper ends; None if that is open, or below the paper's size."""


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal reproduce`."""

    paper: str
    folder: str
    scope: Scope
    profile: str | None
    json: Report | None


def reproduce(request: Request) -> int:
    """Simulates, writes CSV and picture per figure, shows the table. Returns the exit status."""
    profile = profile_of(request.profile)
    paper = PAPERS[request.paper]
    folder = Path(request.folder)
    if not folder.is_dir():
        raise CommandError(f"cannot write to {folder}: there is no such folder; make it first")
    plot_file(str(folder / f"{paper.name}.png"))  # checks it before any computation
    with progress(f"simulating {paper.name}", 1) as advance:
        outcome = paper.reproduce(request.scope, profile, advance)
    for figure in outcome.figures:
        path = folder / f"{paper.name}-{figure.name}"
        OutputFile(f"{path}.csv").write_text(as_csv(figure))
        picture = OutputFile(f"{path}.png")
        picture.write(lambda file: _draw(file, picture.kind, paper, figure))  # noqa: B023
    rows = results(paper, outcome, whole=request.scope.fraction == 1)
    OutputFile(str(folder / f"{paper.name}.csv")).write_text(_table(rows))
    notes = [f"simulated on the profile {profile.name}; nothing was run", *paper.rules, *outcome.notes]
    if request.scope.fraction > 1:
        notes.append(
            f"at 1/{request.scope.fraction} of the paper's size, so the numbers are not those of the paper's scale"
        )
    if request.json:
        facts = {"paper": paper.title, "fraction": request.scope.fraction, "notes": notes}
        request.json.write(rows, facts, profile.name)
    show(paper.title, rows, COLUMNS, notes, stream=tables_beside(request.json))
    return 0


def results(paper: Paper, outcome: Outcome, *, whole: bool) -> list[ResultRow]:
    """Published numbers beside those found, then the other numbers found."""
    found = {each.key: each for each in outcome.found}
    rows = []
    for each in paper.published:
        mine = found.pop(each.key, None)
        open_ = math.isinf(each.high)
        rows.append(ResultRow(
            key=each.key, what=each.what, place=each.place, unit=each.unit, published_low=each.low,
            published_high=None if open_ else each.high,
            found_low=round(mine.low, 4) if mine else None, found_high=round(mine.high, 4) if mine else None,
            off=round(mine.high / each.high, 4) if mine and whole and not open_ else None,
        ))
    rows += [
        ResultRow(key=each.key, what=each.what, place="", unit=each.unit, published_low=None, published_high=None,
                  found_low=round(each.low, 4), found_high=round(each.high, 4), off=None)
        for each in found.values()
    ]
    return rows


def as_csv(figure: Figure) -> str:
    """One line per point, in the order of the figure, with published points marked."""
    lines: list[Sequence[Any]] = [("panel", "series", figure.x_label, figure.y_label, "published")]
    lines += [(*point, "no") for point in figure.points]
    lines += [(*point, "yes") for point in figure.published]
    return _lines(lines)


def _table(rows: Sequence[ResultRow]) -> str:
    return _lines([list(ResultRow.__annotations__), *(list(row.values()) for row in rows)])


def _lines(lines: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def _number(low: float | None, high: float | None, unit: str) -> str:
    if low is None:
        return "-"
    if high is None:
        return f"above {low:g} {unit}".rstrip()
    text = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
    return f"{text} {unit}".rstrip()


COLUMNS = (
    Column("what", lambda row: str(row["what"]), left=True),
    Column("in the paper", lambda row: row["place"] or "-", left=True),
    Column("published", lambda row: _number(row["published_low"], row["published_high"], row["unit"])),
    Column("simulated", lambda row: _number(row["found_low"], row["found_high"], row["unit"])),
    Column("simulated over\npublished", lambda row: "-" if row["off"] is None else f"{row['off']:.2f}"),
)


def _draw(path: Path, kind: str, paper: Paper, figure: Figure) -> None:
    """Draws the panels, a line for each series, and a star for each published number."""
    panels = list(dict.fromkeys(point.panel for point in figure.points))
    series = list(dict.fromkeys(point.series for point in (*figure.points, *figure.published)))
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    drawn = new_figure(f"{paper.title}: {figure.title}", width=4 + 3.6 * across, height=1.4 + 3.2 * down)
    all_axes = drawn.subplots(down, across, squeeze=False).ravel()
    for axes, panel in zip(all_axes, panels, strict=False):
        for number, name in enumerate(series):
            for points, style in (
                (figure.points, {"marker": "o"}), (figure.published, {"marker": "*", "linestyle": "none"})
            ):
                mine = list(_of(points, panel, name))
                if mine:
                    size = 14 if style["marker"] == "*" else 4
                    label = name if style["marker"] == "o" else f"{name}, published"
                    axes.plot(
                        [p.x for p in mine], [p.value for p in mine], color=f"C{number}", markersize=size, label=label,
                        **style,
                    )
        axes.set(xlabel=figure.x_label, ylabel=figure.y_label)
        axes.set_title(panel, fontsize=10)
        if figure.log_x:
            axes.set_xscale("log", base=2)
        if figure.log_y:
            axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(panels):]:
        axes.set_visible(False)
    labels: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            labels.setdefault(label, handle)
    drawn.legend(labels.values(), labels.keys(), loc="outside lower center", ncols=4, frameon=False)
    drawn.savefig(path, format=kind)


def _of(points: Sequence[Point], panel: str, series: str) -> Iterator[Point]:
    return (point for point in points if (point.panel, point.series) == (panel, series))
