"""Results of the ranks of `vicinal calibrate`, and the profile's numbers derived by fits.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .fits import (
    Piece, fit_pieces, fit_port, fit_slope, processor_by_piece, split_bytes, split_overheads, spread, typical,
)
from .gpus import device_of

LEVELS = ("domain", "node", "network")
OWN_CORE = 0.9
"""Share of a core that a rank gets while all compute, from which no core counts as shared."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """Numbers of a level, and the spread of its samples."""

    send: float
    receive: float
    pieces: Sequence[Piece]
    spread: float
    pair: tuple[int, int]


@dataclass(frozen=True)
class Figure:
    """A number of a profile outside the levels, and its quality."""

    value: float
    quality: float | None = None
    """A residual or a spread; None if not measured."""


def read_results(folder: Path, task: dict[str, Any]) -> tuple[Results, dict[str, Level], dict[str, Figure]]:
    """Results of the ranks in the folder, and the numbers derived from them."""
    results = Results(folder, task)
    alone = {name: level for name in LEVELS if (level := _level(results, name)) is not None}
    levels = {name: _where_cores_are_shared(results, name, level) for name, level in alone.items()}
    return results, levels, _figures(results, alone)


class Results:
    """Results of the ranks, each stored by the rank that measured it."""

    def __init__(self, folder: Path, task: dict[str, Any]) -> None:
        self.task = task
        files = [np.load(folder / f"result-{rank}.npz") for rank in range(task["ranks"])]
        self._by_rank = [{name: file[name] for name in file.files} for file in files]
        self.mpi, self.machine = str(self._by_rank[0]["mpi"]), str(self._by_rank[0]["machine"])

    def all(self, name: str) -> list[Floats]:
        return [found[name] for found in self._by_rank if name in found]

    def samples(self, name: str, width: int) -> Floats | None:
        """Samples by repetition and argument; of several ranks, the slowest."""
        found = self.all(name)
        return np.max(found, axis=0).reshape(-1, width) if found else None

    @property
    def gpu(self) -> Sequence[str] | None:
        """GPU of rank 0: its name, the number of GPUs, and a non-empty entry if it has kernels."""
        found = self._by_rank[0].get("gpu")
        return None if found is None else [str(each) for each in found]

    @property
    def device(self) -> dict[str, Any] | None:
        """The profile's entry for the GPU."""
        peer = next(iter(self.all("device_peer")), None)
        device = device_of(self.gpu, self._by_rank[0].get("device"), peer, self.task["device_sizes"])
        levels = {name: level for name in LEVELS if (level := _level(self, f"gpu_{name}")) is not None}
        if device is None or not levels:
            return device
        return device | {"levels": {name: level_json(name, levels) for name in LEVELS}}

    @cached_property
    def cores_and_ranks(self) -> tuple[float, float]:
        """Cores that a host's ranks share while all compute (0: one each), and number of ranks."""
        unit = float(np.median(self.all("unit")[0][:-1]))
        # The mean, because a rank without a turn in one repetition had longer ones in others.
        shares = unit * np.array([np.mean(each) for each in self.all("paces")])
        hosts = np.array([each[0] for each in self.all("host")])
        together = [(shares[hosts == host].sum(), (hosts == host).sum()) for host in np.unique(hosts)]
        ranks = float(np.median([count for _, count in together]))
        if all(cores >= OWN_CORE * count for cores, count in together):
            return 0.0, ranks
        return round(float(np.median([cores for cores, _ in together])), 3), ranks

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
    sending, receiving = (
        _processor_time(results, f"{name}_{what}", task["counts"]) for what in ("sends", "receives")
    )
    handled = {task["small"]: sending + receiving} | {
        size: sum(_processor_time(results, f"{name}_{what}_{size}", task["few"]) for what in ("sends", "receives"))
        for size in task["handled"]
    }
    send, receive, rest = split_overheads(sending, receiving, float(typical(times)[0]), pieces)
    rest = split_bytes(rest, processor_by_piece(rest, handled))
    one, other = results.all(f"{name}_pair")[0]
    return Level(send, receive, rest, spread(times), (int(one), int(other)))


