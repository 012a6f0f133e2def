"""The figure of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from vicinal_command.plots import BEFORE, new_figure
from vicinal_command.tables import ratio

from .tables import Timed


def plot_bench(path: Path, kind: str, title: str, panels: Mapping[str, Sequence[Timed]]) -> None:
    """Plots times as ratios to MPI's own, by workload, with a panel for each group of rows."""
    names = list(dict.fromkeys(row["strategy"] for rows in panels.values() for row in rows))
    workloads_of = {panel: list(dict.fromkeys(row["workload"] for row in rows)) for panel, rows in panels.items()}
    most = max(map(len, workloads_of.values()))
    figure = new_figure(title, width=4 + 5 * len(panels), height=2.4 + 0.18 * most * (len(names) + 1))
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    height = 0.8 / (len(names) - 1)
    for axes, (panel, rows) in zip(all_axes, panels.items(), strict=True):
        workloads = workloads_of[panel]
        found = {(row["workload"], row["strategy"]): row["median_ratio_to_mpi"] for row in rows}
        for index, name in enumerate(names[1:]):
            values = [found[workload, name] for workload in workloads]
            places = np.arange(len(workloads)) + (index + 0.5) * height - 0.4
            colour = BEFORE if index == len(names) - 2 else f"C{index}"
            bars = axes.barh(places, values, height, label=name, color=colour)
            axes.bar_label(bars, [ratio(value) for value in values], padding=3, fontsize=8)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_yticks(range(len(workloads)), workloads)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_title(panel, fontsize=10)
        axes.set_xlabel(f"time per exchange over that of {names[0]}")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, format=kind)
