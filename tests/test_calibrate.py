"""`vicinal calibrate`: its evaluation of times, and the profile that it writes and that other
commands accept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import refused, vicinal
from launching import BUILD
from vicinal_command import calibrate, gpus, measured
from vicinal_command.fits import Piece
from vicinal_command.outputs import CommandError, OutputFile

pytestmark = pytest.mark.full

TASK: dict[str, Any] = {
    "ranks": 4, "sizes": [0, *(1 << power for power in range(21))], "small": 8, "counts": [1, 8, 16, 32],
    "few": [1, 4, 8], "handled": [1 << 12, 1 << 18], "queues": [0, 100, 200], "stream": 1 << 18, "copied": 1 << 17, "repetitions": 5,
    "device_sizes": [16, 1024, 65536, 1 << 20],
}


def written(file: Path) -> dict[str, Any]:
    """Returns the profile; checks that the library reads it and writes it without change."""
    profile = _core.Profile.read(str(file))
    assert profile.to_json() == file.read_text()
    content: dict[str, Any] = json.loads(file.read_text())
    assert (content["kind"], content["format"]) == ("vicinal profile", 1)
    assert all(key in content for key in ("name", "source", "date"))
    return content


@pytest.mark.alone
def test_a_machine_is_measured_and_the_file_serves(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    result = vicinal("calibrate", file, "--ranks", 3, "--quick", "--accept", "--regions", "node", "--mpi", mpi)
    assert result.returncode == 0, result.stderr
    content = written(file)
    assert content["source"].endswith("--quick, regions node: 3 ranks on 1 host")
    assert ("Open MPI" if mpi == "openmpi" else "MPICH") in content["name"]
    assert [content["levels"][name]["measured"] for name in ("domain", "node", "network")] == [False, True, False]
    node = content["levels"]["node"]
    assert content["levels"]["network"]["protocols"] == node["protocols"]
    largest = node["protocols"][-1]
    assert largest["seconds_per_byte"] + 2 * largest.get("processor_seconds_per_byte", 0) > 0
    assert node["send_overhead"] + node["receive_overhead"] > 0
    assert (content["turn"] > 0) == (content["cores"] > 0) and content["turn"] + content["poll"] < 1e-3
    assert content["handover"] > 0 and content["copy_seconds_per_byte"] > 0 and content["port_seconds_per_byte"] > 0
    assert "no two ranks were so near: domain, network" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["profile.json"]

    profile = _core.Profile.read(str(file))
    labels = np.array([0, 0, 1, 1], np.int32)
    machine = _core.Machine(labels, labels)
    patterns = _core.halo_patterns(4, np.array([0, 2, 4, 6, 8]), np.array([0, 3]), np.array([7, 0]))
    _core.PlanSet.plan("automatic", machine, patterns, profile=profile).verify(patterns)
    result = vicinal("spmv", "bar", "--ranks", 3, "--strategy", "automatic", "--iterations", 2, "--repetitions", 1,
                     "--ranks-per-region", 2, "--mpi", mpi, env={"VICINAL_PROFILE": str(file)})
    assert result.returncode == 0, result.stderr


@pytest.mark.alone
def test_a_network_is_measured_where_ranks_share_nothing(mpi: str, tmp_path: Path) -> None:
    """Ranks without shared memory count as separate hosts, whose messages all go through ports."""
    file = tmp_path / "profile.json"
    result = vicinal("calibrate", file, "--ranks", 4, "--quick", "--accept", "--ranks-per-region", 2, "--mpi", mpi,
                     env={"VICINAL_SHARED_MEMORY": "0"})
    assert result.returncode == 0, result.stderr
    content = written(file)
    assert [content["levels"][name]["measured"] for name in ("domain", "node", "network")] == [False, True, True]
    assert content["port_seconds_per_byte"] > 0
    assert "handover" in result.stdout and "(not measured)" in result.stdout


def test_a_gpu_is_measured_where_there_is_one(mpi: str, tmp_path: Path) -> None:
    """The simulated driver provides a GPU, so its times are meaningless."""
    file = tmp_path / "profile.json"
    driver = str(BUILD / "lib" / "libvicinal_driver_double_cuda.so")
    gpu = {"VICINAL_DEVICE_DRIVER": driver, "XDG_CACHE_HOME": "nowhere"}
    result = vicinal("calibrate", file, "--ranks", 2, "--quick", "--accept", "--regions", "node", "--mpi", mpi, env=gpu)
    assert result.returncode == 0, result.stderr
    device = written(file)["device"]
    assert (device["name"], device["count"]) == ("the double", 2)
    for name in ("kernel", "to_host", "to_device", "peer"):
        assert device[name]["overhead"] > 0 and device[name]["seconds_per_byte"] >= 0
    assert "the double (2 of each host): a copy back" in " ".join(result.stdout.split())
    assert "levels" not in device and "MPI is not given its addresses" in " ".join(result.stdout.split())

    result = vicinal("calibrate", file, "--ranks", 2, "--quick", "--accept", "--regions", "node", "--mpi", mpi,
                     env=gpu | {"DRIVER_DOUBLE": "open_to_mpi=1"})
    assert result.returncode == 0, result.stderr
    levels = written(file)["device"]["levels"]
    assert [levels[name]["measured"] for name in ("domain", "node", "network")] == [False, True, False]
    assert _core.Profile.read(str(file)).device_ways == ["staged", "direct", "shared", "direct-shared"]

    result = vicinal("calibrate", file, "--ranks", 2, "--quick", "--accept", "--mpi", mpi, env={"VICINAL_DEVICE_DRIVER": "none"})
    assert result.returncode == 0, result.stderr
    assert "device" not in written(file)
    assert "no GPU" in result.stdout


def test_a_gpu_whose_kernels_cannot_be_compiled_has_no_prices() -> None:
    device = gpus.device_of(["A GPU", "1", ""], np.ones(6), None, [16])
    assert device is None and "cannot be compiled" in gpus.sentence(["A GPU", "1", ""], device)


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    refused(vicinal("calibrate"), "FILE")
    refused(vicinal("calibrate", tmp_path / "none" / "a.json", "--ranks", 2), "there is no folder")
    refused(vicinal("calibrate", file, "--ranks", 1), "--ranks 2 or more")
    refused(vicinal("calibrate", file, "--ranks", 2, "--regions", "list:0"), "list:0")
    refused(vicinal("calibrate", file, "--ranks", 2, "--mpi", "none"), "none")
    assert not file.exists()


def test_a_profile_that_cannot_be_read_ends_a_run(mpi: str, tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text(_core.Profile.default().to_json()[:-20])
    refused(vicinal("spmv", "bar", "--ranks", 2, "--mpi", mpi, env={"VICINAL_PROFILE": str(file)}),
            f"VICINAL_PROFILE: profile '{file}', line", "perhaps it was cut off")


PACE = 5e5
"""Work units per second of a rank with a core of its own."""


def leave(folder: Path, repetitions: int = 5, strays: bool = False, share: float = 0.25) -> None:
    """Writes the result files of four ranks on two hosts, made of the numbers below with some
    noise.

    With `strays`, one repetition of each kind is an outlier. `share` is each rank's share of a
    core.
    """
    generator = np.random.default_rng(11)

    def samples(values: Any) -> Any:
        noise = 1 + 0.01 * np.abs(generator.standard_normal((repetitions, len(values))))
        if strays:
            noise[generator.integers(repetitions)] *= 7
        return (np.asarray(values) * noise).ravel()

    sizes, counts = np.array(TASK["sizes"], float), np.array(TASK["counts"])
    moved = np.array(TASK["device_sizes"])
    near = 0.8e-6 + np.where(sizes <= 4096, 1e-9, 2e-10) * sizes + np.where(sizes <= 4096, 0, 6e-6)
    far = 9e-6 + 1e-9 * sizes
    common = {"unit": np.array([2e-6] * 5 + [1.0]), "mpi": np.array("An MPI 1.0"), "machine": np.array("somewhere")}
    ranks: list[dict[str, Any]] = [
        {"host": np.array([rank // 2]), "paces": np.array([1, 0, 2]) * PACE * share} for rank in range(4)
    ]
    ranks[0] |= common | {
        "node_pair": np.array([0, 1]), "node_one_way": samples(near), "node_eager": np.array([4096]),
        "node_sends": samples(1e-6 + 2e-7 * counts), "network_pair": np.array([0, 2]),
        "network_one_way": samples(far), "network_eager": np.array([65536]),
        "network_sends": samples(1e-6 + 2e-6 * counts), "queued": samples(2e-6 + 4e-9 * np.array(TASK["queues"])),
        "handover": samples([1.5e-7]),
        # The message, with the time that a shared port adds, and its answer.
        "together_1": samples([9e-6 + 1e-9 * 262144 + 9e-6]), "together_2": samples([9e-6 + 2 * 0.8e-9 * 262144 + 9e-6]),
    }
    ranks[1] |= {"device_peer": samples([time for size in range(4) for time in (3e-6, 7e-6 + 4e-12 * moved[size])])}
    ranks[1] |= {"node_receives": samples(3e-7 * counts), "copy": samples([1e-10 * TASK["copied"]])}
    ranks[2] |= {"network_receives": samples(3e-6 * counts)}
    few = np.array(TASK["few"])
    for size in TASK["handled"]:
        ranks[0] |= {f"node_sends_{size}": samples((2e-7 + 1e-11 * size) * few),
                     f"network_sends_{size}": samples(1e-6 + (2e-6 + 1e-10 * size) * few)}
        ranks[1] |= {f"node_receives_{size}": samples((3e-7 + 5e-11 * size) * few)}
        ranks[2] |= {f"network_receives_{size}": samples((3e-6 + 2e-10 * size) * few)}
    for number, rank in enumerate(ranks):
        # In two samples one rank has more time slices than the other. Every second poll finds a
        # message.
        for what, seconds in (("flag", 1.2e-6), ("message", 1.2e-6 + 2 * 9e-6)):
            rank[f"turns_{what}"] = 2 / 0.5 * seconds / np.array([1.6, 0.4, 1] if number % 2 else [0.4, 1.6, 1])
        # For two ranks that share half a core; in two samples one of them has more time slices.
        rank["copies"] = 2 / 0.5 * 3e-10 / np.array([1.5, 0.5, 1] if number % 2 else [0.5, 1.5, 1])
    # When all ranks are busy, two ranks of a host alternate: processor time per extra message, and
    # for themselves.
    for rank in ranks:
        rank["handed_counts"] = np.array([1, 2])
        for count in (1, 2):
            rank[f"handed_{count}"] = np.full(repetitions, 2 / 0.5 * (5e-6 + count * 4e-7))
        rank["network_all_counts"], rank["node_all_counts"] = np.array([1, 2]), np.array([1])
        for size in (TASK["small"], *TASK["handled"]):
            rank[f"node_all_{size}_1"] = samples([1.0])
            for count in (1, 2):
                rank[f"network_all_{size}_{count}"] = samples([2 / 0.5 * (20e-6 + count * (9e-6 + 8e-10 * size))])
    # One message while other ranks wait: processors at half speed, plus time slices.
    ranks[0]["network_waited"] = samples(40e-6 + 3e-10 * sizes + (9e-6 + 8e-10 * sizes) / 0.5)
    works = [(2e-6, 9e-6 + 4e-11 * moved), (3e-6, 8e-6 + 1e-12 * moved), (2.5e-6, 7e-6 + 5e-11 * moved)]
    ranks[0] |= {
        "gpu": np.array(["A GPU", "4", "kernels"]),
        "device": samples([time for size in range(4) for begun, done in works for time in (begun, begun + done[size])]),
    }
    for rank, found in enumerate(ranks):
        np.savez(folder / f"result-{rank}.npz", **found)


@pytest.mark.parametrize("strays", [False, True])
def test_times_become_the_numbers_they_were_made_of(tmp_path: Path, strays: bool) -> None:
    leave(tmp_path, strays=strays)
    results, levels, figures = measured.read_results(tmp_path, TASK)
    profile = calibrate.profile_of(results, levels, figures, "tests")
    assert list(levels) == ["node", "network"]
    node, network = profile["levels"]["node"], profile["levels"]["network"]
    assert profile["levels"]["domain"] == node | {"measured": False}
    assert (node["send_overhead"], node["receive_overhead"]) == pytest.approx((2e-7, 3e-7), rel=0.05)
    eager, rendezvous = node["protocols"]
    assert (eager["up_to"], eager["rendezvous"], rendezvous["rendezvous"]) == (4096, False, True)
    assert (eager["latency"], rendezvous["latency"]) == pytest.approx((3e-7, 6.3e-6), rel=0.1)
    assert (eager["seconds_per_byte"], rendezvous["seconds_per_byte"]) == pytest.approx((9.4e-10, 1.4e-10), rel=0.05)
    assert [each["processor_seconds_per_byte"] for each in (eager, rendezvous)] == pytest.approx([3e-11] * 2, rel=0.1)
    # Two idle ranks take 5e-6 of processor time per message and 3e-10 per byte, plus 4e-6 and 7e-10
    # in transit.
    assert network["protocols"][-1]["seconds_per_byte"] == pytest.approx(3e-10, rel=0.2)
    assert network["protocols"][-1]["processor_seconds_per_byte"] == pytest.approx(4e-10, rel=0.05)
    overheads = [network["send_overhead"], network["receive_overhead"]]
    assert overheads == pytest.approx([9e-6 * 2 / 5, 9e-6 * 3 / 5], rel=0.05)
    assert network["protocols"][0]["latency"] == pytest.approx(40e-6, rel=0.1)
    assert profile["port_seconds_per_byte"] == pytest.approx(0.8e-9, rel=0.05)
    assert profile["search"] == pytest.approx(4e-9, rel=0.1)
    # Two idle ranks measure 1.5e-7.
    assert profile["handover"] == pytest.approx(4e-7, rel=0.05)
    assert (profile["turn"], profile["poll"]) == pytest.approx((1.2e-6, 9e-6), rel=0.05)
    assert profile["copy_seconds_per_byte"] == pytest.approx(3e-10, rel=0.05)
    assert profile["cores"] == pytest.approx(0.5)  # two ranks with a quarter each
    device = profile["device"]
    assert (device["name"], device["count"]) == ("A GPU", 4)
    for name, work in {"to_device": (2e-6, 9e-6, 4e-11), "kernel": (3e-6, 8e-6, 1e-12), "to_host": (2.5e-6, 7e-6, 5e-11),
                       "peer": (3e-6, 4e-6, 4e-12)}.items():
        found = [device[name][key] for key in ("overhead", "latency", "seconds_per_byte")]
        assert found == pytest.approx(work, rel=0.1) and device[name]["residual"] < 0.05
    assert profile["name"] == "somewhere, An MPI 1.0" and "4 ranks on 2 hosts" in profile["source"]
    _core.Profile.from_json(json.dumps(profile))


def test_on_cores_of_their_own_two_ranks_tell_what_messages_cost(tmp_path: Path) -> None:
    leave(tmp_path, share=1)
    results, levels, figures = measured.read_results(tmp_path, TASK)
    network = calibrate.profile_of(results, levels, figures, "tests")["levels"]["network"]
    assert (figures["turn"].value, figures["poll"].value) == (0, 0)
    assert figures["handover"].value == pytest.approx(1.5e-7, rel=0.05)
    assert figures["cores"].value == 0 and figures["copy_seconds_per_byte"].value == pytest.approx(1e-10, rel=0.05)
    assert (network["send_overhead"], network["receive_overhead"]) == pytest.approx((2e-6, 3e-6), rel=0.05)
    largest = network["protocols"][-1]
    assert largest["processor_seconds_per_byte"] == pytest.approx(1.5e-10, rel=0.05)
    assert largest["seconds_per_byte"] == pytest.approx(7e-10, rel=0.1)
    assert network["protocols"][0]["latency"] == pytest.approx(4e-6, rel=0.1)


def test_a_handover_is_the_least_and_no_more_than_a_message() -> None:
    shared_now_and_then, always = np.array([[1.4e-6], [2e-7], [1.4e-6]]), np.array([[1.4e-6], [1.4e-6]])
    least, bound = measured.handover_of(shared_now_and_then, 7e-7), measured.handover_of(always, 7e-7)
    assert least.value == 2e-7
    assert (bound.value, bound.quality) == (7e-7, pytest.approx(1.0))


def test_a_busy_machine_and_poor_fits_are_warned_of(tmp_path: Path) -> None:
    leave(tmp_path)
    results, levels, figures = measured.read_results(tmp_path, TASK)
    assert calibrate.warnings_of(results, levels, figures, load=0.0) == []
    [warning] = calibrate.warnings_of(results, levels, figures, load=0.8)
    assert "80% of its cores" in warning and "measure again" in warning
    poor = levels["node"].pieces[0]
    worse = {"node": measured.Level(0, 0, [Piece(None, poor.latency, 0, 0.4)], 0.6, (0, 1))}
    found = " ".join(calibrate.warnings_of(results, worse, {"handover": measured.Figure(1e-7, 0.5)}, load=0.0))
    assert "times lie 40% from their lines" in found and "repetitions lie 60% apart" in found
    assert "handover: measured times lie 50% apart" in found


def test_numbers_that_are_not_to_be_believed_are_not_written(mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "machine.json"
    monkeypatch.setattr(calibrate, "warnings_of", lambda *_: ["times lie far apart"])
    asked = calibrate.Request(OutputFile(file), 2, "node", True, False, mpi)
    with pytest.raises(CommandError, match="--accept"):
        calibrate.calibrate(asked)
    assert not file.exists()
    assert calibrate.calibrate(dataclasses.replace(asked, accept=True)) == 0
    assert file.exists()


def test_a_processor_in_use_is_seen() -> None:
    assert 0 <= calibrate.share_in_use(0.05) <= 1
