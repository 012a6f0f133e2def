"""`vicinal bench choice`, as a user runs it, and its evaluation of times."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import described, refused, vicinal, write_matrix
from vicinal_bench.benchmarks.competition import MPI_AGAIN, MPI_OWN
from vicinal_bench.benchmarks.transfers import Transfers, alike, matrix_halo, random_halo, recorded_transfers
from vicinal_bench.benchmarks.verdicts import judge, of_strategies, summarize
from vicinal_bench.benchmarks.workloads import Workload, random_sparse
from vicinal_bench.ranks.competition import compete
from vicinal_command.inputs import ALLTOALLV
from vicinal_command.matrices import block_starts, read_matrix

pytestmark = pytest.mark.full

BENCH = ("bench", "choice")
STRATEGIES = [name for name, _ in _core.strategies(**ALLTOALLV)]


def test_all_strategies_deliver_the_same_and_are_compared(mpi: str, tmp_path: Path) -> None:
    pattern = tmp_path / "run.csv"
    pattern.write_text("# ranks=10\n0,6,1\n1,6,1\n2,9,1\n6,0,1\n9,1,2\n")
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(
        *BENCH, "--ranks", 5, "--ranks-per-region", 2, "--density", "0,0.4", "--sizes", "9", "--probability", 0.3, "--values", 4,
        "--pattern", pattern, "--exchanges", 1000, "--matrix", write_matrix(tmp_path), "--iterations", 2, "--repetitions", 2,
        "--mpi", mpi, "--json", files[0], "--plot", files[1], env={"VICINAL_STRATEGY": "nonsense"},
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(files[0].read_text())
    described(content, "bench choice", ran=True)
    assert [it["rows"] for it in content["matrices"]] == [203] and [it["edges"] for it in content["patterns"]] == [5]
    rows, cases = content["rows"], content["cases"]
    # The first five ranks send nothing to each other, and density 0 has no edges; both are left
    # out.
    names = ["run, folded", "random.mtx", "random, density 0.4, 16 B", "4 values, each with probability 0.3"]
    assert [case["workload"] for case in cases] == names
    contestants = [MPI_OWN, *STRATEGIES, "automatic again", MPI_AGAIN]
    assert [(row["workload"], row["strategy"]) for row in rows] == [(name, each) for name in names for each in contestants]
    for row in rows:
        assert row["correct"] is True and row["first_median_us"] > 0 and row["setup_us"] > 0
        known = row["strategy"] in STRATEGIES
        assert (row["predicted_us"] is not None) == known and (not known or row["predicted_us"] > 0)
    for case in cases:
        mine = {row["strategy"]: row for row in rows if row["workload"] == case["workload"]}
        others = [name for name in STRATEGIES if name != "automatic"]
        assert case["best"] == min(others, key=lambda name: mine[name]["first_median_us"])
        assert case["best_us"] == mine[case["best"]]["exchange_median_us"]
        assert case["automatic_us"] == mine["automatic"]["exchange_median_us"]
    summary = content["summary"]
    assert summary["regret_most"] == max(case["regret"] for case in cases)
    told = " ".join(result.stdout.split())
    assert f"geometric mean {summary['regret_mean']:.3f}" in told and all(name in told for name in STRATEGIES)
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_where_nodes_are_found_by_running_nothing_is_predicted(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--ranks", 2, "--density", "1", "--sizes", 8, "--strategy", "direct", "--iterations", 1,
                     "--repetitions", 1, "--mpi", mpi, "--json", file)
    assert result.returncode == 0, result.stderr
    rows = json.loads(file.read_text())["rows"]
    assert [row["strategy"] for row in rows] == [MPI_OWN, "direct", "automatic", "automatic again", MPI_AGAIN]
    assert all(row["predicted_us"] is None for row in rows)


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    pattern = tmp_path / "run.csv"
    pattern.write_text("0,2,1\n")
    few = (*BENCH, "--ranks", 4)
    refused(vicinal(*BENCH), "--ranks")
    refused(vicinal(*few, "--strategy", "distance-halving"), "distance-halving")
    refused(vicinal(*few, "--strategy", "telepathy"), "telepathy", "aggregate")
    refused(vicinal(*few, "--pattern", pattern), "3 ranks", "4 are to run")
    refused(vicinal(*few, "--density", "0"), "nothing to exchange")
    refused(vicinal(*few, "--turn-seconds", "0"), "--turn-seconds")
    refused(vicinal(*few, "--density", "1", "--profile", tmp_path / "none.json"), "--profile", "none.json")


def _turns(**times: list[float]) -> dict[str, np.ndarray]:
    return {name.replace("_", " "): np.array(each) for name, each in times.items()}


def test_the_best_of_the_first_run_is_compared_in_the_second() -> None:
    first = _turns(MPI=[8, 8, 8], direct=[3, 5, 4], split=[5, 1, 5], automatic=[1, 1, 1], automatic_again=[1, 1, 1],
                   MPI_again=[8, 8, 8])
    # One lucky repetition of split counts no more than its median; automatic cannot be the best
    # strategy.
    second = _turns(MPI=[10, 20, 40], direct=[4, 8, 20], split=[1, 1, 1], automatic=[6, 8, 30], automatic_again=[6, 10, 15],
                    MPI_again=[10, 10, 80])
    found = judge(first, second, "automatic", MPI_OWN)
    assert found["best"] == "direct"
    assert (found["mpi_us"], found["automatic_us"], found["best_us"]) == (20, 8, 8)
    # Medians of (1.5, 1, 1.5), (1, 1.25, 0.5), (0.6, 0.4, 0.75) and (1, 0.5, 2).
    assert (found["regret"], found["control"], found["to_mpi"], found["mpi_control"]) == (1.5, 1, 0.6, 1)


def test_cases_are_summed_up() -> None:
    def case(regret: float, control: float, to_mpi: float) -> Any:
        return {"regret": regret, "control": control, "to_mpi": to_mpi}

    found = summarize([case(1, 0.5, 0.5), case(4, 1, 2), case(2, 2, 1.04)])
    assert (found["regret_mean"], found["regret_95"], found["regret_most"]) == (2, 3.8, 4)
    assert (found["control_mean"], found["control_95"]) == (1, 2)
    assert (found["to_mpi_most"], found["slower_than_mpi"]) == (2, 1)
    assert "above 1.05 in 1 of 3 cases" in found["said"][2]


def test_strategies_are_compared_with_the_best_of_each_case() -> None:
    def row(strategy: str, median: float, predicted: float | None) -> dict[str, Any]:
        return {"strategy": strategy, "exchange_median_us": median, "predicted_us": predicted}

    rows = [row("MPI", 8, None), row("direct", 4, 2), row("split", 8, 32), row("MPI", 10, None), row("direct", 40, 20),
            row("split", 10, 10)]
    direct, split = of_strategies(rows, ["direct", "split"], ["direct", "split"], "MPI")
    assert (direct["best_in"], direct["over_best"], direct["over_best_most"], direct["to_mpi_most"]) == (1, 2, 4, 4)
    assert (direct["predicted"], direct["off"]) == (0.5, 2)
    assert (split["predicted_least"], split["predicted_most"], split["off"]) == (1, 4, 2)
    assert of_strategies([row("MPI", 1, None), row("direct", 1, None)], ["direct"], ["direct"], "MPI")[0]["off"] is None


class _OfOneRank:
    """A single process whose exchanges take at least 10 ms."""

    def __init__(self, turn_seconds: float | None) -> None:
        self.runs = 0
        self.task = {"cases": [{}], "contestants": [], "builds": 1, "iterations": 9, "repetitions": 3,
                     "turn_seconds": turn_seconds}

    def run(self) -> None:
        self.runs += 1
        time.sleep(0.01)

    def most_of(self, value: float) -> float:
        return value

    def counts(self) -> list[int]:
        return [0]

    def _nothing(self, *_: object, **__: object) -> None:
        """Does nothing: there is no other rank, and nothing to keep."""

    meet = report = leave = free = fill = delivered = compute = right = _nothing


@pytest.mark.parametrize(("turn_seconds", "in_turns"), [(None, 9), (0.025, 2), (0.001, 1)])
def test_turns_that_would_last_too_long_have_fewer_iterations(turn_seconds: float | None, in_turns: int) -> None:
    one: Any = _OfOneRank(turn_seconds)
    compete(one, lambda _: one, lambda case, _: case)
    # Two contestants (MPI's own, twice), each checked twice, timed once, and run in three
    # repetitions.
    alone = 0 if turn_seconds is None else 2
    if turn_seconds is None:
        assert one.runs == 2 * 2 + 2 * 3 * in_turns
    else:
        assert 2 * 2 + alone + 2 * 3 <= one.runs <= 2 * 2 + alone + 2 * 3 * in_turns


def _carried(transfers: Transfers) -> dict[tuple[int, int], list[int]]:
    """Returns the items of each edge, read from the senders' arrays, and compares them with the
    receivers' counts."""
    arrays = {name.removeprefix("3-"): array for name, array in transfers.arrays(3).items()}
    found: dict[tuple[int, int], list[int]] = {}
    for rank in range(transfers.ranks):
        first, end = arrays["out_starts"][rank : rank + 2]
        at = int(arrays["item_starts"][rank]) if "items" in arrays else 0
        for edge in range(first, end):
            count = int(arrays["out_counts"][edge])
            items = arrays["items"][at : at + count].tolist() if "items" in arrays else [-1] * count
            at += count
            found[rank, int(arrays["out"][edge])] = items
        first, end = arrays["in_starts"][rank : rank + 2]
        for edge in range(first, end):
            assert int(arrays["in_counts"][edge]) > 0
    received = {
        (int(arrays["in"][edge]), rank): int(arrays["in_counts"][edge])
        for rank in range(transfers.ranks)
        for edge in range(*arrays["in_starts"][rank : rank + 2])
    }
    assert received == {edge: len(items) for edge, items in found.items()}
    return found