def _processor_time(results: Results, name: str, counts: Sequence[int]) -> float:
    """Processor time of one more message."""
    samples = results.samples(name, len(counts))
    assert samples is not None, name
    # The minimum, since disturbances only add processor time.
    return fit_slope(counts, samples.min(axis=0))


def _where_cores_are_shared(results: Results, name: str, alone: Level) -> Level:
    """Level with processor costs as measured while all ranks communicate, if ranks share cores.

    While two ranks measure and others sleep, they have the caches and the system's queues for
    themselves, and receive messages of one sender in batches. The two ends keep the ratio measured
    with two ranks.
    """
    counts = [int(count) for count in next(iter(results.all(f"{name}_all_counts")), [])]
    cores, ranks = results.cores_and_ranks
    if cores == 0 or len(counts) < 2:
        return alone

    def of_both(size: int) -> float:
        """Processor time at both ends. In a turn, ranks send as many messages as they receive."""
        turns = [float(np.median(results.all(f"{name}_all_{size}_{count}"))) for count in counts]
        return fit_slope(counts, turns) * cores / ranks

    handled = {size: of_both(size) for size in (results.task["small"], *results.task["handled"])}
    both = handled[results.task["small"]]
    part = alone.send / (alone.send + alone.receive) if alone.send + alone.receive > 0 else 0.5
    pieces = _while_others_wait(results, name, both, handled) or [
        replace(piece, processor=processor / 2)
        for piece, processor in zip(alone.pieces, processor_by_piece(alone.pieces, handled), strict=True)
    ]
    return replace(alone, send=both * part, receive=both * (1 - part), pieces=pieces)


def _while_others_wait(results: Results, name: str, both: float, handled: dict[int, float]) -> list[Piece]:
    """Protocols as measured while waiting ranks take turns on the core, too; empty if not measured.

    Each step of a message waits for its rank's turn, and a large message has many steps. The
    processors' part is separate, at their speed.
    """
    sizes = results.task["sizes"]
    times = results.samples(f"{name}_waited", len(sizes))
    if times is None:
        return []
    cores, _ = results.cores_and_ranks
    speed = cores / np.ceil(cores)
    pieces = fit_pieces(sizes, typical(times), float(results.all(f"{name}_eager")[0][0]))
    return [
        replace(
            piece, processor=processor / 2, latency=max(0.0, piece.latency - both / speed),
            per_byte=max(0.0, piece.per_byte - processor / speed),
        )
        for piece, processor in zip(pieces, processor_by_piece(pieces, handled), strict=True)
    ]


def _figures(results: Results, levels: dict[str, Level]) -> dict[str, Figure]:
    """Numbers outside the levels, measured or taken from the nearest measurement."""
    task = results.task
    figures: dict[str, Figure] = {}
    queued = results.samples("queued", len(task["queues"]))
    figures["search"] = Figure(0.0) if queued is None else Figure(fit_slope(task["queues"], queued), spread(queued))
    # If no two ranks share memory, a message over the shortest distance includes a handover.
    name = next(name for name in LEVELS if name in levels)
    nearest = levels[name]
    handover = results.samples("handover", 1)
    short = nearest.send + nearest.pieces[0].latency + nearest.receive
    if handover is None:
        figures["handover"] = Figure(short)
    else:
        one_way = results.samples(f"{name}_one_way", len(task["sizes"]))
        assert one_way is not None, name
        figures["handover"] = _handover_of_all(results) or handover_of(handover, float(typical(one_way)[0]))
    figures["copy_seconds_per_byte"] = _copies(results, nearest)
    figures["port_seconds_per_byte"] = _port(results, levels)
    figures["cores"] = Figure(results.cores_and_ranks[0])
    figures |= _turns(results)
    return figures


def handover_of(seconds: Floats, short: float) -> Figure:
    """The minimum, since two ranks sometimes share a core, and then also hand over the core.

    If they always share it, a short message between them is an upper bound, since it consists of
    handovers.
    """
    least = float(seconds.min())
    return Figure(min(least, short), spread(seconds) if least <= short else least / short - 1)


