"""`vicinal bench allgather`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from vicinal import _core

from commanding import described, is_ratio, refused, vicinal
from vicinal_bench.benchmarks.allgather import BY_HAND, planners
from vicinal_bench.benchmarks.competition import MPI_AGAIN, MPI_OWN

pytestmark = pytest.mark.full

BENCH = ("bench", "allgather")


@pytest.mark.parametrize("local", ["shared", "messages"])
def test_planners_and_mpi_deliver_the_same(mpi: str, tmp_path: Path, local: str) -> None:
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(
        *BENCH, "--ranks", 5, "--ranks-per-region", 2, "--sizes", "8,3000", "--iterations", 3, "--repetitions", 2,
        "--local", local, "--mpi", mpi, "--json", files[0], "--plot", files[1], env={"VICINAL_ALLGATHER": "nonsense"},
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(files[0].read_text())
    described(content, "bench allgather", ran=True)
    rows = content["rows"]
    assert [row["strategy"] for row in rows] == [MPI_OWN, BY_HAND, *planners(), MPI_AGAIN] * 2
    for row in rows:
        assert row["correct"] is True
        assert row["workload"] in result.stdout
        assert 0 < row["exchange_us"] <= row["exchange_median_us"]
        own = rows[0 if row["block_bytes"] == 8 else len(rows) // 2]
        assert is_ratio(row["ratio_to_mpi"], row["exchange_us"], own["exchange_us"])
        if row["strategy"] in (MPI_OWN, BY_HAND, MPI_AGAIN):
            assert row["nonlocal_messages"] is None
        else:
            assert (row["local_messages"] == 0) == (local == "shared")
        if row["strategy"] == "hierarchical":
            # Three leaders in two steps; each region receives the missing ones of the five blocks.
            assert (row["nonlocal_messages"], row["nonlocal_messages_max"]) == (6, 2)
            assert row["nonlocal_bytes"] == (3 + 3 + 4) * row["block_bytes"]
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_counts_of_many_ranks(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--count", "--ranks", 256, "--ranks-per-region", 4, "--sizes", 8, "--planners",
                     "bruck,locality-bruck", "--local", "messages", "--json", file, env={"VICINAL_MPI": "none"})
    assert result.returncode == 0, result.stderr
    content = json.loads(file.read_text())
    described(content, "bench allgather", ran=False)
    plain, aware = content["rows"]
    assert (plain["regions"], plain["nonlocal_messages_max"], plain["nonlocal_bytes_max"]) == (64, 8, 255 * 8)
    # log of 64 to base 4 messages; they hold 1, 4 and 16 blocks of each of 4 ranks.
    assert (aware["nonlocal_messages_max"], aware["nonlocal_bytes_max"]) == (3, (4 + 16 + 64) * 8)
    # Eight messages one after the other, each twice as long as the previous; some blocks are merged
    # first.
    network = json.loads(_core.Profile.default().to_json())["levels"]["network"]

    def seconds(count: int) -> float:
        protocol = next(it for it in network["protocols"] if count <= it.get("up_to", count))
        overheads = network["send_overhead"] + network["receive_overhead"]
        return overheads + protocol["latency"] + count * protocol["seconds_per_byte"]

    steps = 1e6 * sum(seconds(8 * 2**step) for step in range(8))
    assert plain["predicted_us"] == pytest.approx(steps, rel=0.05)
    assert aware["predicted_us"] > 0


def test_the_choice_is_the_best_of_the_planners(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--count", "--ranks", 32, "--ranks-per-region", 8, "--sizes", "8,64,1024,65536",
                     "--json", file, env={"VICINAL_MPI": "none"})
    assert result.returncode == 0, result.stderr
    rows = json.loads(file.read_text())["rows"]
    for size in (8, 64, 1024, 65536):
        predicted = {row["strategy"]: row["predicted_us"] for row in rows if row["block_bytes"] == size}
        assert predicted.pop("automatic") <= 1.05 * min(predicted.values())


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    few = (*BENCH, "--ranks", 4)
    refused(vicinal(*BENCH), "--ranks")
    refused(vicinal(*few, "--planners", "aggregate"), "aggregate", "locality-bruck")
    refused(vicinal(*few, "--sizes", "0"), "0")
    refused(vicinal(*few, "--local", "both"), "both")
    refused(vicinal(*few, "--count"), "--ranks-per-region")
    refused(vicinal(*few, "--count", "--ranks-per-region", 2, "--plot", tmp_path / "a.png"), "--plot", "--count")
