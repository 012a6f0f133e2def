"""`vicinal bench neighbor-allgather`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import numpy as np

from commanding import described, is_ratio, refused, vicinal, write_matrix
from vicinal_bench.benchmarks.competition import MPI_AGAIN, MPI_OWN
from vicinal_bench.benchmarks.neighbor_allgather import STRATEGIES
from vicinal_bench.benchmarks.workloads import random_sparse

pytestmark = pytest.mark.full

BENCH = ("bench", "neighbor-allgather")
KEYS = [
    "workload", "ranks", "edges", "block_bytes", "strategy", "setup_us", "exchange_us", "exchange_median_us",
    "ratio_to_mpi", "median_ratio_to_mpi", "nonlocal_messages", "nonlocal_messages_max", "nonlocal_bytes",
    "local_bytes", "correct",
]


def test_strategies_and_mpi_deliver_the_same(mpi: str, tmp_path: Path) -> None:
    pattern = tmp_path / "run.csv"
    pattern.write_text("# ranks=7\n0,6,1\n1,6,1\n2,6,1\n6,0,1\n")
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(
        *BENCH, "--ranks", 7, "--ranks-per-region", 3, "--density", "0,0.4", "--moore", "1,2",
        "--pattern", pattern, "--matrix", write_matrix(tmp_path), "--columns", 3, "--sizes", "1,400",
        "--iterations", 3, "--repetitions", 2, "--mpi", mpi, "--json", files[0], "--plot", files[1],
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(files[0].read_text())
    described(content, "bench neighbor-allgather", ran=True)
    assert [it["rows"] for it in content["matrices"]] == [203]
    assert [(it["name"], it["edges"]) for it in content["patterns"]] == [("run", 4)]
    rows = content["rows"]
    contestants = [MPI_OWN, *STRATEGIES, MPI_AGAIN]
    assert all(list(row) == KEYS for row in rows)
    assert all(row["correct"] is True and row["ranks"] == 7 for row in rows)
    cases = list(dict.fromkeys((row["workload"], row["block_bytes"]) for row in rows))
    graphs = ["random, density 0", "random, density 0.4", "Moore, radius 1, grid 7×1", "run"]
    # 203 rows on 7 ranks: 29 rows of 3 complex columns each.
    assert cases == [*((graph, size) for graph in graphs for size in (1, 400)), ("SpMM, random.mtx", 29 * 3 * 16)]
    for case in cases:
        of_case = [row for row in rows if (row["workload"], row["block_bytes"]) == case]
        assert [row["strategy"] for row in of_case] == contestants
        own, direct, again = of_case[0], of_case[1], of_case[-1]
        assert own["ratio_to_mpi"] == own["median_ratio_to_mpi"] == 1
        assert own["nonlocal_messages"] is None and again["nonlocal_messages"] is None
        for row in of_case:
            assert row["exchange_us"] <= row["exchange_median_us"] and row["setup_us"] > 0
            assert is_ratio(row["ratio_to_mpi"], row["exchange_us"], own["exchange_us"])
        if case[0] == "random, density 0.4":
            graph = random_sparse(7, 0.4)
            between = np.count_nonzero(graph.sources // 3 != graph.destinations // 3)
            assert (direct["nonlocal_messages"], direct["nonlocal_bytes"]) == (between, between * case[1])
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert all(name in result.stdout for name in contestants)


def test_a_pattern_brings_its_number_of_ranks(mpi: str, tmp_path: Path) -> None:
    pattern, file = tmp_path / "run.csv", tmp_path / "rows.json"
    pattern.write_text("0,2,1\n1,2,1\n")
    result = vicinal(*BENCH, "--pattern", pattern, "--regions", "list:0,0,1", "--strategy", "common-neighbor",
                     "--sizes", 8, "--iterations", 2, "--repetitions", 1, "--mpi", mpi, "--json", file)
    assert result.returncode == 0, result.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["strategy"] for row in rows] == [MPI_OWN, "common-neighbor", MPI_AGAIN]
    assert (rows[1]["ranks"], rows[1]["nonlocal_messages"], rows[1]["nonlocal_bytes"]) == (3, 1, 16)


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    pattern = tmp_path / "run.csv"
    pattern.write_text("0,2,1\n")
    few = (*BENCH, "--ranks", 2, "--strategy", "direct")
    refused(vicinal(*BENCH, "--strategy", "direct"), "--ranks")
    refused(vicinal(*few, "--density", "2"), "--density", "from 0 to 1")
    refused(vicinal(*few, "--moore", "1"), "--moore", "radius")
    refused(vicinal(*few, "--sizes", "0"), "--sizes", "positive")
    refused(vicinal(*few, "--pattern", pattern), "3 ranks", "2 are to run")
    refused(vicinal(*few, "--pattern", tmp_path / "none.csv"), "none.csv", "No such file")
    refused(vicinal(*few, "--matrix", tmp_path / "none.mtx"), "does not exist")
    refused(vicinal(*few, "--regions", "blocks:0"), "blocks:0")
    refused(vicinal(*BENCH, "--ranks", 2, "--strategy", "direct,telepathy"), "telepathy", "common-neighbor")
    refused(vicinal("bench"), "COLLECTIVE")
