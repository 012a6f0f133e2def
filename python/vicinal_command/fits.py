"""Fits of a profile's numbers to measured times.

Times of messages are straight lines by size, piece by piece. Each piece is a protocol of the MPI.
All fits use relative errors, since a microsecond is much for 8 bytes and nothing for a megabyte.
Outliers get little weight, since another process may have run meanwhile.
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
"""Least number of points of a line."""
NOISE = 0.02
"""Relative noise of measurements. A smaller improvement does not justify a further piece."""
ROUNDS = 20


@dataclass(frozen=True)
class Piece:
    """Messages up to a size (None: of any size): seconds = latency + bytes * per_byte."""

    up_to: int | None
    latency: float
    per_byte: float
    residual: float
    """Median of the relative errors."""
    rendezvous: bool = False
    processor: float = 0.0
    """Seconds per byte of the processor at each end, in addition to `per_byte`."""

    @property
    def in_all(self) -> float:
        """Seconds per byte from one end to the other."""
        return self.per_byte + 2 * self.processor


def fit_line(sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> tuple[float, float]:
    """Latency and seconds per byte, not negative: reweighted least squares of relative errors."""
    x, t = np.asarray(sizes, float), np.asarray(seconds, float)
    weight = 1 / t
    line = (0.0, 0.0)
    for _ in range(ROUNDS):
        line = _weighted_line(x, t, weight)
        error = np.abs(line[0] + line[1] * x - t) / t
        # Weights of the soft L1 loss, scaled by the typical error.
        weight = 1 / t / (1 + (error / max(float(np.median(error)), NOISE / 10)) ** 2) ** 0.25
    return line


def fit_pieces(
    sizes: npt.ArrayLike, seconds: npt.ArrayLike, eager_up_to: float | None = None, most: int = MOST_PIECES
) -> list[Piece]:
    """Fits as few pieces as possible. Sizes ascend.

    Up to `eager_up_to` bytes, sends complete without their receive. A piece ends there, and later
    pieces are `rendezvous`. None: unknown.
    """
    pieces = _all_pieces(np.asarray(sizes, float), np.asarray(seconds, float), eager_up_to, most)
    return [*pieces[:-1], _risen(pieces[-1], sizes, seconds)]


def _risen(last: Piece, sizes: npt.ArrayLike, seconds: npt.ArrayLike) -> Piece:
    """Makes the last, unbounded piece rise with the size, even if noise has made it flat."""
    if last.per_byte > 0:
        return last
    x, t = np.asarray(sizes, float), np.asarray(seconds, float)
    return replace(last, latency=0.0, per_byte=float(t[-1] / x[-1]))


def _all_pieces(x: Floats, t: Floats, eager_up_to: float | None, most: int) -> list[Piece]:
    if eager_up_to is None or eager_up_to >= x[-1]:
        return _pieces(x, t, most)
    split = int(np.searchsorted(x, eager_up_to, side="right"))
    if min(split, len(x) - split) < LEAST_POINTS:
        # One side has too few points for a fit of its own. The rendezvous flag still holds.
        whole = _pieces(x, t, most)
        return whole if split >= LEAST_POINTS else [replace(piece, rendezvous=True) for piece in whole]
    below = _pieces(x[:split], t[:split], most - 1)
    above = _pieces(x[split:], t[split:], most - len(below))
    ends = [*below[:-1], replace(below[-1], up_to=int(eager_up_to))]
    return [*ends, *(replace(piece, rendezvous=True) for piece in above)]


def fit_slope(counts: npt.ArrayLike, seconds: npt.ArrayLike) -> float:
    """Seconds per unit of the count, not negative: the median over all pairs (Theil and Sen).

    `seconds` may have a row for each repetition.
    """
    from scipy.stats import theilslopes

    return max(0.0, float(theilslopes(typical(np.atleast_2d(seconds)), counts)[0]))


def fit_port(pairs: npt.ArrayLike, size: float, seconds: npt.ArrayLike, alone: Piece) -> tuple[float, float]:
    """Seconds per byte of a node's total injection, and the median relative error.

    `seconds` are those of one message of `size` bytes when `pairs` pairs send at once. `alone` is
    the line of a message without others. The model is max-rate: latency + max(size * per_byte,
    pairs * size * port).
    """
    k, t = np.asarray(pairs, float), np.asarray(seconds, float)
    rest = np.maximum(t - alone.latency, 0)

    def error(port: float) -> Floats:
        model = alone.latency + size * np.maximum(alone.per_byte, k * port)
        return np.abs(np.log(model / t))

    # The sum of absolute errors is least where one of them is zero.
    candidates = [alone.per_byte / k.max(), *(rest / (k * size))[rest > 0]]
    best = min(candidates, key=lambda port: float(error(port).sum()))
    return float(best), float(np.median(error(best)))


def split_overheads(
    send: float, receive: float, least: float, pieces: Sequence[Piece]
) -> tuple[float, float, list[Piece]]:
    """Splits latencies into the processors' overheads and the rest of each piece.

    Both ends may work at once, so their sum can exceed the time of the `least` message. Then both
    are scaled down alike, since a profile's times are sums. A piece with a lower latency, as steep
    ones may have, keeps none.
    """
    share = min(1.0, least / (send + receive)) if send + receive > 0 else 1.0
    send, receive = send * share, receive * share
    return send, receive, [replace(piece, latency=max(0.0, piece.latency - send - receive)) for piece in pieces]


def processor_by_piece(pieces: Sequence[Piece], seconds: Mapping[int, float]) -> list[float]:
    """Seconds per byte of the processors at both ends together, by piece.

    `seconds` maps message sizes, ascending, to the time of both processors; the first is the
    smallest. Of several sizes in a piece, the median counts. If there is none, the next larger size
    counts, else the next smaller one.
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
    """Splits off the processors' part of the bytes, `of_both` ends together, by piece.

    As in split_overheads, this part is at most the whole, since both ends may work at once.
    """
    parts = [min(piece.per_byte, both) for piece, both in zip(pieces, of_both, strict=True)]
    return [
        replace(piece, per_byte=piece.per_byte - part, processor=part / 2)
        for piece, part in zip(pieces, parts, strict=True)
    ]


def typical(samples: npt.ArrayLike) -> Floats:
    """Median over repetitions, which are the first dimension."""
    return np.median(np.asarray(samples, float), axis=0)


def spread(samples: npt.ArrayLike) -> float:
    """Spread of repetitions: the interquartile range over the median, typically."""
    values = np.asarray(samples, float)
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    return float(np.median((high - low) / np.maximum(middle, np.finfo(float).tiny)))


def _weighted_line(x: Floats, t: Floats, weight: Floats) -> tuple[float, float]:
    """Weighted least-squares line with neither negative intercept nor negative slope."""
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
    """The division into at most `most` lines with the least cost, by exhaustive search.

    The cost is Bayes' information criterion for relative errors, with a floor. Another piece must
    be worth its three numbers (two of a line, and its begin).
    """
    count = len(x)
    fitted: dict[tuple[int, int], tuple[float, Any]] = {}

    def segment(first: int, last: int) -> tuple[float, Any]:
        if (first, last) not in fitted:
            line = fit_line(x[first:last], t[first:last])
            error = np.abs(line[0] + line[1] * x[first:last] - t[first:last]) / t[first:last]
            # A single outlier must not justify a piece.
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
    """The ends of up to `most` pieces with at least LEAST_POINTS points each."""
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
