"""`vicinal calibrate`: what messages, copies and handovers cost on this machine, as a profile that plans are chosen by.

The ranks that measure are ranks/calibrate.py; how numbers come of their times, fits.py.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .fits import Piece, fit_pieces, fit_port, fit_slope, split_overheads, spread, typical
from .gpus import TASKS, device_of, sentence
from .outputs import CommandError, OutputFile
from .runs import check_regions, find_launcher, run_folder, run_ranks, write_run
from .tables import duration, size

LEVELS = ("domain", "node", "network")
STEPS = 8
"""Reports of a rank: the cores, each level, the queue, the memory, the port, the GPU."""
SMALL = 8
"""Bytes of a message whose cost is the processors'."""
STREAM = 1 << 18
"""Bytes of the messages that go through a port together."""
COPIED = 1 << 17

LARGE_RESIDUAL, LARGE_SPREAD, BUSY, OWN_CORE = 0.15, 0.25, 0.3, 0.9

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Request:
    """What `vicinal calibrate` was asked for."""

    file: OutputFile
    ranks: int
    regions: str
    quick: bool
    mpi: str | None


@dataclass(frozen=True)
class Level:
    """A level's numbers, and how far its samples lay apart."""

    send: float
    receive: float
    pieces: Sequence[Piece]
    spread: float
    pair: tuple[int, int]


@dataclass(frozen=True)
class Figure:
    """A number of a profile that is none of a level: what it is, how it is shown, and how good it is."""

    value: float
    quality: float | None = None
    """A residual or a spread; None where it was not measured."""


def calibrate(request: Request) -> int:
    """Measure, fit, show the numbers and write the profile.  Returns the exit status."""
    from vicinal import __version__, _core

    if request.ranks < 2:
        raise CommandError(f"{request.ranks} rank has nobody to send to; give --ranks 2 or more")
    mpi = find_launcher(request.mpi)
    for part in request.regions.split("/"):
        check_regions(part, request.ranks)
    task = _task(request)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    with run_folder() as folder:
        write_run(folder, task, {})
        run_ranks(folder, "calibrate", request.ranks, mpi, STEPS, "measuring")
        results, levels, figures = read_results(folder, task)

    how = f"vicinal calibrate {__version__}{' --quick' if request.quick else ''}, regions {request.regions}"
    profile = profile_of(results, levels, figures, how)
    # What is written is what can be read: the library itself says so.
    request.file.write_text(_core.Profile.from_json(json.dumps(profile)).to_json())
    _show(profile, levels, figures, sentence(results.gpu, results.device), warnings_of(results, levels, figures, load))
    return 0


def read_results(folder: Path, task: dict[str, Any]) -> tuple[Results, dict[str, Level], dict[str, Figure]]:
    """What the ranks have left in the folder, and the numbers that come of it."""
    results = Results(folder, task)
    levels = {name: level for name in LEVELS if (level := _level(results, name)) is not None}
    return results, levels, _figures(results, levels)


def _task(request: Request) -> dict[str, Any]:
    powers = range(0, 21, 2) if request.quick else range(21)
    sizes = {0, 1 << 20} | {1 << power for power in powers}
    if not request.quick:
        # Where sends change is found to a factor of 1.5.
        sizes |= {3 << power for power in range(2, 19)}
    return {
        "ranks": request.ranks,
        "regions": request.regions,
        "sizes": sorted(sizes),
        "small": SMALL,
        "counts": [1, 8, 16, 32] if request.quick else [1, 8, 16, 32, 64],
        "queues": [0, 128, 256] if request.quick else [0, 64, 128, 256, 512],
        "stream": STREAM,
        "copied": COPIED,
        "device_sizes": [1 << power for power in range(4, 23, 6 if request.quick else 2)],
        "repetitions": 3 if request.quick else 9,
        "seconds": 2e-4 if request.quick else 1e-3,
        "work_seconds": 0.02 if request.quick else 0.2,
    }


