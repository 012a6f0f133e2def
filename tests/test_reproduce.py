"""`vicinal reproduce`, as a user runs it, and the parts that evaluate a paper."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import refused, vicinal, write_matrix
from vicinal_bench.benchmarks.sdde_times import one_each
from vicinal_bench.benchmarks.workloads import Requests, moore, random_sparse
from vicinal_bench.cli_reproduce import NAMES
from vicinal_bench.reproduce import geyko2023
from vicinal_bench.reproduce.exchanges import Algorithm, gather_patterns, machine_of, microseconds
from vicinal_bench.reproduce.paper import Figure, Found, Outcome, Paper, Point, Published
from vicinal_bench.reproduce.run import PAPERS, as_csv, results
from vicinal_command.inputs import read_machine

pytestmark = pytest.mark.full

NO_MPI = {"VICINAL_MPI": "none"}
SMALL: dict[str, tuple[object, ...]] = {
    "collom2023": (32,), "sharifian2024": (30,), "geyko2023": (16,), "bienz2022": (8,),
}
"""Fractions of each paper's size that are small enough for a test."""


def reproduced(folder: Path, paper: str, *options: object) -> tuple[dict[str, Any], dict[str, dict[str, Any]], str]:
    """Returns the JSON content, its rows by key, and the printed text."""
    (fraction,) = SMALL[paper]
    result = vicinal("reproduce", paper, "--output", folder, "--fraction", fraction, "--json", folder / "rows.json", *options,
                     env=NO_MPI)
    assert result.returncode == 0, result.stderr
    content = json.loads((folder / "rows.json").read_text())
    return content, {row["key"]: row for row in content["rows"]}, result.stdout


def points_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("paper", NAMES)
def test_files_hold_what_is_found_beside_what_is_published(tmp_path: Path, paper: str) -> None:
    content, rows, printed = reproduced(tmp_path, paper)
    assert content["kind"] == "reproduce" and content["paper"] == PAPERS[paper].title
    assert content["profile"] == _core.Profile.default().name and content["command"].startswith(f"vicinal reproduce {paper}")
    for each in PAPERS[paper].published:
        row = rows[each.key]
        assert (row["what"], row["place"], row["published_low"]) == (each.what, each.place, each.low)
        # A run on a part of the paper's ranks has no error relative to the paper.
        assert row["off"] is None
    assert any(key.startswith("vicinal") and row["found_low"] > 1 for key, row in rows.items())
    table = points_of(tmp_path / f"{paper}.csv")
    assert [line["key"] for line in table] == list(rows)
    pictures = sorted(tmp_path.glob(f"{paper}-figure-*.png"))
    assert pictures and all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    for picture in pictures:
        points = points_of(picture.with_suffix(".csv"))
        assert points and {point["published"] for point in points} == {"no"}
    assert f"1/{SMALL[paper][0]} of the paper's size" in printed and "in the paper" in printed


def test_levels_are_added_up_as_in_the_paper(tmp_path: Path) -> None:
    _, rows, _ = reproduced(tmp_path, "collom2023", "--memory", 1)
    by = {(point["panel"], point["series"]): float(point["simulated time (µs)"])
          for point in points_of(tmp_path / "collom2023-figure-11.csv")}
    for name in ("aggregating", "deduplicating"):
        ratio = by["strong scaling", "standard"] / by["strong scaling", name]
        assert rows[f"strong-{name}"]["found_low"] == pytest.approx(ratio, abs=1e-4) and ratio >= 1
    # On levels where it is faster, aggregation uses the standard exchange.
    points = points_of(tmp_path / "collom2023-figure-10.csv")
    of: dict[str, list[float]] = {}
    for point in points:
        of.setdefault(point["series"], []).append(float(point["simulated time (µs)"]))
    least = sum(min(pair) for pair in zip(of["standard"], of["deduplicating"], strict=True))
    assert by["strong scaling", "deduplicating"] == pytest.approx(least, abs=0.01)
    assert by["strong scaling", "standard"] == pytest.approx(sum(of["standard"]), abs=0.01)


def test_weak_scaling_ends_where_the_memory_does_that_may_be_used(tmp_path: Path) -> None:
    result = vicinal("reproduce", "collom2023", "--output", tmp_path, "--fraction", 16, "--memory", 1, "--json", tmp_path / "rows.json",
                     env=NO_MPI)
    assert result.returncode == 0, result.stderr
    # Here 2,048 ranks become 128; at 16,384 rows each these have 2,097,152 rows.
    told = " ".join(result.stdout.split())
    assert "weak scaling ends before 64 ranks: 1,048,576 rows take 1.0 GB" in told
    rows = {row["key"]: row for row in json.loads((tmp_path / "rows.json").read_text())["rows"]}
    assert rows["weak-aggregating"]["found_low"] is None and rows["strong-aggregating"]["found_low"] >= 1


def test_matrices_are_those_given(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path)
    _, rows, printed = reproduced(tmp_path, "geyko2023", "--matrix", matrix, "helmholtz_2D")
    points = points_of(tmp_path / "geyko2023-figure-3.csv")
    assert {point["panel"] for point in points} == {"random.mtx", "helmholtz_2D"}
    by = {(point["panel"], point["series"], point["nodes"]): float(point["simulated time (µs)"]) for point in points}
    gains = [
        min(by[name, "personalized", "4"], by[name, "nonblocking", "4"]) / by[name, "locality", "4"]
        for name in ("random.mtx", "helmholtz_2D")
    ]
    assert rows["most-over-second"]["found_low"] == pytest.approx(max(gains), rel=1e-3)
    assert rows["vicinal-regret"]["found_low"] >= 1
    refused(vicinal("reproduce", "geyko2023", "--output", tmp_path, "--matrix", matrix, env=NO_MPI), "2,048 ranks", "--matrix")


