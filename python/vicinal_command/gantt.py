"""The picture of `vicinal simulate`: the activity of ranks over time, and the critical chain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .chains import Segment, segments
from .plots import new_figure
from .prices import Simulated
from .tables import duration
from .timelines import spans

OF_CHAIN, OTHERS = 12, 8
"""Most ranks of the chain that are drawn, and most others."""
PIXELS = 2000
"""Number of parts of the time axis. Bars closer than one part are merged."""
COLOURS = {
    "direct": "#8c8c8c", "local": "#2ca02c", "gather": "#ff7f0e", "non-local": "#1f77b4", "scatter": "#9467bd",
    "halving": "#17becf",
}
WAITING, CHAIN = "#e8e8e8", "#d62728"


def plot_timelines(path: Path, kind: str, title: str, drawn: Sequence[tuple[str, Simulated]]) -> None:
    """Plots one panel for each strategy, on one time scale."""
    from matplotlib.patches import Patch

    rows = [_ranks(found) for _, found in drawn]
    heights = [0.8 + 0.24 * len(ranks) for ranks in rows]
    figure = new_figure(title, width=15, height=1.2 + sum(heights))
    panels = figure.subplots(len(drawn), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    end = max(found.microseconds for _, found in drawn) or 1.0
    seen: dict[str, None] = {}
    for axes, ranks, (strategy, found) in zip(panels, rows, drawn, strict=True):
        for row, rank in enumerate(ranks):
            _bar(axes, row, found, rank, end / PIXELS, seen)
        _chain(axes, ranks, segments(found))
        axes.set_title(f"{strategy}: {duration(found.microseconds)}", fontsize=10, loc="left")
        axes.set_yticks(range(len(ranks)), [f"rank {rank}" for rank in ranks], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlim(0, end * 1.01)
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("µs")
    handles = [Patch(color=COLOURS[phase], label=f"busy: {phase}") for phase in COLOURS if phase in seen]
    handles += [Patch(facecolor=WAITING, hatch="////", edgecolor="white", label="waiting")]
    handles += [Patch(color=CHAIN, label="the chain of what waited for what")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
    figure.savefig(path, format=kind)


def _ranks(found: Simulated) -> list[int]:
    """Ranks of the chain, evenly chosen if there are many, and some others."""
    chain = list(dict.fromkeys(part.rank for part in segments(found)))
    others = [rank for rank in range(len(found.finished)) if rank not in set(chain)]
    return [*_evenly(chain, OF_CHAIN), *_evenly(others, OTHERS)]


def _evenly(ranks: Sequence[int], most: int) -> list[int]:
    """At most `most` of `ranks`, evenly chosen, including the first and the last."""
    places = np.unique(np.linspace(0, len(ranks) - 1, min(most, len(ranks))).round().astype(int))
    return [ranks[place] for place in places.tolist()]


def _bar(axes: Any, row: int, found: Simulated, rank: int, close: float, seen: dict[str, None]) -> None:
    finished = float(found.finished[rank])
    axes.broken_barh(
        [(0, finished)], (row - 0.35, 0.7), facecolor=WAITING, hatch="////", edgecolor="white", linewidth=0
    )
    by_phase: dict[str, list[list[float]]] = {}
    for span in spans(found, rank):
        if not span.busy:
            continue
        bars = by_phase.setdefault(found.phases[found.operations.phase[span.operation]], [])
        if bars and span.since - bars[-1][1] < close:
            bars[-1][1] = span.until
        else:
            bars.append([span.since, span.until])
    for phase, bars in by_phase.items():
        seen[phase] = None
        axes.broken_barh([(begin, end - begin) for begin, end in bars], (row - 0.35, 0.7), facecolor=COLOURS[phase])


def _chain(axes: Any, ranks: Sequence[int], parts: Sequence[Segment]) -> None:
    """Draws a line along each rank's part of the chain, and an arrow to the rank that continues."""
    row_of = {rank: row for row, rank in enumerate(ranks)}
    shown = [part for part in parts if part.rank in row_of]
    for part in shown:
        row = row_of[part.rank]
        axes.plot([part.since_us, part.until_us], [row, row], color=CHAIN, linewidth=1.2, zorder=3)
    for before, after in zip(shown, shown[1:], strict=False):
        if before.rank == after.rank:
            continue
        axes.annotate(
            "", xy=(after.since_us, row_of[after.rank]), xytext=(before.until_us, row_of[before.rank]), zorder=4,
            arrowprops={"arrowstyle": "->", "color": CHAIN, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
        )
