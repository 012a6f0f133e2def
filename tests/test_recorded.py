"""Recorded patterns: their weights, their folding onto fewer ranks, and `vicinal explain` for
them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commanding import described, refused, vicinal
from vicinal_command.inputs import folded
from vicinal_command.outputs import CommandError
from vicinal_command.recorded import read_recorded

TEXT = "# ranks=8\nsrc,dst,MB\n0,1,2\n0,5,1\n1,0,0.00009\n4,2,0.504\n0,5,1\n6,6,9\n7,0,0.0008\n5,1,0.25\n"


def write(folder: Path, text: str = TEXT) -> Path:
    file = folder / "run.csv"
    file.write_text(text)
    return file


def test_weights_of_repeated_pairs_are_added_up(tmp_path: Path) -> None:
    run = read_recorded(str(write(tmp_path)))
    edges = zip(run.sources.tolist(), run.destinations.tolist(), run.megabytes.tolist(), strict=True)
    assert list(edges) == [(0, 1, 2.0), (0, 5, 2.0), (4, 2, 0.504), (5, 1, 0.25), (7, 0, 0.0008)]
    assert (run.name, run.ranks) == ("run", 8)


@pytest.mark.parametrize("weight", ["nan", "inf", "-1"])
def test_weights_that_are_none_are_refused(weight: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=f"line 1: '{weight}' is no number of megabytes"):
        read_recorded(str(write(tmp_path, f"0,1,{weight}\n")))


def test_the_hash_is_that_of_the_edges(tmp_path: Path) -> None:
    first = read_recorded(str(write(tmp_path))).describe()
    again = read_recorded(str(write(tmp_path, TEXT.replace("0,1,2\n", "0,1,2.000\n")))).describe()
    other = read_recorded(str(write(tmp_path, TEXT.replace("0,1,2\n", "0,1,2.001\n")))).describe()
    assert first == again and first["sha256"] != other["sha256"]


def test_folding_adds_up_and_leaves_out_what_stays(tmp_path: Path) -> None:
    run = read_recorded(str(write(tmp_path)))
    sources, destinations, weights = folded(run, 3)  # ranks 0, 0, 0, 1, 1, 1, 2, 2
    found = zip(sources.tolist(), destinations.tolist(), weights.tolist(), strict=True)
    assert list(found) == [(0, 1, 2.0), (1, 0, 0.754), (2, 0, 0.0008)]
    same = folded(run, 8)
    assert np.array_equal(same[0], run.sources) and np.array_equal(same[2], run.megabytes)


def test_explain_counts_what_was_recorded(tmp_path: Path) -> None:
    file, output = write(tmp_path), tmp_path / "rows.json"
    result = vicinal("explain", file, "--ranks-per-region", 4, "--exchanges", 1000, "--json", output)
    assert result.returncode == 0, result.stderr
    content = json.loads(output.read_text())
    described(content, "explain", ran=False)
    assert content["pattern"]["edges"] == 5 and content["exchanges"] == 1000 and content["ranks"] == 8
    rows = {row["strategy"]: row for row in content["rows"]}
    assert all(row["correct"] is True for row in rows.values())
    # Edges 0 to 5, 4 to 2, 5 to 1 and 7 to 0; no two edges share values; 0.8 bytes count as one
    # value.
    assert rows["direct"]["nonlocal_messages"] == 4
    assert rows["direct"]["nonlocal_bytes"] == rows["aggregate"]["nonlocal_bytes"] == 2000 + 504 + 248 + 8
    assert rows["aggregate"]["nonlocal_messages"] < 4
    assert content["deduplication"]["bytes_once"] == content["deduplication"]["bytes_apart"]
    assert "distance-halving" not in rows, "it is for allgathers"


def test_explain_and_simulate_forward_what_all_send_to_all(tmp_path: Path) -> None:
    edges = [(source, to) for source in range(12) for to in range(12) if source != to]
    file = write(tmp_path, "".join(f"{source},{to},0.0008\n" for source, to in edges))
    for command, time in (("explain", "predicted_us"), ("simulate", "simulated_us")):
        output = tmp_path / f"{command}.json"
        request = (command, file, "--ranks-per-region", 1, "--exchanges", 100, "--json", output)
        result = vicinal(*request)
        assert result.returncode == 0, result.stderr
        rows = {row["strategy"]: row for row in json.loads(output.read_text())["rows"]}
        assert rows["direct"]["nonlocal_messages"] == 12 * 11
        assert rows["tuna"]["nonlocal_messages"] < 12 * 11 and "tuna-hierarchical" in rows and "bruck" not in rows
        assert rows["tuna"][time] < rows["direct"][time]
        result = vicinal(*request, "--strategy", "tuna")
        assert result.returncode == 0, result.stderr
    # With one edge less, a rank may be missing that would have to forward data.
    file = write(tmp_path, "".join(f"{source},{to},0.0008\n" for source, to in edges[1:]))
    output = tmp_path / "fewer.json"
    result = vicinal("explain", file, "--ranks-per-region", 1, "--json", output)
    assert result.returncode == 0, result.stderr
    assert not {"tuna", "tuna-hierarchical"} & {row["strategy"] for row in json.loads(output.read_text())["rows"]}
    for command in ("explain", "simulate"):
        asked = vicinal(command, file, "--ranks-per-region", 1, "--strategy", "tuna")
        refused(asked, "'tuna' serves exchanges over a whole communicator only", "not every rank sends to every other")


def test_what_does_not_go_together_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    request = ("explain", file, "--ranks-per-region", 2)
    refused(vicinal(*request, "--ranks", 9), "has 8 ranks", "at most as many")
    refused(vicinal(*request, "--values", 2), "--values is for matrices")
    refused(vicinal(*request, "--partition", file), "--partition is for matrices")
    refused(vicinal(*request, "--exchanges", 0), "--exchanges")
    refused(vicinal(*request, "--rank", 8, "--strategy", "split"), "no rank 8", "0 to 7")
    refused(vicinal("explain", "bar", "--ranks", 4, "--exchanges", 2, "--ranks-per-region", 2), "--exchanges", "a matrix")
    refused(vicinal("explain", "bar", "--ranks-per-region", 2), "--ranks")
