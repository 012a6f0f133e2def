"""Output of `vicinal explain` beyond counts: predictions, the reason, and other distributions of a
matrix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import described, refused, rows_of, vicinal, write_matrix
from vicinal_command import cli
from vicinal_command.inputs import Input, read_input
from vicinal_command.matrices import read_matrix


@pytest.fixture(scope="module")
def matrix_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_matrix(tmp_path_factory.mktemp("matrices"))


def explained(file: Path, folder: Path, *options: object) -> tuple[dict[str, Any], dict[str, dict[str, Any]], str]:
    """Returns the JSON content, its rows by strategy, and the printed text."""
    output = folder / "rows.json"
    result = vicinal("explain", file, *options, "--json", output)
    assert result.returncode == 0, result.stderr
    rows = {row["strategy"]: row for row in rows_of(output)}
    return json.loads(output.read_text()), rows, result.stdout


def crossing(file: Path, owner: np.ndarray, region_of: np.ndarray) -> tuple[set[tuple[int, int]], int, int]:
    """Returns the edges between regions, their number of values, and the number with one copy per
    region, by loops."""
    edges, wanted, shared = set(), set(), set()
    entries = read_matrix(str(file)).scipy().tocoo()
    for row, column in zip(*entries.coords, strict=True):
        to, origin = int(owner[row]), int(owner[column])
        if region_of[to] != region_of[origin]:
            edges.add((origin, to))
            wanted.add((column, to))
            shared.add((column, region_of[to]))
    return edges, len(wanted), len(shared)


def test_predictions_are_prices_of_the_plans(matrix_file: Path, tmp_path: Path) -> None:
    content, rows, printed = explained(matrix_file, tmp_path, "--ranks", 14, "--ranks-per-region", 4, "--phases")
    described(content, "explain", ran=False)
    assert content["profile"] == _core.Profile.default().name
    labels = _core.read_regions("blocks:4", 14)
    machine = _core.Machine(labels, labels)
    problem = read_input(Input(str(matrix_file), 14, None, 1, None))
    for strategy, row in rows.items():
        plans = _core.PlanSet.plan(strategy, machine, problem.patterns)
        price = plans.price(_core.Profile.default(), 16)
        assert row["predicted_us"] == pytest.approx(price["seconds"] * 1e6, abs=1e-3) and row["predicted_us"] > 0
        assert row["busiest_rank"] == price["busiest"]
        assert sum(row["predicted_phases_us"].values()) == pytest.approx(row["predicted_us"], abs=0.02)
    fastest = min(rows.values(), key=lambda row: row["predicted_us"])
    best = rows[content["verdict"]["strategy"]]
    assert best["predicted_us"] <= fastest["predicted_us"] * 1.005
    assert content["verdict"]["reason"].startswith(f"{best['strategy']} is predicted to be fastest: ")
    assert " ".join(content["verdict"]["reason"].split()) in " ".join(printed.split())
    assert "predicted time by phase" in printed and all(name in printed for name in best["predicted_phases_us"])


def test_buffers_on_gpus_are_priced_by_a_profile_that_has_some(matrix_file: Path, tmp_path: Path) -> None:
    work = {"overhead": 1e-6, "latency": 1e-3, "seconds_per_byte": 1e-9}
    costs = {"name": "a GPU", "count": 0, "kernel": work, "to_host": work, "to_device": work}
    profile = tmp_path / "gpus.json"
    profile.write_text(json.dumps(json.loads(_core.Profile.default().to_json()) | {"device": costs}))
    options = ("--ranks", 4, "--ranks-per-region", 2, "--no-verify")
    refused(vicinal("explain", matrix_file, *options, "--memory", "device"), "says nothing of GPUs")
    content, there, printed = explained(matrix_file, tmp_path, *options, "--memory", "device", "--profile", profile)
    assert content["memory"] == "device" and "of buffers in the memory of GPUs" in " ".join(printed.split())
    content, host, _ = explained(matrix_file, tmp_path, *options, "--profile", profile)
    assert "memory" not in content
    # With an MPI that accepts GPU addresses, at the price of other messages.
    costs["levels"] = json.loads(profile.read_text())["levels"]
    profile.write_text(json.dumps(json.loads(profile.read_text()) | {"device": costs}))
    by_way = {
        way: explained(matrix_file, tmp_path, *options, "--memory", "device", "--profile", profile, "--device-way", way)[1]
        for way in ("staged", "direct", "automatic")
    }
    for name, row in by_way["automatic"].items():
        both = [by_way[way][name]["predicted_us"] for way in ("staged", "direct")]
        assert row["predicted_us"] == min(both) and both[0] == there[name]["predicted_us"]
    assert by_way["direct"]["direct"]["predicted_us"] < by_way["staged"]["direct"]["predicted_us"]
    # One transfer out of a GPU and one into another.
    assert all(there[name]["predicted_us"] > host[name]["predicted_us"] + 2000 for name in host)


def test_the_busiest_rank_and_what_is_saved(matrix_file: Path, tmp_path: Path) -> None:
    content, rows, _ = explained(matrix_file, tmp_path, "--ranks", 14, "--regions", "round-robin:3", "--no-verify")
    owner = np.searchsorted([203 * rank // 14 for rank in range(15)], np.arange(203), side="right") - 1
    edges, wanted, shared = crossing(matrix_file, owner, np.arange(14) % 3)
    direct, aggregate = rows["direct"], rows["aggregate"]
    assert direct["busiest_messages"] == sum(direct["busiest_rank"] in edge for edge in edges)
    assert content["deduplication"] == {"bytes_apart": 16 * wanted, "bytes_once": 16 * shared}
    assert (direct["saved_bytes"], direct["saved_percent"]) == (0, 0)
    assert aggregate["saved_bytes"] == 16 * (wanted - shared) > 0
    assert aggregate["saved_percent"] == pytest.approx(100 * (wanted - shared) / wanted, abs=0.01)
    for row in rows.values():
        assert row["saved_bytes"] == 16 * wanted - row["nonlocal_bytes"]
        assert row["busiest_bytes"] >= row["busiest_messages"]


def test_more_ranks_than_rows(matrix_file: Path, tmp_path: Path) -> None:
    ranks = 500
    _, rows, printed = explained(matrix_file, tmp_path, "--ranks", ranks, "--ranks-per-region", 16)
    owner = np.searchsorted([203 * rank // ranks for rank in range(ranks + 1)], np.arange(203), side="right") - 1
    edges, wanted, shared = crossing(matrix_file, owner, np.arange(ranks) // 16)
    assert all(row["correct"] is True for row in rows.values())
    assert (rows["direct"]["nonlocal_messages"], rows["direct"]["nonlocal_bytes"]) == (len(edges), 16 * wanted)
    assert rows["aggregate"]["nonlocal_bytes"] == 16 * shared
    assert "297 ranks have none" in printed


def test_a_partition_says_who_owns_what(matrix_file: Path, tmp_path: Path) -> None:
    parts = np.random.default_rng(5).integers(0, 9, 203)
    parts[parts == 4] = 3  # a rank without rows
    file = tmp_path / "parts.txt"
    np.savetxt(file, parts, "%d")
    content, rows, _ = explained(matrix_file, tmp_path, "--ranks", 9, "--ranks-per-region", 2, "--partition", file)
    edges, wanted, shared = crossing(matrix_file, parts, np.arange(9) // 2)
    assert all(row["correct"] is True for row in rows.values())
    assert (rows["direct"]["nonlocal_messages"], rows["direct"]["nonlocal_bytes"]) == (len(edges), 16 * wanted)
    assert rows["aggregate"]["nonlocal_bytes"] == 16 * shared
    assert content["matrix"]["partition"] == str(file) and content["matrix"]["rows"] == 203
    refused(
        vicinal("explain", matrix_file, "--ranks", 8, "--ranks-per-region", 2, "--partition", file), "parts 0 to 7"
    )


def test_several_values_each_scale_bytes_and_prices(matrix_file: Path, tmp_path: Path) -> None:
    request = ("--ranks", 14, "--ranks-per-region", 4, "--no-verify")
    _, one, _ = explained(matrix_file, tmp_path, *request)
    content, many, printed = explained(matrix_file, tmp_path, *request, "--values", 1000)
    assert content["value_bytes"] == 16_000 and "1000 values each" in printed
    for strategy, row in many.items():
        assert row["nonlocal_bytes"] == 1000 * one[strategy]["nonlocal_bytes"]
        assert row["nonlocal_messages"] == one[strategy]["nonlocal_messages"]
        assert row["predicted_us"] > one[strategy]["predicted_us"]


def test_a_profile_file_sets_the_prices(
    matrix_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ("--ranks", 14, "--ranks-per-region", 4, "--no-verify")
    file = tmp_path / "machine.json"
    profile = json.loads(_core.Profile.default().to_json())
    profile["name"] = "another machine"
    file.write_text(json.dumps(profile))
    content, rows, printed = explained(matrix_file, tmp_path, *request, "--profile", file)
    assert content["profile"] == "another machine" and "another machine" in printed
    monkeypatch.setenv("VICINAL_PROFILE", str(file))
    by_environment, same, _ = explained(matrix_file, tmp_path, *request)
    assert by_environment["profile"] == "another machine" and same == rows
    file.write_text("{")
    refused(vicinal("explain", matrix_file, *request), "VICINAL_PROFILE", str(file))
    refused(vicinal("explain", matrix_file, *request, "--profile", file), "--profile", str(file))


def test_plans_are_chosen_by_the_profile_that_prices_them(matrix_file: Path, tmp_path: Path) -> None:
    request = ("--ranks", 14, "--ranks-per-region", 4, "--no-verify")
    _, usual, _ = explained(matrix_file, tmp_path, *request)
    assert usual["automatic"]["nonlocal_messages"] < usual["direct"]["nonlocal_messages"]
    # If a handover takes longer than all messages together, no plan hands anything over.
    profile = json.loads(_core.Profile.default().to_json())
    file = tmp_path / "machine.json"
    file.write_text(json.dumps({**profile, "handover": 1.0}))
    _, slow, _ = explained(matrix_file, tmp_path, *request, "--profile", file)
    assert slow["automatic"]["nonlocal_messages"] == slow["direct"]["nonlocal_messages"]
    assert slow["automatic"]["predicted_us"] < 1e6


def test_maps_of_regions_are_for_plots_alone(
    matrix_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def count(*_: object) -> Any:
        raise AssertionError("regions x regions matrices were made")

    monkeypatch.setattr(_core.PlanSet, "region_traffic", count)
    request = ["explain", str(matrix_file), "--ranks", "14", "--ranks-per-region", "1", "--strategy", "direct"]
    assert cli.main(request) == 0
    with pytest.raises(AssertionError, match="regions x regions"):
        cli.main([*request, "--plot", str(tmp_path / "maps.png")])
    capfd.readouterr()
    many = ["--ranks", "3000000", "--ranks-per-region", "1", "--strategy", "direct"]
    assert cli.main(["explain", str(matrix_file), *many, "--plot", str(tmp_path / "maps.png")]) == 2
    assert "3,000,000 × 3,000,000 regions" in capfd.readouterr().err


def test_json_alone_is_on_standard_output(matrix_file: Path) -> None:
    result = vicinal("explain", matrix_file, "--ranks", 6, "--ranks-per-region", 2, "--strategy", "split",
                     "--rank", 1, "--json", "-")
    assert result.returncode == 0, result.stderr
    assert [row["strategy"] for row in json.loads(result.stdout)["rows"]] == ["direct", "split"]
    assert "predicted" in result.stderr and "rank 1 of 6, split" in result.stderr


def test_the_hash_is_that_of_the_entries(matrix_file: Path, tmp_path: Path) -> None:
    request = ("--ranks", 2, "--ranks-per-region", 1, "--strategy", "direct", "--no-verify")
    plain, zipped = (
        explained(Path(name), tmp_path, *request)[0]["matrix"] for name in (str(matrix_file), f"{matrix_file}.gz")
    )
    assert plain["sha256"] == zipped["sha256"] and plain["nonzeros"] == zipped["nonzeros"]
    lines = matrix_file.read_text().splitlines()
    other = tmp_path / "other.mtx"
    other.write_text("\n".join([*lines[:-1], " ".join([*lines[-1].split()[:2], "0.25", "0.5"])]) + "\n")
    assert explained(other, tmp_path, *request)[0]["matrix"]["sha256"] != plain["sha256"]