def _delivers(transfers: Transfers) -> None:
    """Checks that plans deliver the patterns, and that the patterns ask for the edges' items."""
    labels = np.arange(transfers.ranks, dtype=np.int32) // 3
    plans = _core.PlanSet.plan("direct", _core.Machine(labels, labels), transfers.patterns())
    plans.verify(transfers.patterns())
    sent = plans.statistics()
    assert int(sent["nonlocal_elements"].sum()) == sum(
        len(items) for (source, to), items in _carried(transfers).items() if source // 3 != to // 3
    )


def test_edges_of_a_matrix_carry_the_columns_that_rows_refer_to(tmp_path: Path) -> None:
    path = str(write_matrix(tmp_path))
    transfers = matrix_halo(path, 7)
    matrix = read_matrix(path)
    owner = np.searchsorted(block_starts(matrix, 7), np.arange(matrix.rows), side="right") - 1
    wanted: dict[tuple[int, int], set[int]] = {}
    for row in range(matrix.rows):
        for column in matrix.columns[matrix.row_starts[row] : matrix.row_starts[row + 1]].tolist():
            if owner[row] != owner[column]:
                wanted.setdefault((int(owner[column]), int(owner[row])), set()).add(column)
    assert _carried(transfers) == {edge: sorted(items) for edge, items in wanted.items()}
    _delivers(transfers)


