"""From measured times to the numbers of a profile.

Times of messages are taken for straight lines by size, piece by piece: each piece is a way in which the MPI sends.
All fits look at relative errors, since a microsecond is much for 8 bytes and nothing for a megabyte, and give what
lies far off little weight, since something else may have run meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_PIECES = 3
LEAST_POINTS = 3
"""A line through fewer says nothing of the sizes between them."""
NOISE = 0.02
"""What repeated measurements differ by anyway: no piece is worth having for less."""
ROUNDS = 20


@dataclass(frozen=True)
class Piece:
    """Messages up to a size (None: of any): seconds = latency + bytes * per_byte."""

    up_to: int | None
    latency: float
    per_byte: float
    residual: float
    """The median of the relative errors."""
    rendezvous: bool = False
    processor: float = 0.0
    """Seconds of the processor at each end for each byte, beside `per_byte`."""

    @property
    def in_all(self) -> float:
        """Seconds for each byte from one end to the other."""
        return self.per_byte + 2 * self.processor


def fit_line(sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> tuple[float, float]:
    """Latency and seconds per byte, neither negative, by reweighted least squares of relative errors."""
    x, t = np.asarray(sizes, float), np.asarray(seconds, float)
    weight = 1 / t
    line = (0.0, 0.0)
    for _ in range(ROUNDS):
        line = _weighted_line(x, t, weight)
        error = np.abs(line[0] + line[1] * x - t) / t
        # As the soft L1 loss has it, beyond what is typical of these.
        weight = 1 / t / (1 + (error / max(float(np.median(error)), NOISE / 10)) ** 2) ** 0.25
    return line


def fit_pieces(
    sizes: npt.ArrayLike, seconds: npt.ArrayLike, eager_up_to: float | None = None, most: int = MOST_PIECES
) -> list[Piece]:
    """The pieces, few where few will do; sizes ascend.

    `eager_up_to` is the size up to which sends were seen to complete without their receive: a piece ends there, and
    those beyond are `rendezvous`.  None: it is not known.
    """
    pieces = _all_pieces(np.asarray(sizes, float), np.asarray(seconds, float), eager_up_to, most)
    return [*pieces[:-1], _risen(pieces[-1], sizes, seconds)]


def _risen(last: Piece, sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> Piece:
    """The last piece, which goes on for ever: noise may have it flat, but bytes are not free."""
    if last.per_byte > 0:
        return last
    x, t = np.asarray(sizes, float), np.asarray(seconds, float)
    return replace(last, latency=0.0, per_byte=float(t[-1] / x[-1]))


def _all_pieces(x: Floats, t: Floats, eager_up_to: float | None, most: int) -> list[Piece]:
    if eager_up_to is None or eager_up_to >= x[-1]:
        return _pieces(x, t, most)
    split = int(np.searchsorted(x, eager_up_to, side="right"))
    if min(split, len(x) - split) < LEAST_POINTS:
        # One side has too little to be fitted for itself; that sends wait for receives holds all the same.
        whole = _pieces(x, t, most)
        return whole if split >= LEAST_POINTS else [replace(piece, rendezvous=True) for piece in whole]
    below = _pieces(x[:split], t[:split], most - 1)
    above = _pieces(x[split:], t[split:], most - len(below))
    ends = [*below[:-1], replace(below[-1], up_to=int(eager_up_to))]
    return [*ends, *(replace(piece, rendezvous=True) for piece in above)]


def fit_slope(counts: npt.ArrayLike, seconds: npt.ArrayLike) -> float:
    """Seconds for each more of what is counted, not negative: the median over all pairs of counts (Theil and Sen).

    `seconds` may have a row for each repetition.
    """
    n, t = np.asarray(counts, float), np.atleast_2d(np.asarray(seconds, float))
    t = np.median(t, axis=0)
    first, second = np.triu_indices(len(n), 1)
    return max(0.0, float(np.median((t[second] - t[first]) / (n[second] - n[first]))))


def fit_port(pairs: npt.ArrayLike, size: float, seconds: npt.ArrayLike, alone: Piece) -> tuple[float, float]:
    """Seconds per byte of all that a node injects together, and the median relative error.

    `seconds` are those of one message of `size` bytes where so many pairs send at once; `alone` has what one takes that
    has the way to itself.  The model is max-rate's: latency + max(size * per_byte, pairs * size * port).
    """
    k, t = np.asarray(pairs, float), np.asarray(seconds, float)
    rest = np.maximum(t - alone.latency, 0)

    def error(port: float) -> Floats:
        model = alone.latency + size * np.maximum(alone.per_byte, k * port)
        return np.abs(np.log(model / t))

    # The least sum of absolute errors is reached where one of them is zero.
    candidates = [alone.per_byte / k.max(), *(rest / (k * size))[rest > 0]]
    best = min(candidates, key=lambda port: float(error(port).sum()))
    return float(best), float(np.median(error(best)))


def split_overheads(
    send: float, receive: float, least: float, pieces: Sequence[Piece]
) -> tuple[float, float, list[Piece]]:
    """The processors' part of messages, and what remains of the pieces' latencies without it.

    Both ends may work at once, so that the two together can be more than the `least` message takes; then they are made
    less, alike, since a profile's times are sums.  A piece that begins lower than that, as steep ones may, has none left.
    """
    share = min(1.0, least / (send + receive)) if send + receive > 0 else 1.0
    send, receive = send * share, receive * share
    return send, receive, [replace(piece, latency=max(0.0, piece.latency - send - receive)) for piece in pieces]


def processor_by_piece(pieces: Sequence[Piece], seconds: Mapping[int, float]) -> list[float]:
    """What each byte takes of the processors at both ends together, by piece.

    `seconds` has what a message of each of some sizes takes of both, ascending; the first is of the smallest.  Of several sizes in a
    piece the middle one counts; where there is none, the nearest beyond it, or before.
    """
    least, *sizes = seconds
    rates = [max(0.0, (seconds[size] - seconds[least]) / (size - least)) for size in sizes]
    found: list[float] = []
    begin = -1.0
    for piece in pieces:
        end = np.inf if piece.up_to is None else piece.up_to
        inside = [rate for size, rate in zip(sizes, rates, strict=True) if begin < size <= end]
        beyond = [rate for size, rate in zip(sizes, rates, strict=True) if size > end]
        found.append(float(np.median(inside)) if inside else (beyond or rates[::-1])[0])
        begin = end
    return found


def split_bytes(pieces: Sequence[Piece], of_both: Sequence[float]) -> list[Piece]:
    """The pieces with the processors' part of bytes apart: `of_both` ends together, by piece.

    As of overheads, no more than there is: both ends may work at once.
    """
    parts = [min(piece.per_byte, both) for piece, both in zip(pieces, of_both, strict=True)]
    return [
        replace(piece, per_byte=piece.per_byte - part, processor=part / 2)
        for piece, part in zip(pieces, parts, strict=True)
    ]


def typical(samples: npt.ArrayLike) -> Floats:
    """The median over repetitions, which are the first dimension."""
    return np.median(np.asarray(samples, float), axis=0)


def spread(samples: npt.ArrayLike) -> float:
    """How far repetitions lie apart: the interquartile range over the median, typically."""
    values = np.asarray(samples, float)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    return float(np.median((high - low) / np.maximum(middle, np.finfo(float).tiny)))


def _weighted_line(x: Floats, t: Floats, weight: Floats) -> tuple[float, float]:
    """The least squares of weighted errors among lines that do not begin below zero, nor fall."""
    square = weight**2
    total, mean_x, mean_t = square.sum(), np.average(x, weights=square), np.average(t, weights=square)
    variance = (square * (x - mean_x) ** 2).sum()
    slope = (square * (x - mean_x) * (t - mean_t)).sum() / variance if variance > 0 * total else 0.0
    if slope <= 0:
        return float(mean_t), 0.0
    if mean_t - slope * mean_x < 0:
        return 0.0, float((square * x * t).sum() / (square * x * x).sum())
    return float(mean_t - slope * mean_x), float(slope)


def _pieces(x: Floats, t: Floats, most: int) -> list[Piece]:
    """The division into at most `most` lines that has the least cost, by trying all.

    The cost is that of Bayes' information criterion for relative errors, with a floor: another piece must be worth its
    three numbers (two of a line, and where it begins).
    """
    count = len(x)
    fitted: dict[tuple[int, int], tuple[float, Any]] = {}

    def segment(first: int, last: int) -> tuple[float, Any]:
        if (first, last) not in fitted:
            line = fit_line(x[first:last], t[first:last])
            error = np.abs(line[0] + line[1] * x[first:last] - t[first:last]) / t[first:last]
            # A single point far off must not buy a piece.
            cost = np.sum(np.log1p((error / NOISE) ** 2))
            fitted[first, last] = (float(cost), (line, float(np.median(error))))
        return fitted[first, last]

    best: tuple[float, list[int]] = (np.inf, [])
    for ends in _divisions(count, max(1, most)):
        starts = [0, *ends[:-1]]
        cost = sum(segment(a, b)[0] for a, b in zip(starts, ends, strict=True))
        cost += 3 * (len(ends) - 1) * np.log(count)
        if cost < best[0]:
            best = (cost, ends)
    pieces = []
    for first, last in zip([0, *best[1][:-1]], best[1], strict=True):
        (latency, per_byte), residual = segment(first, last)[1]
        pieces.append(Piece(int(x[last - 1]) if last < count else None, latency, per_byte, residual))
    return pieces


def _divisions(count: int, most: int) -> list[list[int]]:
    """The ends of pieces of at least so many points each, for all numbers of pieces up to `most`."""
    found: list[list[int]] = [[count]]
    open_ends: list[list[int]] = [[]]
    for _ in range(most - 1):
        open_ends = [
            [*ends, end]
            for ends in open_ends
            for end in range((ends[-1] if ends else 0) + LEAST_POINTS, count - LEAST_POINTS + 1)
        ]
        found += [[*ends, count] for ends in open_ends]
    return found
