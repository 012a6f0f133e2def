"""`vicinal bench amg`, as a user runs it, and the hierarchy that it examines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from vicinal import _core

from commanding import described, is_ratio, refused, vicinal
from vicinal_bench.benchmarks import hierarchy
from vicinal_bench.benchmarks.amg_levels import CONTESTANTS, machine_of, sum_levels
from vicinal_bench.benchmarks.amg_run import STRATEGIES, sum_up

pytestmark = pytest.mark.full

BENCH = ("bench", "amg")
NO_MPI = {"VICINAL_MPI": "none"}


def test_points_of_a_grid_belong_to_blocks_of_ranks_and_regions() -> None:
    owner = hierarchy.owners((512, 1024), 2048, 16).reshape(512, 1024)
    # 16 x 16 points per rank, 4 x 4 ranks per region, 8 x 16 regions.
    assert (owner[:16, :16] == 0).all() and owner[0, 16] == 1 and owner[16, 0] == 4
    assert (owner[:64, :64] < 16).all() and owner[0, 64] == 16 and owner[64, 0] == 16 * 16
    assert (np.bincount(owner.ravel()) == 256).all()
    assert hierarchy.grid_of(524288) == (512, 1024)
    # A line of points, numbers without common divisors, fewer points than ranks.
    assert sorted(np.unique(hierarchy.owners((1, 7), 6, 3))) == list(range(6))
    assert hierarchy.owners((2, 3), 16, 4).max() < 16


def _edges(matrix: object, owner: np.ndarray) -> set[tuple[int, int, int]]:
    """Returns (owner, needing rank, row) of each remote row, computed entry by entry."""
    entries = matrix.tocoo()  # type: ignore[attr-defined]
    pairs = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
    return {(int(owner[c]), int(owner[r]), c) for r, c in pairs if owner[c] != owner[r]}


def test_counts_are_those_found_entry_by_entry(tmp_path: Path) -> None:
    file, picture = tmp_path / "rows.json", tmp_path / "levels.png"
    result = vicinal(*BENCH, "--rows", 2048, "--ranks", "16,32", "--ranks-per-region", 4, "--json", file,
                     "--plot", picture, env=NO_MPI)
    assert result.returncode == 0, result.stderr
    content = json.loads(file.read_text())
    described(content, "bench amg", ran=False)
    assert picture.read_bytes().startswith(b"\x89PNG")
    grid = hierarchy.grid_of(2048)
    built = hierarchy.build(grid)
    for ranks in (16, 32):
        owner = hierarchy.owners(grid, ranks, 4)
        total = dict.fromkeys((each.name for each in CONTESTANTS), 0.0)
        for number, level in enumerate(built.levels):
            here = [row for row in content["rows"] if (row["ranks"], row["level"]) == (ranks, number)]
            assert [(row["contestant"], row["strategy"], row["local"]) for row in here] == [
                ("standard", "direct", "messages"), ("aggregating", "aggregate-plain", "messages"),
                ("deduplicating", "aggregate", "messages"), ("aggregate", "aggregate", "shared"),
                ("automatic", "automatic", "shared"), ("idle lead", "automatic", "shared"),
            ]
            by = {row["contestant"]: row for row in here}
            edges = _edges(level.A, owner)
            far = {edge for edge in edges if edge[0] // 4 != edge[1] // 4}
            messages = {(source, needer) for source, needer, _ in far}
            most = max((sum(source == rank for source, _ in messages) for rank in range(ranks)), default=0)
            once = {(source, needer // 4, row) for source, needer, row in far}
            regions = {(source // 4, needer // 4) for source, needer in messages}
            near = {(source, needer) for source, needer, _ in edges - far}
            assert by["standard"]["nonlocal_messages"] == len(messages)
            assert by["standard"]["nonlocal_messages_max"] == most
            assert by["standard"]["local_messages"] == len(near)
            assert by["standard"]["nonlocal_bytes"] == by["aggregating"]["nonlocal_bytes"] == 8 * len(far)
            for name in ("deduplicating", "aggregate"):
                assert by[name]["nonlocal_bytes"] == 8 * len(once)
                assert by[name]["nonlocal_messages"] == len(regions)
            # Only plans that use messages inside a region have local messages.
            assert by["aggregating"]["local_messages"] >= len(near) and by["aggregate"]["local_messages"] == 0
            for row in here:
                assert (row["level_rows"], row["nonzeros"]) == (level.A.shape[0], level.A.nnz)
                assert row["idle"] == ranks - len(set(owner.tolist()))
                assert row["deduplication_saves"] == (round(1 - len(once) / len(far), 4) if far else 0)
                assert (row["predicted_us"] > 0) == bool(edges)
                published = row["contestant"] in ("aggregating", "deduplicating")
                standard = by["standard"]["predicted_us"]
                total[row["contestant"]] += min(row["predicted_us"], standard) if published else row["predicted_us"]
                if row["ratio_to_direct"] is not None:
                    assert is_ratio(row["ratio_to_direct"], row["predicted_us"], standard)
            if number + 1 < len(built.levels):
                owner = owner[np.flatnonzero(level.splitting)]
        assert 0 < total["automatic"] <= 1.05 * min(total.values())
        (summed,) = (case for case in sum_levels(content["rows"]) if case["ranks"] == ranks)
        assert {name: summed[name] for name in total} == pytest.approx(total, abs=0.01)
    assert "standard" in result.stdout and "2,048 rows" in result.stdout


def test_messages_inside_a_region_are_those_between_cores_of_one_socket() -> None:
    machine = machine_of(8, 4)
    needers = np.array([1], np.int32)
    patterns = _core.halo_patterns(8, np.arange(9), needers, np.array([0]))
    plans = _core.PlanSet.plan("direct", machine, patterns, shared_memory=False)
    levels = _core.Profile.default().levels
    assert plans.price()["seconds"] == pytest.approx(levels["domain"].seconds(8), rel=0.01)
    assert levels["domain"].seconds(8) < levels["node"].seconds(8)


def test_weak_scaling_ends_where_memory_does(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--rows-per-rank", 64, "--ranks", f"8,16,{1 << 40}", "--ranks-per-region", 4, "--json", file,
                     env=NO_MPI)
    assert result.returncode == 0, result.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["level_rows"] for row in rows if row["level"] == 0] == [512] * len(CONTESTANTS) + [1024] * len(CONTESTANTS)
    told = " ".join(result.stdout.split())
    assert f"{1 << 40:,} ranks: not looked at" in told and "GB are available" in told


def test_levels_are_run_beside_mpi(mpi: str, tmp_path: Path) -> None:
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(*BENCH, "--run", "--rows", 512, "--ranks", 8, "--ranks-per-region", 4, "--iterations", 2, "--repetitions", 2,
                     "--mpi", mpi, "--json", files[0], "--plot", files[1])
    assert result.returncode == 0, result.stderr
    content = json.loads(files[0].read_text())
    described(content, "bench amg", ran=True)
    contestants = ["MPI", *STRATEGIES, "MPI again"]
    rows, sums = content["rows"], content["sums"]
    assert [row["strategy"] for row in sums] == contestants
    assert all(row["correct"] is True for row in rows)
    built, owner = hierarchy.build(hierarchy.grid_of(512)), hierarchy.owners(hierarchy.grid_of(512), 8, 4)
    for number, level in enumerate(built.levels):
        here = {row["strategy"]: row for row in rows if row["level"] == number}
        edges = _edges(level.A, owner)
        assert list(here) == (contestants if edges else [])
        if edges:
            far = {edge for edge in edges if edge[0] // 4 != edge[1] // 4}
            regions = {(source // 4, needer // 4) for source, needer, _ in far}
            assert here["direct"]["nonlocal_messages"] == len({edge[:2] for edge in far})
            assert here["aggregate"]["nonlocal_messages"] == len(regions)
            assert here["MPI"]["level_rows"] == level.A.shape[0]
        if number + 1 < len(built.levels):
            owner = owner[np.flatnonzero(level.splitting)]
    for total in sums:
        mine = [row["setup_us"] for row in rows if row["strategy"] == total["strategy"]]
        assert total["setup_us"] == pytest.approx(sum(mine), abs=0.01)
        prices = [row["predicted_us"] for row in rows if row["strategy"] == total["strategy"]]
        planned = total["strategy"] in STRATEGIES
        assert (total["predicted_us"] == pytest.approx(sum(prices), abs=0.01)) if planned else total["predicted_us"] is None
    assert "pays after" in result.stdout and files[1].read_bytes().startswith(b"\x89PNG")


def test_a_longer_set_up_pays_after_iterations_enough() -> None:
    turns = {"MPI": np.array([100.0, 200, 300]), "fast": np.array([50.0, 100, 240]), "slow": np.array([110.0, 210, 310]),
             "MPI again": np.array([90.0, 210, 290])}
    found = {row["strategy"]: row for row in sum_up(turns, {"MPI": 10, "fast": 610, "slow": 20, "MPI again": 11}, {"fast": 80})}
    # A long set-up saves 50, 100 and 60 us.
    assert (found["fast"]["crossover"], found["fast"]["ratio_to_mpi"], found["fast"]["exchanges_us"]) == (10, 0.5, 100)
    assert (found["fast"]["predicted_us"], found["MPI"]["predicted_us"]) == (80, None)
    assert [found[name]["crossover"] for name in ("MPI", "slow", "MPI again")] == [None, None, None]
    assert sum_up(turns, {"MPI": 10, "fast": 5, "slow": 20, "MPI again": 11}, {})[1]["crossover"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rows", 512, "--ranks", 10, "--ranks-per-region", 4), ("10 ranks", "regions of 4")),
        (("--rows", 1 << 50, "--ranks", 8, "--ranks-per-region", 4), ("GB of memory", "fewer rows")),
        (("--ranks", 8, "--ranks-per-region", 4), ("--rows",)),
        (("--rows", 512, "--rows-per-rank", 2, "--ranks", 8, "--ranks-per-region", 4), ("not allowed",)),
        (("--rows", 512, "--ranks", 8, "--ranks-per-region", 4, "--profile", "nowhere"), ("--profile", "nowhere")),
        (("--rows", 512, "--ranks", 8, "--ranks-per-region", 4, "--mpi", "openmpi"), ("--run", "--mpi")),
        (("--rows", 512, "--ranks", "8,16", "--ranks-per-region", 4, "--run"), ("--run", "--ranks")),
    ],
)
def test_what_cannot_be_looked_at_is_told(words: tuple[object, ...], said: tuple[str, ...]) -> None:
    refused(vicinal(*BENCH, *words, env=NO_MPI), *said)