def test_values_of_a_random_halo_have_their_owner() -> None:
    transfers = random_halo(6, 5, 0.4)
    carried = _carried(transfers)
    assert len(carried) > 20
    assert all(source == item // 5 for (source, _), items in carried.items() for item in items)
    _delivers(transfers)


def test_recorded_ranks_are_folded_and_cut_off(tmp_path: Path) -> None:
    pattern = tmp_path / "run.csv"
    pattern.write_text("# ranks=6\n0,1,0.008\n0,4,0.016\n1,4,0.008\n2,1,0.0241\n")
    folded, first = recorded_transfers(str(pattern), 3, 1000)
    # Ranks 0 and 1 fold to 0, ranks 2 and 3 to 1, ranks 4 and 5 to 2. A thousandth of 8 kB is one
    # value.
    assert {edge: len(items) for edge, items in _carried(folded).items()} == {(0, 2): 3, (1, 0): 3}
    assert {edge: len(items) for edge, items in _carried(first).items()} == {(0, 1): 1, (2, 1): 3}
    _delivers(folded)
    (whole,) = recorded_transfers(str(pattern), 6, 1)
    assert (whole.name, whole.edges, whole.bytes) == ("run", 4, 56096)


def test_edges_of_a_graph_carry_whole_values() -> None:
    graph = random_sparse(6, 0.5)
    assert set(map(len, _carried(alike(graph, 9)).values())) == {2}
    assert alike(Workload("none", 2, np.empty(0, np.int64), np.empty(0, np.int64)), 8).bytes == 0
    _delivers(alike(graph, 9))
