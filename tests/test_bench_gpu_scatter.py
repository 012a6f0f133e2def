"""`vicinal bench gpu-scatter`, as a user runs it.

The simulated GPU driver provides two GPUs per host, so its times are meaningless.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vicinal import _core

from commanding import HERE, described, is_ratio, refused, vicinal
from launching import BUILD, run_ranks
from vicinal_bench.benchmarks.gpu_scatter import gpu_note, routines
from vicinal_bench.ranks.gpu_scatter import APPLICATION, COPY, OWN_WAYS, is_served

pytestmark = pytest.mark.full

BENCH = ("bench", "gpu-scatter")
KEYS = [
    "workload", "ranks", "message_bytes", "stride", "strategy", "setup_us", "begin_us", "end_us", "exchange_us", "exchange_median_us",
    "ratio_to_mpi", "median_ratio_to_mpi", "correct",
]
ROUTINES = ["parallel to parallel", "sequential to parallel", "parallel to sequential"]
QUICK = ("--iterations", 2, "--repetitions", 2)


def with_double(folder: Path, numbers: str = "") -> dict[str, str]:
    """Returns the environment that selects the simulated driver; compiled kernels do not outlive
    the test."""
    driver = str(BUILD / "lib" / "libvicinal_driver_double_cuda.so")
    names = {"VICINAL_DEVICE_DRIVER": driver, "DRIVER_DOUBLE": numbers}
    return names | {"XDG_CACHE_HOME": str(folder / "cache")}


def content_of(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text())
    described(content, "bench gpu-scatter", ran=True)
    assert all(list(row) == KEYS and row["correct"] is True for row in content["rows"])
    return content


def test_all_deliver_the_same_and_are_timed_in_two_parts(mpi: str, tmp_path: Path) -> None:
    files = [tmp_path / "rows.json", tmp_path / "ratios.png"]
    # The benchmark must ignore this variable, which selects a single transport.
    env = with_double(tmp_path) | {"VICINAL_DEVICE_WAY": "staged"}
    result = vicinal(*BENCH, "--ranks", 3, "--sizes", "8,4096", *QUICK, "--mpi", mpi, "--json", files[0], "--plot", files[1], env=env)
    assert result.returncode == 0, result.stderr
    content = content_of(files[0])
    rows = content["rows"]
    contestants = [
        APPLICATION, *OWN_WAYS, "vicinal, lent", "vicinal, shared", "vicinal, staged", "vicinal, automatic", COPY, f"{APPLICATION} again",
    ]
    cases = [(routine, size, each) for routine in ROUTINES for size in (8, 4096) for each in contestants]
    assert [(row["workload"], row["message_bytes"], row["strategy"]) for row in rows] == cases
    for number, row in enumerate(rows):
        own = rows[number - number % len(contestants)]
        assert 0 < row["exchange_us"] <= row["exchange_median_us"] and row["setup_us"] > 0
        assert row["begin_us"] > 0 and row["end_us"] > 0
        # With two repetitions a median is a mean, so the medians of the parts add up.
        assert row["begin_us"] + row["end_us"] == pytest.approx(row["exchange_median_us"], abs=0.003)
        assert is_ratio(row["ratio_to_mpi"], row["exchange_us"], own["exchange_us"])
        assert is_ratio(row["median_ratio_to_mpi"], row["exchange_median_us"], own["exchange_median_us"])
    # Three ranks in blocks on two GPUs.
    assert content["gpu"] == {
        "name": "the double", "driver": "CUDA", "of_each_host": 2, "ranks_on_each": 2, "kernels": "compiled at run time",
        "mps": content["gpu"]["mps"],
    }
    assert (content["iterations"], content["repetitions"], content["ranks"], content["regions"]) == (2, 2, 3, "node")
    printed = " ".join(result.stdout.split())
    name, version = content["mpi"]["name"], content["mpi"]["version"]
    for words in (
        f"scatters between vectors on the double, 3 ranks ({mpi}), regions node", *contestants, "begin", "end", "set-up",
        "GPU: the double, 2 of each host; up to 2 ranks share each; kernels compiled at run time",
        f"MPI: {name} {version}; profile: {content['profile']}, which has no prices of GPUs, so that automatic is staged",
        "packs every second value of its vector by a kernel",
    ):
        assert words in printed, words
    assert files[1].read_bytes().startswith(b"\x89PNG")


def test_kernels_and_profile_are_told(mpi: str, tmp_path: Path) -> None:
    """Without kernels the application packs on the host, and the received values are equal."""
    file, profile = tmp_path / "rows.json", tmp_path / "profile.json"
    work = {"overhead": 2e-6, "latency": 8e-6, "seconds_per_byte": 1e-11, "residual": 0.1}
    machine = json.loads(_core.Profile.default().to_json()) | {"name": "a machine"}
    machine["device"] = {"name": "a GPU", "count": 1, "to_device": work, "kernel": work, "to_host": work}
    profile.write_text(json.dumps(machine))
    result = vicinal(
        *BENCH, "--ranks", 2, "--sizes", 1024, "--ways", "staged,direct,staged", *QUICK, "--mpi", mpi, "--json", file,
        "--profile", profile, "--ranks-per-region", 1,
        env=with_double(tmp_path, "no_compiler=1") | {"VICINAL_PROFILE": str(tmp_path / "none")},
    )
    assert result.returncode == 0, result.stderr
    content = content_of(file)
    assert [row["strategy"] for row in content["rows"]][3:5] == ["vicinal, staged", "vicinal, direct"]
    assert (content["gpu"]["kernels"], content["gpu"]["ranks_on_each"]) == ("none", 1)
    assert (content["profile"], content["regions"]) == ("a machine", "blocks:1")
    printed = " ".join(result.stdout.split())
    assert "one rank has each; no kernels" in printed and "packs every second value of its vector on the host" in printed
    assert "profile: a machine application:" in printed

    result = vicinal(*BENCH, "--ranks", 1, "--sizes", 24, "--stride", 3, *QUICK, "--mpi", mpi, "--json", file,
                     env=with_double(tmp_path, "takes_precompiled=1"))
    assert result.returncode == 0, result.stderr
    assert "packs every third value of its vector by a kernel" in " ".join(result.stdout.split())
    content = content_of(file)
    assert {(row["workload"], row["stride"]) for row in content["rows"]} == {("parallel to parallel", 3)}
    # nvcc's precompiled kernels exist only if nvcc was available at build time.
    assert content["gpu"]["kernels"] in ("precompiled", "compiled at run time")


def test_without_a_gpu_one_line_says_what_is_missing() -> None:
    result = vicinal(*BENCH, "--ranks", 2, env={"VICINAL_DEVICE_DRIVER": "none"})
    refused(result, "a GPU is needed", "libcuda.so.1", "libamdhip64.so", "VICINAL_DEVICE_DRIVER is none")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sizes", "8,12"], ["messages of 12 bytes", "multiples"]),
        (["--sizes", "0"], ["'0' is no positive whole number"]),
        (["--sizes", 1 << 31], ["4.29 GB", "smaller --sizes"]),
        (["--sizes", 1 << 30, "--stride", 4], ["4.29 GB", "a smaller --stride"]),
        (["--stride", 0], ["'0' is no positive whole number"]),
        (["--ways", "fast"], ["no way to move what lies on a GPU 'fast'", "direct-shared"]),
        (["--profile", "no such file"], ["no such file"]),
        (["--regions", "list:0"], ["list:0"]),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: list[object], words: list[str]) -> None:
    refused(vicinal(*BENCH, "--ranks", 2, *options, env=with_double(tmp_path)), *words)


WRONG = """
import numpy as np
import vicinal
from mpi4py import MPI
from vicinal._scatters import Vectors, gpu
vectors = Vectors(MPI.COMM_WORLD, gpu(0), np.array([0]), np.array([0]), 3, 2, 0, np.array([0, 2, 4]))
for contestant in (*map(vectors.application, ("collective", "point to point", "whole vectors")), vectors.copy(), vectors.halo()):
    vectors.fill(1)
    assert not vectors.right(1)
    contestant.run(1)
    assert vectors.right(1) and not vectors.right(2)
    vectors.fill(2)
    begun, ended = contestant.run(3)
    assert begun > 0 and ended > 0 and vectors.right(2)
    contestant.free()
    try:
        contestant.run(1)
    except vicinal.Error as error:
        assert "has been freed" in str(error)
    else:
        raise AssertionError