def test_collectives_that_tell_the_end_are_closed_forms() -> None:
    network = _core.Profile.default().levels["network"]
    # For 8 ranks: 16, 8 and 4 bytes, in both directions.
    steps = sum(network.seconds(count) for count in (16, 8, 4))
    assert geyko2023._allreduce(network, 8) == pytest.approx(2e6 * steps)  # noqa: SLF001


def test_algorithm_3_goes_by_the_rank_with_the_same_place() -> None:
    # Ranks 0 and 1 ask ranks of the other node; rank 0 also asks one of its own.
    requests = Requests("", 64, np.array([0, 0, 0, 1]), np.array([5, 33, 34, 33]), np.array([0, 4, 5, 7, 8]), np.zeros(8, np.int64))
    machine, profile = read_machine("blocks:32", 64), _core.Profile.default()
    between, inside, most = geyko2023._algorithm_3(requests, machine, profile)  # noqa: SLF001

    def priced(*messages: tuple[int, int, int]) -> float:
        return one_each(*(np.array(column) for column in zip(*messages, strict=True)), machine, profile)

    # Rank 1 asks its own counterpart in the other node.
    assert between == priced((0, 32, 2 + 3), (1, 33, 2))
    assert inside == priced((0, 5, 5), (32, 33, 2), (32, 34, 3))
    assert most == 1


@pytest.mark.parametrize("algorithm", ["direct", "common-neighbor", "distance-halving"])
def test_gathers_deliver_each_block_once_to_each_neighbour(algorithm: str) -> None:
    machine = machine_of(24, 8, 2, regions="sockets")
    profile = _core.Profile.default()
    for graph in (random_sparse(24, 0.4), moore(24, 1, 2)):
        patterns = gather_patterns(graph)
        plans = Algorithm("", algorithm).plan(patterns, 64, machine, profile, one_block=True)
        plans.verify(patterns)
        statistics = plans.statistics()
        if algorithm == "direct":
            messages = statistics["nonlocal_messages"] + statistics["local_messages"]
            assert messages.tolist() == np.bincount(graph.sources, minlength=24).tolist()
        assert statistics["shared_elements"].sum() == 0 and microseconds(plans, profile, 64) > 0


def test_machines_have_sockets_in_nodes() -> None:
    by_socket, by_node = (machine_of(16, 8, 2, regions=regions) for regions in ("sockets", "nodes"))
    assert (by_socket.regions, by_socket.hosts, by_node.regions, by_node.hosts) == (4, 2, 2, 2)
    levels = _core.Profile.default().levels
    for machine in (by_socket, by_node):
        for other, level in ((3, "domain"), (4, "node"), (8, "network")):
            patterns = _core.halo_patterns(16, np.arange(17), np.array([other], np.int32), np.array([0]))
            plans = _core.PlanSet.plan("direct", machine, patterns, shared_memory=False)
            assert plans.price()["seconds"] == pytest.approx(levels[level].seconds(8), rel=0.01)


def test_open_ranges_and_what_is_not_published_have_no_error() -> None:
    published = (Published("a", "a range", "section 1", 1, 4), Published("b", "more", "section 2", 1, math.inf),
                 Published.one("c", "missing", "section 3", 7))
    paper = Paper("paper", "Paper", published, lambda *_: Outcome(), ())
    outcome = Outcome(found=[Found("a", 2, 6), Found.one("b", 3), Found.one("vicinal-d", 5, "ours")])
    rows = {row["key"]: row for row in results(paper, outcome, whole=True)}
    assert list(rows) == ["a", "b", "c", "vicinal-d"]
    assert (rows["a"]["found_low"], rows["a"]["found_high"], rows["a"]["off"]) == (2, 6, 1.5)
    assert (rows["b"]["published_high"], rows["b"]["off"], rows["c"]["found_low"]) == (None, None, None)
    assert (rows["vicinal-d"]["what"], rows["vicinal-d"]["published_low"]) == ("ours", None)
    assert results(paper, outcome, whole=False)[0]["off"] is None


def test_published_points_are_marked_in_the_file() -> None:
    figure = Figure("figure-1", "", "ranks", "time", [Point("a, b", "one", 2, 0.5)], [Point("a, b", "one", 2, 0.25)])
    assert as_csv(figure) == 'panel,series,ranks,time,published\n"a, b",one,2,0.5,no\n"a, b",one,2,0.25,yes\n'


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    refused(vicinal("reproduce", "nobody2020", "--output", tmp_path, env=NO_MPI), "nobody2020", "collom2023")
    refused(vicinal("reproduce", "bienz2022", env=NO_MPI), "--output")
    refused(vicinal("reproduce", "bienz2022", "--output", tmp_path / "none", env=NO_MPI), "no such folder")
    refused(vicinal("reproduce", "bienz2022", "--output", tmp_path, "--matrix", "bar", env=NO_MPI), "--matrix", "geyko2023")
    refused(vicinal("reproduce", "collom2023", "--output", tmp_path, "--fraction", 100, env=NO_MPI), "--fraction")
    refused(vicinal("reproduce", "bienz2022", "--output", tmp_path, "--profile", "none.json", env=NO_MPI), "--profile")