def _handover_of_all(results: Results) -> Figure | None:
    """Processor time of one more handover while all ranks that share cores hand over; else None."""
    counts = [int(count) for count in next(iter(results.all("handed_counts")), [])]
    cores, ranks = results.cores_and_ranks
    if cores == 0 or len(counts) < 2:
        return None
    # All ranks store the slowest one's time.
    times = np.stack([results.all(f"handed_{count}")[0] for count in counts], axis=1)
    seconds = fit_slope(counts, times) * cores / ranks
    return Figure(seconds, spread(times)) if seconds > 0 else None


def _turns(results: Results) -> dict[str, Figure]:
    """Time to pass on a core among waiting ranks, and time of a poll for a message.

    One of several polls in a row finds a message that has arrived; on average, the middle one.
    """
    cores, ranks = results.cores_and_ranks
    if cores == 0:
        return {"turn": Figure(0.0), "poll": Figure(0.0)}
    # By rank: a rank with few turns in one repetition had more in others. A rank without
    # competitors counts, too.
    rates = {what: np.mean(1 / np.array(results.all(f"turns_{what}")), axis=1) for what in ("flag", "message")}
    flag, message = (cores / ranks / float(np.median(each)) for each in rates.values())
    return {
        "turn": Figure(flag, spread(rates["flag"][:, None])),
        "poll": Figure(max(0.0, message - flag) / 2, spread(rates["message"][:, None])),
    }


def _copies(results: Results, nearest: Level) -> Figure:
    """Copies of one rank, or of all at once if cores are shared; else from the nearest level."""
    cores, ranks = results.cores_and_ranks
    if cores > 0:
        # Among ranks that share a core, some are as fast as others are slow, so their bytes are
        # summed.
        rates = 1 / np.array(results.all("copies"))
        return Figure(cores / ranks / float(np.mean(rates)), spread(np.mean(rates, axis=0)[:, None]))
    copies = results.samples("copy", 1)
    if copies is None:
        return Figure(nearest.pieces[-1].in_all)
    return Figure(float(typical(copies)[0]) / results.task["copied"], spread(copies))


def _port(results: Results, levels: dict[str, Level]) -> Figure:
    farthest = levels[[name for name in LEVELS if name in levels][-1]]
    counts = results.pairs_together
    if not counts:
        # A single host has no port. A message has its own rate.
        return Figure(farthest.pieces[-1].in_all)
    times = [results.samples(f"together_{count}", 1) for count in counts]
    seconds = np.array([typical(each)[0] for each in times if each is not None])
    # A turn is the message and its empty answer, which takes at most half of it.
    answer = farthest.pieces[0].latency + farthest.send + farthest.receive
    seconds = np.maximum(seconds - answer, seconds / 2)
    piece = next(each for each in farthest.pieces if each.up_to is None or results.task["stream"] <= each.up_to)
    # Alone, as measured here, since the line through all sizes may be slightly off at this one.
    latency = piece.latency + farthest.send + farthest.receive
    rate = (float(seconds[0]) - latency) / results.task["stream"]
    alone = Piece(None, latency, rate if rate > 0 else farthest.pieces[-1].in_all, 0.0)
    value, residual = fit_port(counts, results.task["stream"], seconds, alone)
    return Figure(value, residual)


def level_json(name: str, levels: dict[str, Level]) -> dict[str, Any]:
    """Numbers of a level, or of the nearest measured one (of two, the shorter distance)."""
    place = LEVELS.index(name)
    level = levels[min(levels, key=lambda each: (abs(LEVELS.index(each) - place), LEVELS.index(each)))]
    protocols = [
        {
            **({} if piece.up_to is None else {"up_to": piece.up_to}),
            "latency": piece.latency, "seconds_per_byte": piece.per_byte, "rendezvous": piece.rendezvous,
            **({"processor_seconds_per_byte": piece.processor} if piece.processor > 0 else {}),
            "residual": piece.residual,
        }
        for piece in level.pieces
    ]
    return {
        "measured": name in levels, "send_overhead": level.send, "receive_overhead": level.receive,
        "protocols": protocols,
    }
