"""Runs legal programs that know nothing of vicinal with the preload library: they end with correct
values."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from launching import BUILD, QUIET, ROOT, abi_of, in_turn, pairs, requested_mpis, run_ranks
from preloading import needs_library, preloaded, program

PROGRAMS = sorted(path.stem for path in (ROOT / "tests" / "preload").glob("*.c*"))
WRONG_ALONE = {("topologies", "openmpi"), ("requests", "mpich")}
"""Programs that show a defect of the MPI itself."""

DOUBLE = str(BUILD / "lib" / "libvicinal_driver_double_cuda.so")
"""The simulated NVIDIA driver: neither the program nor MPI can access its memory."""
LEADERS = {"VICINAL_STRATEGY": "aggregate", "VICINAL_ALLGATHER": "hierarchical"}

pytestmark = needs_library


def logging(log: Path, **more: str) -> dict[str, str]:
    """Returns an environment with a log; the log of a served program has plans."""
    return preloaded(VICINAL_LOG=f"info:{log}", **more)


def plans_in(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if ": plan " in line]


PLACES = [(3, "blocks:2"), (4, "blocks:2"), (7, "round-robin:3")]
QUICK = [(name, (4, "blocks:2"), "", in_turn(requested_mpis(), number))
         for number, name in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("name", "place", "threads", "mpi"), pairs(QUICK, [PROGRAMS, PLACES, ["", "1"], requested_mpis()]))
def test_program(name: str, place: tuple[int, str], threads: str, mpi: str, tmp_path: Path) -> None:
    """Communication by leaders, on which other ranks depend wherever these wait."""
    ranks, regions = place
    if abi_of(mpi) == "mpich" and ranks == 7 and threads:
        # The MPI's waiting ranks and the library's threads do not yield the core to each other.
        ranks, regions = 3, "round-robin:2"
    environment = logging(tmp_path / "log", VICINAL_REGIONS=regions, WITH_VICINAL="1", **LEADERS)
    if threads:
        environment["THREADS"] = threads
    result = run_ranks(mpi, ranks, [program(name, mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    assert "runs without vicinal" not in result.output  # a program that is left to MPI is no error
    plans = plans_in(tmp_path / "log")
    assert any("through shared memory" in plan for plan in plans)


@pytest.mark.full
@pytest.mark.parametrize("threads", ["", "1"], ids=["", "threads"])
def test_freed_memory_is_not_used(mpi: str, threads: str) -> None:
    """Freed memory is overwritten.

    MPI calls the library during its progress, recursively from there, and when it deletes a
    communicator.
    """
    environment = preloaded(MALLOC_PERTURB_="165", **({"THREADS": threads} if threads else {}))
    result = run_ranks(mpi, 4, [program("freeing", mpi)], env=environment, timeout=60)
    assert "right" in result.output.splitlines()


@pytest.mark.full
@pytest.mark.parametrize(("waits", "threads"), [("processes", ""), ("processes", "1"), ("access", "1")])
def test_waiting(mpi: str, waits: str, threads: str, tmp_path: Path) -> None:
    """Waits in which an MPI makes no progress. MPICH makes none while it waits for access, so a
    thread must."""
    environment = logging(tmp_path / "log", WAITS=waits, **LEADERS)
    if threads:
        environment["THREADS"] = threads
    result = run_ranks(mpi, 4, [program("waiting", mpi)], env=environment, timeout=60)
    assert "right" in result.output.splitlines()
    assert any("through shared memory" in plan for plan in plans_in(tmp_path / "log"))


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_standard_abi(name: str, tmp_path: Path) -> None:
    """MPICH's build of the ABI has no progress callbacks: a thread of the library makes
    progress."""
    binary = BUILD / "preload" / f"{name}_preload_abi"
    if not binary.exists():
        pytest.skip("no MPI of the standard ABI was there when vicinal was built")
    environment = logging(tmp_path / "log", WITH_VICINAL="1", **LEADERS)
    result = run_ranks("mpich", 3, [binary], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    assert plans_in(tmp_path / "log")


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_strict_progress_is_left_to_mpi(mpi: str, name: str, tmp_path: Path) -> None:
    if (name, abi_of(mpi)) in WRONG_ALONE:
        pytest.skip("this MPI is wrong by itself")
    environment = logging(tmp_path / "log", VICINAL_PROGRESS="strict")
    result = run_ranks(mpi, 4, [program(name, mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    assert not plans_in(tmp_path / "log")


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_region_is_left_to_mpi(mpi: str, name: str, tmp_path: Path) -> None:
    """A single region has nothing to gain, but the library still works around defects of the
    MPI."""
    if (name, abi_of(mpi)) == ("requests", "mpich"):
        pytest.skip("MPICH fails in MPI_Testall of persistent collectives")
    environment = logging(tmp_path / "log")
    del environment["VICINAL_REGIONS"]
    result = run_ranks(mpi, 4, [program(name, mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    plans = plans_in(tmp_path / "log") if (tmp_path / "log").exists() else []
    assert bool(plans) == ((name, abi_of(mpi)) == ("topologies", "openmpi"))


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_is_right_alone(mpi: str, name: str) -> None:
    """The programs are legal: the MPI alone gives the same results, except for the defects that
    they show."""
    if (name, abi_of(mpi)) in WRONG_ALONE:
        pytest.skip("this MPI is wrong by itself")
    assert "right" in run_ranks(mpi, 4, [program(name, mpi)], env=QUIET, timeout=120).output.splitlines()


@pytest.mark.full
@pytest.mark.parametrize(("ranks", "strategy"), [(3, "automatic"), (4, "aggregate"), (4, "direct")])
def test_buffers_on_a_device(mpi: str, ranks: int, strategy: str) -> None:
    """MPI never gets a device buffer that it cannot access."""
    environment = preloaded(VICINAL_DEVICE_DRIVER=DOUBLE, XDG_CACHE_HOME="nowhere", VICINAL_STRATEGY=strategy)
    result = run_ranks(mpi, ranks, [program("device_buffers", mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()


@pytest.mark.full
def test_persistent_allgathers_set_up_a_communicator(mpi: str, tmp_path: Path) -> None:
    environment = logging(tmp_path / "log", WITH_VICINAL="1", PERSISTENT_FIRST="1", **LEADERS)
    result = run_ranks(mpi, 4, [program("allgathers", mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()


def test_a_process_without_mpi_loads_nothing() -> None:
    import subprocess

    maps = subprocess.run(
        ["cat", "/proc/self/maps"], env={**os.environ, **preloaded()}, capture_output=True, text=True, check=True
    ).stdout
    assert "libvicinal_mpi.so" in maps
    assert "libmpi" not in maps and "libvicinal_mpi-" not in maps