misled = Vectors(MPI.COMM_WORLD, gpu(0), np.array([0]), np.array([0]), 3, 2, 0, np.array([0, 2, 5]))
contestant = misled.application("collective")
misled.fill(1)
contestant.run(1)
assert not misled.right(1)
print("noticed")
"""


def test_wrong_values_are_noticed(mpi: str, tmp_path: Path) -> None:
    result = run_ranks(mpi, 1, [sys.executable, "-c", WRONG], env=HERE | with_double(tmp_path))
    assert "noticed" in result.output


def test_routines_are_those_of_the_paper() -> None:
    assert [each.name for each in routines(1)] == ROUTINES[:1]
    ring, out, into = routines(4)
    assert [each.name for each in (ring, out, into)] == ROUTINES
    assert sorted(zip(ring.sources, ring.destinations, strict=True)) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert sorted(zip(out.sources, out.destinations, strict=True)) == [(0, 1), (0, 2), (0, 3)]
    assert sorted(zip(into.sources, into.destinations, strict=True)) == [(1, 0), (2, 0), (3, 0)]
    *_, six, seven = routines(8)
    assert (six.edges, seven.edges) == (12, 42)
    assert six.destinations[six.sources == 2].tolist() == [0, 1]
    assert np.bincount(seven.sources, minlength=8).tolist() == [0, 2, 5, 7, 7, 7, 7, 7]


def test_whether_mps_serves_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipes, processes = tmp_path / "pipes", tmp_path / "proc"
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(pipes))
    (processes / "12").mkdir(parents=True)
    (processes / "12" / "cmdline").write_bytes(b"/usr/bin/sleep\0nvidia-cuda-mps-control\0")
    assert is_served("HIP", processes) is None
    assert is_served("CUDA", processes) is False
    pipes.mkdir()
    (pipes / "control").touch()
    assert is_served("CUDA", processes) is None
    (processes / "34").mkdir()
    (processes / "34" / "cmdline").write_bytes(b"/usr/bin/nvidia-cuda-mps-control\0-d\0")
    assert is_served("CUDA", processes) is True
    gpu = {"name": "a GPU", "driver": "CUDA", "of_each_host": 1, "ranks_on_each": 8, "kernels": "precompiled"}
    said = "GPU: a GPU, 1 of each host; up to 8 ranks share each; kernels precompiled; "
    assert gpu_note(gpu | {"mps": True}) == said + "served by NVIDIA's MPS"
    assert gpu_note(gpu | {"mps": False}) == said + "without MPS"
    assert gpu_note(gpu | {"mps": None}) == said + "whether NVIDIA's MPS serves it cannot be told"
