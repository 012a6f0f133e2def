"""`vicinal calibrate`: measures a profile, the costs of messages, copies and handovers.

The ranks that measure run ranks/calibrate.py. measured.py and fits.py derive the numbers from their
times.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .gpus import TASKS, sentence
from .measured import LEVELS, OWN_CORE, Figure, Level, Results, level_json, read_results
from .outputs import CommandError, OutputFile
from .runs import check_regions, find_launcher, run_folder, run_ranks, write_run
from .tables import duration, size

PROGRAM = f"{__package__}.ranks.calibrate"
STEPS = 10
"""Reports of a rank: cores, each level, queue, memory, port, all at once, all handovers, GPU."""
OF_PLANS = ("PROFILE", "LOCAL", "PROGRESS", "CHOICE", "WISDOM", "BIAS")
"""Settings removed from the environment, since handovers are measured through shared memory."""
SMALL = 8
"""Bytes of a message whose cost is that of the processors."""
STREAM = 1 << 18
"""Bytes of the messages that pass a port together."""
COPIED = 1 << 17
COPIED_BY_ALL = 1 << 22
"""Size of a copy that exceeds a host's caches when all ranks copy, as large messages do."""

LARGE_RESIDUAL, LARGE_SPREAD, BUSY = 0.15, 0.25, 0.3
ATTEMPTS = 3
"""Most attempts to measure everything, as long as there are warnings."""
LOOK = 0.5
"""Seconds for which the command checks the load of the machine."""


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal calibrate`."""

    file: OutputFile
    ranks: int
    regions: str
    quick: bool
    accept: bool
    mpi: str | None


def calibrate(request: Request) -> int:
    """Measures, fits, shows the numbers and writes the profile. Returns the exit status."""
    from vicinal import __version__, _core

    if request.ranks < 2:
        raise CommandError(f"{request.ranks} rank has nobody to send to; give --ranks 2 or more")
    mpi = find_launcher(request.mpi)
    for part in request.regions.split("/"):
        check_regions(part, request.ranks)
    task = _task(request)
    for attempt in range(1, 2 if request.quick else ATTEMPTS + 1):
        load = share_in_use(LOOK)
        with run_folder() as folder:
            write_run(folder, task, {})
            run_ranks(folder, PROGRAM, request.ranks, mpi, STEPS, f"measuring ({attempt})", without=OF_PLANS)
            results, levels, figures = read_results(folder, task)
        warnings = warnings_of(results, levels, figures, load)
        if not warnings:
            break

    how = f"vicinal calibrate {__version__}{' --quick' if request.quick else ''}, regions {request.regions}"
    profile = profile_of(results, levels, figures, how)
    # The library reads the profile before it is written, so the file is valid.
    text = _core.Profile.from_json(json.dumps(profile)).to_json()
    _show(profile, levels, figures, sentence(results.gpu, results.device), warnings)
    if warnings and not request.accept:
        raise CommandError(
            "the profile is not written, since the warnings above give reason not to believe it; measure again when "
            "nothing else runs, or give --accept"
        )
    request.file.write_text(text)
    return 0


def share_in_use(seconds: float) -> float:
    """Share of the processors in use now. A load average would include work that has ended."""
    def idle_and_all() -> tuple[int, int]:
        ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
        return ticks[3] + ticks[4], sum(ticks)

    idle, whole = idle_and_all()
    time.sleep(seconds)
    later_idle, later_whole = idle_and_all()
    return 1 - (later_idle - idle) / max(later_whole - whole, 1)


def _task(request: Request) -> dict[str, Any]:
    powers = range(0, 21, 2) if request.quick else range(21)
    sizes = {0, 1 << 20} | {1 << power for power in powers}
    if not request.quick:
        # Finds a change of protocol to a factor of 1.5.
        sizes |= {3 << power for power in range(2, 19)}
    return {
        "ranks": request.ranks,
        "regions": request.regions,
        "sizes": sorted(sizes),
        "small": SMALL,
        "counts": [1, 8, 16, 32] if request.quick else [1, 8, 16, 32, 64],
        "few": [2, 4, 8, 16],
        "handled": [1 << 12, 1 << 14, 1 << 16, STREAM],
        "crowd_seconds": 0.005 if request.quick else 0.03,
        "queues": [0, 128, 256] if request.quick else [0, 64, 128, 256, 512],
        "stream": STREAM,
        "copied": COPIED,
        "copied_by_all": COPIED_BY_ALL,
        "device_sizes": [1 << power for power in range(4, 23, 6 if request.quick else 2)],
        "repetitions": 3 if request.quick else 9,
        "seconds": 2e-4 if request.quick else 1e-3,
        "work_seconds": 0.1 if request.quick else 0.2,
    }


def profile_of(
    results: Results, levels: dict[str, Level], figures: dict[str, Figure], how: str
) -> dict[str, Any]:
    """The content of the file. `how` describes the measurement."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    hosts = len(np.unique(np.concatenate(results.all("host"))))
    shape = f"{results.task['ranks']} ranks on {hosts} host{'s' if hosts > 1 else ''}"
    return {
        "kind": "vicinal profile",
        "format": 1,
        "name": f"{results.machine}, {results.mpi}",
        "source": f"{how}: {shape}",
        "date": today,
        "levels": {name: level_json(name, levels) for name in LEVELS},
        **{name: figure.value for name, figure in figures.items()},
        **({} if results.device is None else {"device": results.device}),
    }


def warnings_of(
    results: Results, levels: dict[str, Level], figures: dict[str, Figure], load: float
) -> list[str]:
    """Reasons not to trust the numbers."""
    warnings = []
    part = float(results.all("unit")[0][-1])
    if load > BUSY or part < OWN_CORE:
        warnings.append(
            f"the machine was busy with something else ({load:.0%} of its cores were in use before; a rank that "
            f"computed alone had {part:.0%} of one): measure again when it is idle"
        )
    for name, level in levels.items():
        worst = max(piece.residual for piece in level.pieces)
        if worst > LARGE_RESIDUAL:
            warnings.append(f"{name}: times lie {worst:.0%} from their lines, typically")
        if level.spread > LARGE_SPREAD:
            warnings.append(f"{name}: repetitions lie {level.spread:.0%} apart, typically")
    for name, work in (results.device or {}).items():
        if name in TASKS and work["residual"] > LARGE_RESIDUAL:
            warnings.append(f"GPU, {name}: times lie {work['residual']:.0%} from their line, typically")
    for name, figure in figures.items():
        if figure.quality is not None and figure.quality > LARGE_SPREAD and name != "search":
            warnings.append(f"{name}: measured times lie {figure.quality:.0%} apart, or from what is made of them")
    return warnings


def _show(
    profile: dict[str, Any], levels: dict[str, Level], figures: dict[str, Figure], gpus: str, warnings: Sequence[str]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    title = f"{profile['name']}: {profile['source']}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("messages", no_wrap=True)
    table.add_column("")
    for heading in ("up to", "send", "receive", "each, per kB", "latency", "per kB", "residual", "spread"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, level in levels.items():
        for index, piece in enumerate(level.pieces):
            first = index == 0
            table.add_row(
                f"{name}, ranks {level.pair[0]} and {level.pair[1]}" if first else "",
                "rendezvous" if piece.rendezvous else "eager",
                "any" if piece.up_to is None else size(piece.up_to),
                duration(level.send * 1e6) if first else "", duration(level.receive * 1e6) if first else "",
                duration(piece.processor * 1e9), duration(piece.latency * 1e6), duration(piece.per_byte * 1e9),
                f"{piece.residual:.1%}",
                f"{level.spread:.1%}" if first else "",
            )
    console = Console()
    console.width = max(console.width, 110)
    console.print(table)
    port, copy = figures["port_seconds_per_byte"], figures["copy_seconds_per_byte"]
    cores = figures["cores"].value
    lines = [
        f"a host's port {duration(port.value * 1e9)} per kB{_said(port)}; copies {duration(copy.value * 1e9)} per kB"
        f"{_said(copy)}; handover {duration(figures['handover'].value * 1e6)}{_said(figures['handover'])}; a posted "
        f"receive that is passed over {figures['search'].value * 1e9:.1f} ns{_said(figures['search'])}",
        "every rank has a core of its own" if cores == 0 else
        f"the ranks of a host have {cores:g} cores together; to pass one on takes "
        f"{duration(figures['turn'].value * 1e6)}{_said(figures['turn'])}, and to look for a message "
        f"{duration(figures['poll'].value * 1e6)}{_said(figures['poll'])}",
        gpus,
    ]
    missing = [name for name in LEVELS if name not in levels]
    if missing:
        lines.append(f"no two ranks were so near: {', '.join(missing)} (taken from the level next to it)")
    for line in lines:
        console.print(line, style="dim", highlight=False, markup=False)
    for warning in warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)


def _said(figure: Figure) -> str:
    return " (not measured)" if figure.quality is None else f" (within {figure.quality:.0%})"