class Results:
    """What the ranks have left, each thing by the one that has measured it."""

    def __init__(self, folder: Path, task: dict[str, Any]) -> None:
        self.task = task
        files = [np.load(folder / f"result-{rank}.npz") for rank in range(task["ranks"])]
        self._by_rank = [{name: file[name] for name in file.files} for file in files]
        self.mpi, self.machine = str(self._by_rank[0]["mpi"]), str(self._by_rank[0]["machine"])

    def all(self, name: str) -> list[Floats]:
        return [found[name] for found in self._by_rank if name in found]

    def samples(self, name: str, width: int) -> Floats | None:
        """By repetition and what was asked for; of several ranks the slowest."""
        found = self.all(name)
        return np.max(found, axis=0).reshape(-1, width) if found else None

    @property
    def gpu(self) -> Sequence[str] | None:
        """What rank 0 has found: its name, how many there are, and something if it has kernels."""
        found = self._by_rank[0].get("gpu")
        return None if found is None else [str(each) for each in found]

    @property
    def device(self) -> dict[str, Any] | None:
        """What the profile has of it."""
        peer = next(iter(self.all("device_peer")), None)
        device = device_of(self.gpu, self._by_rank[0].get("device"), peer, self.task["device_sizes"])
        levels = {name: level for name in LEVELS if (level := _level(self, f"gpu_{name}")) is not None}
        if device is None or not levels:
            return device
        return device | {"levels": {name: _level_json(name, levels) for name in LEVELS}}

    @property
    def pairs_together(self) -> list[int]:
        names = {name for found in self._by_rank for name in found if name.startswith("together_")}
        return sorted(int(name.removeprefix("together_")) for name in names)


def _level(results: Results, name: str) -> Level | None:
    task = results.task
    times = results.samples(f"{name}_one_way", len(task["sizes"]))
    if times is None:
        return None
    pieces = fit_pieces(task["sizes"], typical(times), float(results.all(f"{name}_eager")[0][0]))
    # Nothing makes processor time less than it is.
    least = [_require(results, f"{name}_{what}").min(axis=0) for what in ("sends", "receives")]
    sending, receiving = (fit_slope(task["counts"], each) for each in least)
    send, receive, rest = split_overheads(sending, receiving, float(typical(times)[0]), pieces)
    one, other = results.all(f"{name}_pair")[0]
    return Level(send, receive, rest, spread(times), (int(one), int(other)))


def _require(results: Results, name: str) -> Floats:
    samples = results.samples(name, len(results.task["counts"]))
    assert samples is not None, name
    return samples


def _figures(results: Results, levels: dict[str, Level]) -> dict[str, Figure]:
    """What there is beside the levels, from measurements, and from what is nearest to one."""
    task = results.task
    figures: dict[str, Figure] = {}
    queued = results.samples("queued", len(task["queues"]))
    figures["search"] = Figure(0.0) if queued is None else Figure(fit_slope(task["queues"], queued), spread(queued))
    # Where no two ranks share memory, a message on the shortest way does the same, and more.
    name = next(name for name in LEVELS if name in levels)
    nearest = levels[name]
    copies, handover = results.samples("copy", 1), results.samples("handover", 1)
    short = nearest.send + nearest.pieces[0].latency + nearest.receive
    if handover is None:
        figures["handover"] = Figure(short)
    else:
        one_way = results.samples(f"{name}_one_way", len(task["sizes"]))
        assert one_way is not None, name
        figures["handover"] = handover_of(handover, float(typical(one_way)[0]))
    figures["copy_seconds_per_byte"] = (
        Figure(nearest.pieces[-1].per_byte)
        if copies is None
        else Figure(float(typical(copies)[0]) / task["copied"], spread(copies))
    )
    figures["port_seconds_per_byte"] = _port(results, levels)
    figures["cores"] = _cores(results)
    return figures


def handover_of(seconds: Floats, short: float) -> Figure:
    """The least: now and then two ranks have one core, which they then hand over as well.

    If they had it all the time: a short message between the two takes no less than a handover, which it consists of.
    """
    least = float(seconds.min())
    return Figure(min(least, short), spread(seconds) if least <= short else least / short - 1)


