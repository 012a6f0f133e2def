"""Figures of the command. Only this module needs Matplotlib. It needs no display."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .outputs import CommandError, OutputFile
from .rows import Row
from .tables import duration, in_bytes, ratio, size, whole

KINDS = ("png", "svg", "pdf")
BEFORE, AFTER = "#8c8c8c", "#1f77b4"


@dataclass(frozen=True)
class Traffic:
    """Messages and bytes of a strategy between regions."""

    row: Row
    sent: npt.NDArray[Any]
    """Messages to other regions, by rank."""
    messages: npt.NDArray[Any]
    """Messages from region (row) to region (column)."""
    bytes: npt.NDArray[Any]
    """Bytes from region (row) to region (column)."""


def plot_file(path: str) -> OutputFile:
    """The file for a figure, after checks that it can be drawn and written."""
    file = OutputFile(path)
    if file.kind not in KINDS:
        raise CommandError(f"cannot plot to {path}: its name must end in one of .{', .'.join(KINDS)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise CommandError("Matplotlib is not installed, and --plot needs it: run `pip install matplotlib`")
    return file


def plot_strategies(path: Path, kind: str, title: str, rows: Sequence[Row]) -> None:
    """Plots bars per strategy: time per exchange, and messages and bytes between regions."""
    figure = new_figure(title, width=15, height=1.8 + 0.45 * len(rows))
    times = [row["exchange_median_us"] or 0.0 for row in rows]
    panels: list[tuple[str, list[float], list[str]]] = [
        (
            "median time per exchange (µs), and its ratio to direct",
            times,
            [f"{duration(time)}  (× {ratio(time / times[0] if times[0] else None)})" for time in times],
        ),
        (
            "messages between regions per exchange",
            [row["nonlocal_messages"] or 0 for row in rows],
            [_with_most(row, "nonlocal_messages", whole) for row in rows],
        ),
        (
            "bytes between regions per exchange",
            [row["nonlocal_bytes"] or 0 for row in rows],
            [_with_most(row, "nonlocal_bytes", in_bytes) for row in rows],
        ),
    ]
    all_axes = figure.subplots(1, 3, sharey=True)
    for axes, (heading, values, labels) in zip(all_axes, panels, strict=True):
        bars = axes.barh([row["strategy"] for row in rows], values, color=[BEFORE] + [AFTER] * (len(rows) - 1))
        axes.bar_label(bars, labels, padding=4, fontsize=9)
        axes.set_xlim(0, 1.6 * max([*values, 1e-9]))
        axes.set_title(heading, fontsize=10)
        axes.locator_params(axis="x", nbins=5)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].invert_yaxis()
    for axes in all_axes[:2]:
        axes.xaxis.set_major_formatter("{x:,.0f}")
    all_axes[2].xaxis.set_major_formatter(lambda value, _: size(value))
    figure.savefig(path, format=kind)


def _with_most(row: Row, key: str, text_of: Callable[[str], Callable[[Any], str]]) -> str:
    """A total of all ranks and the maximum of one rank, if they are known."""
    total, most = text_of(key)(row), text_of(f"{key}_max")(row)
    return "not known" if total == "-" else f"{total}  (≤ {most} a rank)"


def plot_traffic(path: Path, kind: str, title: str, before: Traffic, after: Traffic) -> None:
    """Plots traffic between regions of two strategies, and the number of messages per rank."""
    figure = new_figure(title, width=15, height=8.5)
    grid = figure.add_gridspec(2, 3, width_ratios=(1, 1, 1.1))
    kinds: list[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]] = [
        ("messages", before.messages, after.messages),
        ("bytes", before.bytes, after.bytes),
    ]
    for line, (what, first, second) in enumerate(kinds):
        pair = [figure.add_subplot(grid[line, column]) for column in range(2)]
        _heat_maps(figure, pair, what, [(before, first), (after, second)])
    _histogram(figure.add_subplot(grid[:, 2]), before, after)
    figure.savefig(path, format=kind)


def new_figure(title: str, width: float, height: float) -> Any:
    """An empty figure of this size in inches, with this title."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=110)
    figure.suptitle(title, fontsize=12)
    return figure


def _heat_maps(
    figure: Any, pair: Sequence[Any], what: str, pictures: Sequence[tuple[Traffic, npt.NDArray[Any]]]
) -> None:
    """Draws two maps with one color scale. Zero traffic has no color."""
    from matplotlib.colors import LogNorm

    most = max([int(traffic.max(initial=0)) for _, traffic in pictures])
    sent = [traffic[traffic > 0] for _, traffic in pictures]
    least = min([int(numbers.min()) for numbers in sent if numbers.size], default=1)
    # At least two decades, so that small differences do not look large and some ticks have labels.
    scale = LogNorm(max(1, min(least, most / 100)), max(most, 2))
    for axes, (drawn, traffic) in zip(pair, pictures, strict=True):
        image = axes.imshow(
            np.ma.masked_equal(traffic, 0), norm=scale, cmap="viridis", interpolation="nearest"
        )
        total = int(traffic.sum())
        amount = size(total) if what == "bytes" else f"{total:,}"
        axes.set_title(f"{drawn.row['strategy']}: {what} between regions, {amount} in all", fontsize=10)
        axes.set_xlabel("to region")
        axes.set_ylabel("from region")
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
    bar = figure.colorbar(image, ax=list(pair), label=f"{what} per exchange", shrink=0.9)
    if what == "bytes":
        bar.ax.yaxis.set_major_formatter(lambda value, _: size(value))
    else:
        bar.ax.yaxis.set_major_formatter("{x:,.0f}")
    bar.ax.yaxis.set_minor_formatter("")


def _histogram(axes: Any, before: Traffic, after: Traffic) -> None:
    most = int(max(before.sent.max(), after.sent.max()))
    step = max(1, -(-(most + 1) // 40))
    edges = np.arange(0, most + 1 + step, step) - 0.5
    for drawn, colour in ((before, BEFORE), (after, AFTER)):
        label = f"{drawn.row['strategy']} (most: {drawn.row['nonlocal_messages_max']:,})"
        axes.hist(drawn.sent, edges, color=colour, alpha=0.65, label=label)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("messages that a rank sends to other regions", fontsize=10)
    axes.set_xlabel("messages per exchange")
    axes.set_ylabel("ranks")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
