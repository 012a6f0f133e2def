"""`vicinal simulate`: prices, times of ranks that add up, a chain without gaps, readable files."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import KEYS, described, vicinal, write_matrix
from vicinal_command.chains import LINES, segments, told
from vicinal_command.inputs import Input, plan, read_input, read_machine
from vicinal_command.prices import Simulated, follow, profile_of
from vicinal_command.timelines import spans

RANKS, REGIONS = 14, "blocks:4"
MACHINE = ("--ranks", RANKS, "--regions", REGIONS)


@pytest.fixture(scope="module")
def matrix_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_matrix(tmp_path_factory.mktemp("matrices"))


@pytest.fixture(scope="module")
def plans(matrix_file: Path) -> dict[str, _core.PlanSet]:
    """Plans of strategies that use all kinds of operations."""
    problem, machine = read_input(Input(str(matrix_file), RANKS, None, 1, None)), read_machine(REGIONS, RANKS)
    return {name: plan(name, problem, machine, profile_of(None)) for name in ("direct", "aggregate", "distance-halving-pruned")}


def simulations(plans: dict[str, _core.PlanSet]) -> dict[str, Simulated]:
    return {name: follow(each, profile_of(None), 16) for name, each in plans.items()}


@pytest.mark.parametrize("value_bytes", [8, 16_000])
def test_recording_changes_no_price(plans: dict[str, _core.PlanSet], value_bytes: int) -> None:
    for each in plans.values():
        alone, found = each.price(None, value_bytes), each.simulate(None, value_bytes)
        assert {key: found[key] for key in ("seconds", "phases", "busiest")} == {
            key: alone[key] for key in ("seconds", "phases", "busiest")
        }
        for key in ("busy", "finished"):
            assert np.array_equal(found[key], alone[key])


def test_operations_wait_for_their_causes(plans: dict[str, _core.PlanSet]) -> None:
    for each in plans.values():
        operations = each.simulate()["operations"]
        ready, begun, done, complete = (operations[name] for name in ("ready", "begun", "done", "complete"))
        assert np.all(ready <= begun) and np.all(begun <= done) and np.all(done <= complete)
        caused = np.flatnonzero(operations["cause"] >= 0)
        cause = operations["cause"][caused]
        assert len(caused) and np.all(cause != caused)
        assert np.all(done[cause] <= complete[caused])
        assert operations["first"][0] == 0 and operations["first"][-1] == len(ready) == len(operations["peer"])


def test_a_ranks_time_adds_up(plans: dict[str, _core.PlanSet]) -> None:
    for found in simulations(plans).values():
        assert np.allclose(found.busy.sum(axis=1) + found.waiting.sum(axis=1), found.finished)
        for rank in range(RANKS):
            at = 0.0
            sums = {True: np.zeros(len(found.phases)), False: np.zeros(len(found.phases))}
            for span in spans(found, rank):
                assert span.since == at < span.until
                at = span.until
                sums[span.busy][found.operations.phase[span.operation]] += span.until - span.since
            assert at == pytest.approx(found.finished[rank])
            assert np.allclose(sums[True], found.busy[rank]) and np.allclose(sums[False], found.waiting[rank])


def test_the_chain_has_no_gaps_and_is_told_in_few_lines(plans: dict[str, _core.PlanSet]) -> None:
    for found in simulations(plans).values():
        parts = segments(found)
        assert parts[0].since_us == 0 and parts[-1].until_us == pytest.approx(found.microseconds, abs=1e-3)
        assert [part.until_us for part in parts[:-1]] == [part.since_us for part in parts[1:]]
        by_phase: dict[str, float] = defaultdict(float)
        for part in parts:
            by_phase[part.phase] += part.until_us - part.since_us
        assert {phase: time for phase, time in by_phase.items() if time > 5e-4} == pytest.approx(
            {phase: time for phase, time in found.chain_phases.items() if time > 5e-4}, abs=2e-3
        )
        lines = told(found)
        assert 1 <= len(lines) <= LINES
        assert all(re.match(r" *[\d,.]+ [µm]?s  (rank \d+ |\.\.\. \d+ shorter part)", line) for line in lines)


def test_who_waits_for_whom_in_words() -> None:
    """Rank 0 sends a value to rank 2 in another region, which only waits for it."""
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    machine = _core.Machine(labels, labels)
    patterns = _core.Patterns.from_edges([[(2, [(0, 0, 1)])], [], [], []], [[], [], [(0, 1, [(0, 0, 1)])], []], True)
    found = follow(_core.PlanSet.plan("direct", machine, patterns), profile_of(None), 1000)
    sent, received = told(found)
    idle = found.waiting[2].sum()
    assert "rank 0 sends 1.00 kB to rank 2 [direct], which waited " in sent
    assert float(sent.split("which waited ")[1].split()[0]) == pytest.approx(idle, abs=0.006)
    assert received.endswith("rank 2 receives 1.00 kB from rank 0 [direct]")


def simulated(file: Path, folder: Path, *options: object) -> tuple[dict[str, Any], dict[str, dict[str, Any]], str]:
    """Returns the JSON content, its rows by strategy, and the printed text."""
    output = folder / "rows.json"
    result = vicinal("simulate", file, *MACHINE, *options, "--json", output)
    assert result.returncode == 0, result.stderr
    content = json.loads(output.read_text())
    described(content, "simulate", ran=False)
    return content, {row["strategy"]: row for row in content["rows"]}, result.stdout


def test_all_strategies_are_shown_and_the_fastest_told(matrix_file: Path, tmp_path: Path) -> None:
    content, rows, printed = simulated(matrix_file, tmp_path)
    assert {"direct", "aggregate", "automatic", "common-neighbor"} <= set(rows)
    assert all(list(row)[: len(KEYS)] == KEYS for row in content["rows"])
    problem = read_input(Input(str(matrix_file), RANKS, None, 1, None))
    for strategy, row in rows.items():
        price = plan(strategy, problem, read_machine(REGIONS, RANKS), profile_of(None)).price(None, 16)
        assert row["simulated_us"] == pytest.approx(price["seconds"] * 1e6, abs=1e-3)
        assert sum(row["simulated_phases_us"].values()) == pytest.approx(row["simulated_us"], abs=0.02)
        assert row["busiest_rank"] == price["busiest"] and row["busiest_us"] <= row["simulated_us"]
        assert row["waiting_median_us"] <= row["waiting_max_us"] <= row["simulated_us"]
        assert row["chain"][-1]["until_us"] == row["simulated_us"]
        assert strategy in printed
    fastest = min(row["simulated_us"] for row in rows.values())
    assert rows[content["shown"]]["simulated_us"] == fastest
    assert f"who waits for what under {content['shown']}" in printed
    assert f"where the ranks' time goes under {content['shown']}" in printed


def test_files_of_one_strategy(matrix_file: Path, tmp_path: Path) -> None:
    files = [tmp_path / "timeline.json", tmp_path / "timeline.png", tmp_path / "rows.json"]
    content, rows, printed = simulated(
        matrix_file, tmp_path, "--strategy", "two-step", "--timeline", files[0], "--plot", files[1]
    )
    assert list(rows) == ["direct", "two-step"] and content["shown"] == "two-step"
    assert "who waits for what under two-step" in printed
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == sorted(files), "something was left beside the files"
    trace = json.loads(files[0].read_text())
    assert trace["otherData"]["strategy"] == "two-step"
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    named = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    assert sum(event["name"] == "thread_name" for event in named) == RANKS
    waiting = [0.0] * RANKS
    ends = [0.0] * RANKS
    for event in events:
        rank = event["tid"]
        assert event["pid"] == rank // 4
        assert event["ts"] == pytest.approx(ends[rank], abs=1e-5)
        ends[rank] = event["ts"] + event["dur"]
        waiting[rank] += event["dur"] if event["cat"] == "waiting" else 0
    row = rows["two-step"]
    assert max(ends) == pytest.approx(row["simulated_us"], abs=2e-3)
    assert max(waiting) == pytest.approx(row["waiting_max_us"], abs=2e-3)
    assert int(np.argmax(waiting)) == row["waiting_max_rank"]


def test_one_rank_waits_for_nobody(matrix_file: Path, tmp_path: Path) -> None:
    plot, timeline = tmp_path / "timeline.svg", tmp_path / "timeline.json"
    result = vicinal("simulate", matrix_file, "--ranks", 1, "--ranks-per-region", 1, "--plot", plot, "--timeline", timeline)
    assert result.returncode == 0, result.stderr
    assert "no rank waits for another" in result.stdout
    assert plot.read_text().rstrip().endswith("</svg>")
    assert all(event["ph"] == "M" for event in json.loads(timeline.read_text())["traceEvents"])


def test_ranks_that_share_cores(matrix_file: Path, tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    profile = json.loads(_core.Profile.default().to_json())
    file.write_text(json.dumps({**profile, "name": "two cores", "cores": 2}))
    content, rows, printed = simulated(matrix_file, tmp_path, "--profile", file)
    assert content["profile"] == "two cores" and "two cores" in printed
    _, alone, _ = simulated(matrix_file, tmp_path)
    assert rows["direct"]["simulated_us"] > alone["direct"]["simulated_us"]
    assert "has the core" in printed