def _cores(results: Results) -> Figure:
    """How much of a core each rank has where all compute at once, summed up over those of a host; 0 for one each."""
    unit = float(np.median(results.all("unit")[0][:-1]))
    shares = unit * np.array([np.median(each) for each in results.all("paces")])
    hosts = np.array([each[0] for each in results.all("host")])
    together = [(shares[hosts == host].sum(), (hosts == host).sum()) for host in np.unique(hosts)]
    if all(cores >= OWN_CORE * ranks for cores, ranks in together):
        return Figure(0.0)
    return Figure(round(float(np.median([cores for cores, _ in together])), 3))


def _port(results: Results, levels: dict[str, Level]) -> Figure:
    farthest = levels[[name for name in LEVELS if name in levels][-1]]
    counts = results.pairs_together
    if not counts:
        # One host has no port that anything goes through; a message has its own rate.
        return Figure(farthest.pieces[-1].per_byte)
    times = [results.samples(f"together_{count}", 1) for count in counts]
    seconds = np.array([typical(each)[0] for each in times if each is not None])
    # A turn is the message and its empty answer, which cannot have taken more than the half.
    answer = farthest.pieces[0].latency + farthest.send + farthest.receive
    seconds = np.maximum(seconds - answer, seconds / 2)
    piece = next(each for each in farthest.pieces if each.up_to is None or results.task["stream"] <= each.up_to)
    # Alone, as measured here: the line of all sizes may lie a little off at this one.
    latency = piece.latency + farthest.send + farthest.receive
    rate = (float(seconds[0]) - latency) / results.task["stream"]
    alone = Piece(None, latency, rate if rate > 0 else farthest.pieces[-1].per_byte, 0.0)
    value, residual = fit_port(counts, results.task["stream"], seconds, alone)
    return Figure(value, residual)


def profile_of(
    results: Results, levels: dict[str, Level], figures: dict[str, Figure], how: str
) -> dict[str, Any]:
    """What is written to the file; `how` it was measured is said beside where."""
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    hosts = len(np.unique(np.concatenate(results.all("host"))))
    shape = f"{results.task['ranks']} ranks on {hosts} host{'s' if hosts > 1 else ''}"
    return {
        "kind": "vicinal profile",
        "format": 1,
        "name": f"{results.machine}, {results.mpi}",
        "source": f"{how}: {shape}",
        "date": today,
        "levels": {name: _level_json(name, levels) for name in LEVELS},
        **{name: figure.value for name, figure in figures.items()},
        **({} if results.device is None else {"device": results.device}),
    }


def _level_json(name: str, levels: dict[str, Level]) -> dict[str, Any]:
    """A level's numbers, or those of the one next to it, of two the nearer one."""
    place = LEVELS.index(name)
    level = levels[min(levels, key=lambda each: (abs(LEVELS.index(each) - place), LEVELS.index(each)))]
    protocols = [
        {
            **({} if piece.up_to is None else {"up_to": piece.up_to}),
            "latency": piece.latency, "seconds_per_byte": piece.per_byte, "rendezvous": piece.rendezvous,
            "residual": piece.residual,
        }
        for piece in level.pieces
    ]
    return {
        "measured": name in levels, "send_overhead": level.send, "receive_overhead": level.receive,
        "protocols": protocols,
    }


def warnings_of(
    results: Results, levels: dict[str, Level], figures: dict[str, Figure], load: float
) -> list[str]:
    """What gives reason not to believe the numbers."""
    warnings = []
    part = float(results.all("unit")[0][-1])
    if load > BUSY or part < OWN_CORE:
        warnings.append(
            f"the machine was busy with something else (load {load:.0%} of its cores before; a rank that computed "
            f"alone had {part:.0%} of one): measure again when it is idle"
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
    for heading in ("up to", "send", "receive", "latency", "per kB", "residual", "spread"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, level in levels.items():
        for index, piece in enumerate(level.pieces):
            first = index == 0
            table.add_row(
                f"{name}, ranks {level.pair[0]} and {level.pair[1]}" if first else "",
                "rendezvous" if piece.rendezvous else "eager",
                "any" if piece.up_to is None else size(piece.up_to),
                duration(level.send * 1e6) if first else "", duration(level.receive * 1e6) if first else "",
                duration(piece.latency * 1e6), duration(piece.per_byte * 1e9), f"{piece.residual:.1%}",
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
        "every rank has a core of its own" if cores == 0 else f"the ranks of a host have {cores:g} cores together",
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
