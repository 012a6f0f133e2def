"""`vicinal bench alltoallv`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import numpy as np

from commanding import described, is_ratio, refused, vicinal
from vicinal_bench.benchmarks.alltoallv import MOST, USUAL, drawn
from vicinal_bench.benchmarks.competition import MPI_AGAIN, MPI_OWN
from vicinal_bench.ranks.alltoallv import CALLS

pytestmark = pytest.mark.full

BENCH = ("bench", "alltoallv")


def test_planners_and_mpi_deliver_the_same(mpi: str, tmp_path: Path) -> None:
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(
        *BENCH, "--ranks", 6, "--ranks-per-region", 2, "--sizes", "8,3000", "--iterations", 3, "--repetitions", 2,
        "--mpi", mpi, "--json", files[0], "--plot", files[1],
        # Without shared memory, because ranks of one host would pass blocks on without messages.
        env={"VICINAL_SHARED_MEMORY": "0"},
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(files[0].read_text())
    described(content, "bench alltoallv", ran=True)
    rows = content["rows"]
    assert [row["strategy"] for row in rows] == [MPI_OWN, *USUAL, MPI_AGAIN] * 4
    assert [row["counts"] for row in rows[:: len(USUAL) + 2]] == ["uniform", "uniform", "power-law", "power-law"]
    for number, row in enumerate(rows):
        own = rows[number - number % (len(USUAL) + 2)]
        assert row["correct"] is True
        assert 0 < row["exchange_us"] <= row["exchange_median_us"]
        assert is_ratio(row["ratio_to_mpi"], row["exchange_us"], own["exchange_us"])
        if row["strategy"] in (MPI_OWN, CALLS, MPI_AGAIN):
            assert row["nonlocal_messages"] is None and row["predicted_us"] is None
        else:
            assert row["predicted_us"] > 0
        if row["strategy"] == "direct":
            assert (row["nonlocal_messages"], row["nonlocal_messages_max"]) == (6 * 4, 4)
        if row["strategy"] == "tuna/2":
            # To the next, the second next and the fourth next of six, in regions of two.
            assert (row["nonlocal_messages"], row["nonlocal_messages_max"]) == (3 + 6 + 6, 3)
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_sizes_by_a_power_law_have_the_mean_that_was_asked_for() -> None:
    for size in (64, 16384):
        found = drawn("power-law", 64, size)
        assert (found == drawn("power-law", 64, size)).all()
        assert abs(found.mean() / size - 1) < 0.02
        least = found.min()
        assert found.max() / least <= MOST * 1.05
        # One in 8 is at least 4 times the minimum.
        assert abs((found >= 4 * least).mean() - 0.125) < 0.02
    assert np.unique(drawn("uniform", 8, 100)).tolist() == [100]


def test_impossible_requests_are_refused() -> None:
    few = (*BENCH, "--ranks", 4)
    refused(vicinal(*BENCH), "--ranks")
    refused(vicinal(*few, "--planners", "ring"), "ring", "tuna-hierarchical", "calls")
    refused(vicinal(*few, "--planners", "tuna/1"), "tuna/1", "a radix of 2 or more")
    refused(vicinal(*few, "--planners", "direct/4"), "direct/4")
    refused(vicinal(*few, "--counts", "normal"), "normal", "power-law")
