"""Fits recover the parameters of synthetic times despite noise and outliers; the default profile is
such a fit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from vicinal import _core

from vicinal_command.fits import (
    Piece,
    fit_line,
    fit_pieces,
    fit_port,
    fit_slope,
    processor_by_piece,
    split_bytes,
    split_overheads,
    spread,
    typical,
)

pytestmark = pytest.mark.full

SIZES = np.unique(np.concatenate([[0], 2 ** np.arange(21), 3 * 2 ** np.arange(19)])).astype(float)


def noisy(times: np.ndarray, seed: int, strays: int = 0) -> np.ndarray:
    """Adds some percent to each time, and multiplies a few times by a factor."""
    generator = np.random.default_rng(seed)
    result = times * (1 + 0.03 * np.abs(generator.standard_normal(times.shape)))
    result[generator.permutation(len(times))[:strays]] *= 5
    return result


def times_of(sizes: np.ndarray, pieces: list[Piece]) -> np.ndarray:
    ends = [np.inf if piece.up_to is None else piece.up_to for piece in pieces]
    which = np.searchsorted(ends, sizes)
    return np.array([pieces[i].latency + size * pieces[i].per_byte for i, size in zip(which, sizes, strict=True)])


@pytest.mark.parametrize("seed", range(5))
def test_lines_are_found_among_strays(seed: int) -> None:
    latency, per_byte = fit_line(SIZES, noisy(2e-6 + 3e-10 * SIZES, seed, strays=5))
    assert latency == pytest.approx(2e-6, rel=0.08)
    assert per_byte == pytest.approx(3e-10, rel=0.08)


def test_lines_neither_fall_nor_begin_below_zero() -> None:
    assert fit_line([1, 2, 3, 4], [4, 3, 2, 1])[1] == 0
    latency, per_byte = fit_line([10, 20, 30], [1, 12, 23])
    assert latency == 0 and per_byte > 0
    assert fit_line([5, 5, 5], [2, 2, 2]) == (2, 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("known", [True, False])
def test_switch_points_are_found(seed: int, known: bool) -> None:
    true = [Piece(512, 1e-6, 2e-9, 0), Piece(65536, 2.5e-6, 4e-10, 0), Piece(None, 2e-5, 1e-10, 0, True)]
    times = noisy(times_of(SIZES, true), seed, strays=2)
    found = fit_pieces(SIZES, times, eager_up_to=65536 if known else None)
    assert len(found) == 3
    assert 384 <= (found[0].up_to or 0) <= 1024
    assert found[1].up_to == 65536 and found[2].up_to is None
    for piece, expected in zip(found, true, strict=True):
        assert piece.latency == pytest.approx(expected.latency, rel=0.15)
        assert piece.per_byte == pytest.approx(expected.per_byte, rel=0.25)
        assert piece.residual < 0.05
        assert piece.rendezvous == (expected.rendezvous and known)


def test_one_line_is_one_piece() -> None:
    assert len(fit_pieces(SIZES, noisy(1e-6 + 1e-9 * SIZES, 1))) == 1
    # But the size from which sends wait for their receives is known, whatever the times are.
    first, second = fit_pieces(SIZES, noisy(1e-6 + 1e-9 * SIZES, 2), eager_up_to=4096)
    assert (first.up_to, first.rendezvous, second.rendezvous) == (4096, False, True)


def test_a_stray_time_is_no_protocol() -> None:
    times = 1e-6 + 1e-9 * SIZES
    times[12] *= 20
    assert len(fit_pieces(SIZES, times)) == 1


def test_large_messages_are_never_free() -> None:
    """Even if noise makes the times fall."""
    piece = fit_pieces(SIZES[1:], np.linspace(4e-3, 3e-3, len(SIZES) - 1))[-1]
    assert (piece.latency, piece.per_byte) == (0, pytest.approx(3e-3 / SIZES[-1]))


def test_what_is_nearly_all_eager_or_none_of_it() -> None:
    times = 1e-6 + 1e-9 * SIZES
    assert [piece.rendezvous for piece in fit_pieces(SIZES, times, eager_up_to=0)] == [True]
    assert [piece.rendezvous for piece in fit_pieces(SIZES, times, eager_up_to=800000)] == [False]
    assert [piece.rendezvous for piece in fit_pieces(SIZES, times, eager_up_to=1 << 20)] == [False]


def test_slopes_and_medians_withstand_strays() -> None:
    counts = np.array([1, 8, 16, 32, 64])
    generator = np.random.default_rng(3)
    samples = (5e-6 + 4e-7 * counts) * (1 + 0.02 * generator.standard_normal((9, 5)))
    samples[3] *= 10
    assert fit_slope(counts, samples) == pytest.approx(4e-7, rel=0.05)
    assert fit_slope(counts, -counts) == 0
    assert typical(samples) == pytest.approx(5e-6 + 4e-7 * counts, rel=0.05)
    assert spread(np.ones((5, 3))) == 0
    assert spread([[1.0], [2.0], [3.0]]) == pytest.approx(0.5)


@pytest.mark.parametrize("port", [2e-11, 1e-10, 9e-10])
def test_port_limits_are_found(port: float) -> None:
    alone, size, pairs = Piece(None, 3e-6, 1e-10, 0), 1 << 20, np.array([1, 2, 4, 8, 16])
    times = noisy(alone.latency + size * np.maximum(alone.per_byte, pairs * port), 5)
    found, residual = fit_port(pairs, size, times, alone)
    assert found == pytest.approx(port, rel=0.1)
    assert residual < 0.1


def test_pairs_that_are_not_in_each_others_way_have_no_limit_that_matters() -> None:
    alone, size, pairs = Piece(None, 3e-6, 1e-10, 0), 1 << 20, np.array([1, 2, 4])
    found, _ = fit_port(pairs, size, np.full(3, alone.latency + size * alone.per_byte), alone)
    assert 0 < found * 4 <= alone.per_byte * 1.01
    assert fit_port(pairs, size, np.full(3, alone.latency / 2), alone)[0] > 0


def test_overheads_are_taken_out_of_latencies() -> None:
    pieces = [Piece(100, 1e-6, 1e-9, 0), Piece(None, 3e-6, 1e-10, 0)]
    send, receive, rest = split_overheads(2e-7, 3e-7, 1e-6, pieces)
    assert (send, receive) == (2e-7, 3e-7)
    assert [piece.latency for piece in rest] == pytest.approx([5e-7, 2.5e-6])
    send, receive, rest = split_overheads(1.5e-6, 5e-7, 1e-6, pieces)
    assert (send, receive) == pytest.approx((7.5e-7, 2.5e-7))
    assert [piece.latency for piece in rest] == pytest.approx([0, 2e-6], abs=1e-12)
    assert [piece.latency for piece in split_overheads(2e-7, 3e-7, 1e-6, [Piece(None, 0, 1, 0)])[2]] == [0]
    assert split_overheads(0, 0, 1e-6, pieces)[2] == pieces


def test_bytes_of_processors_are_taken_out_of_pieces() -> None:
    pieces = [Piece(1000, 1e-6, 1e-9, 0.0), Piece(5000, 1e-6, 4e-10, 0.0), Piece(None, 2e-6, 3e-10, 0.0)]
    seconds = {8: 2e-6} | {size: 2e-6 + rate * (size - 8) for size, rate in
                           {4096: 2e-10, 1 << 14: 5e-10, 1 << 16: 9e-10, 1 << 18: 6e-10}.items()}
    # The first piece has no measurement, the second has one; the median of three counts in the
    # last.
    of_both = processor_by_piece(pieces, seconds)
    assert of_both == pytest.approx([2e-10, 2e-10, 6e-10])
    assert processor_by_piece(pieces[:1], {8: 2e-6, 16: 1e-6}) == [0]
    assert processor_by_piece([Piece(None, 0, 0, 0)], {8: 2e-6, 1008: 3e-6}) == pytest.approx([1e-9])
    beyond = [Piece(5000, 0, 0, 0), Piece(1 << 20, 0, 0, 0), Piece(None, 0, 0, 0)]
    assert processor_by_piece(beyond, seconds)[2] == pytest.approx(6e-10)

    apart = split_bytes(pieces, of_both)
    assert [piece.processor for piece in apart] == pytest.approx([1e-10, 1e-10, 1.5e-10])
    assert [piece.per_byte for piece in apart] == pytest.approx([8e-10, 2e-10, 0], abs=1e-15)
    assert [piece.latency for piece in apart] == [piece.latency for piece in pieces]


def test_default_profile_says_what_was_published() -> None:
    """The default profile reproduces published times of Lassen.

    They are in bienz2/BenchPress, benchmarks/lassen/04_08_21/maxrate.2412163.out: one pair of ranks
    on two nodes, and all forty ranks at once. Half of the forty send while the others answer. Sizes
    are numbers of floats there.
    """
    profile = json.loads(_core.Profile.default().to_json())
    network = profile["levels"]["network"]
    overheads = network["send_overhead"] + network["receive_overhead"]

    def seconds(count: int) -> float:
        protocol = next(each for each in network["protocols"] if count <= each.get("up_to", count))
        return overheads + protocol["latency"] + count * protocol["seconds_per_byte"]

    assert seconds(4) == pytest.approx(1.27e-6, rel=0.05)
    assert seconds(4 << 17) == pytest.approx(45.5e-6, rel=0.05)
    assert 20 * (4 << 17) * profile["port_seconds_per_byte"] == pytest.approx(461.7e-6, rel=0.05)
    assert profile["cores"] == 0
