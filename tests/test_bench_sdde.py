"""`vicinal bench sdde`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import described, is_ratio, refused, vicinal, write_matrix
from vicinal_bench.benchmarks.competition import MPI_AGAIN, MPI_OWN
from vicinal_bench.benchmarks.sdde import METHODS, PUBLISHED
from vicinal_bench.benchmarks.workloads import few_requests, random_requests

pytestmark = pytest.mark.full

BENCH = ("bench", "sdde")
TIMED_KEYS = [
    "workload", "ranks", "messages", "bytes", "strategy", "exchange_us", "exchange_median_us", "ratio_to_mpi",
    "median_ratio_to_mpi", "correct",
]
COUNTED_KEYS = [
    "workload", "ranks", "regions", "messages", "bytes", "region_pairs", "least_max", "strategy",
    "nonlocal_messages", "nonlocal_messages_max", "payload_messages", "payload_messages_max", "protocol_messages",
    "messages_inside_mpi", "ratio_to_region_pairs", "predicted_us",
]


def rows_of(file: Path, keys: list[str]) -> list[dict[str, Any]]:
    content = json.loads(file.read_text())
    described(content, "bench sdde", ran=keys == TIMED_KEYS)
    rows: list[dict[str, Any]] = content["rows"]
    assert all(list(row) == keys for row in rows)
    return rows


def test_methods_and_mpi_deliver_the_same(mpi: str, tmp_path: Path) -> None:
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    result = vicinal(
        *BENCH, "--ranks", 5, "--ranks-per-region", 2, "--probability", "0,0.1", "--values", 9, "--partners", 3,
        "--receivers", 2, "--matrix", write_matrix(tmp_path), "--iterations", 3, "--repetitions", 2, "--mpi", mpi,
        "--json", files[0], "--plot", files[1], env={"VICINAL_EXCHANGE": "nonsense"},
    )
    assert result.returncode == 0, result.stderr
    rows = rows_of(files[0], TIMED_KEYS)
    contestants = [MPI_OWN, *METHODS, MPI_AGAIN]
    assert all(row["correct"] is True and row["ranks"] == 5 for row in rows)
    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    assert workloads == [
        "9 values, each with probability 0", "9 values, each with probability 0.1", "3 partners", "all to 2", "random.mtx",
    ]
    asked = random_requests(5, 9, 0.1)
    for workload in workloads:
        of_case = [row for row in rows if row["workload"] == workload]
        assert [row["strategy"] for row in of_case] == contestants
        own = of_case[0]
        assert own["ratio_to_mpi"] == own["median_ratio_to_mpi"] == 1
        for row in of_case:
            assert 0 < row["exchange_us"] <= row["exchange_median_us"]
            assert is_ratio(row["ratio_to_mpi"], row["exchange_us"], own["exchange_us"])
    sizes = {row["workload"]: (row["messages"], row["bytes"]) for row in rows}
    assert sizes[workloads[0]] == (0, 0)
    assert sizes[workloads[1]] == (asked.edges, len(asked.values) * 8)
    assert sizes["3 partners"] == (15, 15 * 3 * 8)
    # Ranks 1 and 3 ask rank 2, ranks 2 and 4 ask rank 0; rank 0 would ask itself.
    assert sizes["all to 2"] == (4, 4 * 3 * 8)
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert all(name in result.stdout for name in contestants)


def test_some_methods_on_the_default_workloads(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--ranks", 3, "--methods", "locality,nonblocking,locality", "--iterations", 1,
                     "--repetitions", 1, "--mpi", mpi, "--json", file)
    assert result.returncode == 0, result.stderr
    rows = rows_of(file, TIMED_KEYS)
    assert [row["strategy"] for row in rows] == [MPI_OWN, "locality", "nonblocking", MPI_AGAIN] * 2
    assert rows[-1]["workload"] == "2 partners"


@pytest.mark.parametrize("regions", [[0, 1, 2, 2, 2, 1, 0, 2, 2, 2, 2, 1], [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]])
def test_counts_are_those_of_the_workload(tmp_path: Path, regions: list[int]) -> None:
    file = tmp_path / "rows.json"
    text = "list:" + ",".join(map(str, regions))
    result = vicinal(*BENCH, "--count", "--ranks", 12, "--regions", text, "--partners", 2,
                     "--probability", 0.02, "--values", 20, "--json", file, env={"VICINAL_MPI": "none"})
    assert result.returncode == 0, result.stderr
    rows = rows_of(file, COUNTED_KEYS)
    methods = ["personalized", "nonblocking", PUBLISHED, "locality", "locality-personalized", "automatic"]
    label = np.array(regions)
    members = np.bincount(label)
    for number, workload in enumerate([random_requests(12, 20, 0.02), few_requests(12, 2, 3)]):
        of_case = {row["strategy"]: row for row in rows[6 * number : 6 * number + 6]}
        assert list(of_case) == methods
        crossing = label[workload.sources] != label[workload.destinations]
        by_rank = np.bincount(workload.sources[crossing], minlength=12)
        ends = label[workload.sources[crossing]], label[workload.destinations[crossing]]
        pairs = np.unique(np.stack(ends), axis=1)
        for row in of_case.values():
            assert (row["ranks"], row["regions"], row["messages"]) == (12, 3, workload.edges)
            assert row["workload"] == workload.name
            assert row["region_pairs"] == pairs.shape[1]
            assert row["least_max"] == np.ceil(np.bincount(pairs[0], minlength=3) / members).max()
            kinds = ("payload_messages", "protocol_messages", "messages_inside_mpi")
            assert row["nonlocal_messages"] == sum(row[kind] for kind in kinds)
            assert row["ratio_to_region_pairs"] == pytest.approx(row["nonlocal_messages"] / pairs.shape[1], abs=1e-4)
        for method in ("personalized", "nonblocking"):
            assert of_case[method]["payload_messages"] == by_rank.sum()
            assert of_case[method]["payload_messages_max"] == by_rank.max()
        # A message per rank and destination region; one per pair of regions; plus one per silent
        # pair.
        served = np.unique(np.stack([workload.sources[crossing], ends[1]]), axis=1)[0]
        assert of_case[PUBLISHED]["payload_messages"] == len(served)
        assert of_case[PUBLISHED]["payload_messages_max"] == np.bincount(served).max()
        assert of_case["locality"]["payload_messages"] == pairs.shape[1]
        assert of_case["locality-personalized"]["nonlocal_messages"] == 6
    assert all(name in result.stdout for name in methods)


def test_of_all_to_few_each_leader_has_a_part_to_send_and_to_receive(tmp_path: Path) -> None:
    """The leaders of a receiver's region share the incoming messages; methods without regions load
    one rank with all."""
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--count", "--ranks", 512, "--ranks-per-region", 16, "--receivers", "1,8", "--json", file,
                     env={"VICINAL_MPI": "none", "VICINAL_PROFILE": ""})
    assert result.returncode == 0, result.stderr
    rows = rows_of(file, COUNTED_KEYS)
    network = _core.Profile.default().levels["network"]
    for receivers in (1, 8):
        of_case = {row["strategy"]: row for row in rows if row["workload"] == f"all to {receivers}"}
        time = {method: row["predicted_us"] for method, row in of_case.items()}
        assert of_case["locality"]["payload_messages"] == 31 * receivers
        assert time[PUBLISHED] is None
        assert time["automatic"] == min(time[method] for method in ("locality", "locality-personalized"))
        least = 1e6 * 512 // receivers * network.receive_overhead
        assert min(time["personalized"], time["nonblocking"]) > least > 0
        # A tree towards the receivers would need one more synchronization and message than all
        # region pairs.
        assert time["locality-personalized"] < json.loads(file.read_text())["two_hops_us"][f"all to {receivers}"]
        if receivers == 1:
            assert time["locality"] < least and time["locality-personalized"] < least / 4


def test_predicted_times_are_those_of_what_is_sent(tmp_path: Path) -> None:
    """Two ranks in two regions, of which one asks the other, compared with times computed by
    hand."""
    file = tmp_path / "rows.json"
    result = vicinal(*BENCH, "--count", "--ranks", 2, "--ranks-per-region", 1, "--receivers", 1, "--json", file,
                     env={"VICINAL_MPI": "none", "VICINAL_PROFILE": ""})
    assert result.returncode == 0, result.stderr
    time = {row["strategy"]: row["predicted_us"] for row in rows_of(file, COUNTED_KEYS)}
    profile = _core.Profile.default()
    far = profile.levels["network"]
    message, record = 1e6 * far.seconds(24), 1e6 * far.seconds(40)
    assert time["personalized"] == pytest.approx(message + 1e6 * far.seconds(8), abs=2e-3)
    assert time["nonblocking"] == pytest.approx(message + 1e6 * (far.seconds(0) + far.seconds(8)), abs=2e-3)
    # Rank 1 writes the record and reads it to send it; rank 0 does the reverse.
    hand_over = 1e6 * (2 * profile.handover + 2 * 40 * profile.copy_seconds_per_byte)
    assert time["locality"] == pytest.approx(
        hand_over + record + 1e6 * (far.seconds(0) + far.seconds(8) + profile.handover), abs=2e-3
    )
    # The message has a status word; rank 0 sends a status word only.
    assert time["locality-personalized"] == pytest.approx(hand_over + 1e6 * far.seconds(48), abs=2e-3)


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    few = (*BENCH, "--ranks", 4)
    refused(vicinal(*BENCH), "--ranks")
    refused(vicinal(*few, "--probability", "2"), "--probability", "from 0 to 1")
    refused(vicinal(*few, "--partners", "4"), "4 partners", "give fewer")
    refused(vicinal(*few, "--receivers", "4"), "4 receivers", "give fewer")
    refused(vicinal(*few, "--methods", "locality,one-sided"), "of one size", "locality-personalized")
    refused(vicinal(*few, "--methods", "telepathy"), "telepathy", "locality-personalized")
    refused(vicinal(*few, "--regions", "blocks:0"), "blocks:0")
    refused(vicinal(*few, "--matrix", tmp_path / "none.mtx"), "does not exist")
    refused(vicinal(*few, "--count"), "--ranks-per-region")
    counting = (*few, "--count", "--ranks-per-region", 2)
    refused(vicinal(*counting, "--plot", tmp_path / "times.png"), "--plot", "--count")
    refused(vicinal(*counting, "--mpi", "openmpi"), "--mpi", "--count")
    matrix = write_matrix(tmp_path)
    refused(vicinal(*BENCH, "--ranks", 204, "--count", "--ranks-per-region", 2, "--matrix", matrix), "203 rows")
