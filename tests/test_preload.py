"""Programs that know nothing of vicinal, with the preload library before them: legal ones end, with the right values."""

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
"""What these show the MPI itself does wrong."""

DOUBLE = str(BUILD / "lib" / "libvicinal_driver_double_cuda.so")
"""Of NVIDIA's driver: its memory is where neither the program nor MPI can touch it."""
LEADERS = {"VICINAL_STRATEGY": "aggregate", "VICINAL_ALLGATHER": "hierarchical"}

pytestmark = needs_library


def logging(log: Path, **more: str) -> dict[str, str]:
    """What is served has plans in the log."""
    return preloaded(VICINAL_LOG=f"info:{log}", **more)


def plans_in(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if ": plan " in line]


PLACES = [(3, "blocks:2"), (4, "blocks:2"), (7, "round-robin:3")]
QUICK = [(name, (4, "blocks:2"), "", in_turn(requested_mpis(), number))
         for number, name in enumerate(PROGRAMS) if name != "out_of_memory"]


def is_run(row: list[Any]) -> bool:
    """One program takes as long as many others, and has each of its calls fail in turn on any number of ranks."""
    return len(row) < 2 or row[0] != "out_of_memory" or row[1][0] == 4


@pytest.mark.parametrize(("name", "place", "threads", "mpi"), pairs(QUICK, [PROGRAMS, PLACES, ["", "1"], requested_mpis()], is_run))
def test_program(name: str, place: tuple[int, str], threads: str, mpi: str, tmp_path: Path) -> None:
    """By leaders, on which other ranks depend wherever they wait."""
    ranks, regions = place
    if abi_of(mpi) == "mpich" and ranks == 7 and threads:
        ranks, regions = 3, "round-robin:2"  # its ranks and our threads do not give the core to each other
    environment = logging(tmp_path / "log", VICINAL_REGIONS=regions, WITH_VICINAL="1", **LEADERS)
    if threads:
        environment["THREADS"] = threads
    result = run_ranks(mpi, ranks, [program(name, mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    assert "runs without vicinal" not in result.output  # what is left to MPI is nobody's fault
    plans = plans_in(tmp_path / "log")
    assert any("through shared memory" in plan for plan in plans)


@pytest.mark.full
@pytest.mark.parametrize("threads", ["", "1"], ids=["", "threads"])
def test_freed_memory_is_not_used(mpi: str, threads: str) -> None:
    """It is overwritten. MPI calls the library from inside its progress, again from inside that, and when it deletes a communicator."""
    environment = preloaded(MALLOC_PERTURB_="165", **({"THREADS": threads} if threads else {}))
    result = run_ranks(mpi, 4, [program("freeing", mpi)], env=environment, timeout=60)
    assert "right" in result.output.splitlines()


@pytest.mark.full
@pytest.mark.parametrize(("waits", "threads"), [("processes", ""), ("processes", "1"), ("access", "1")])
def test_waiting(mpi: str, waits: str, threads: str, tmp_path: Path) -> None:
    """Where an MPI does not make progress. MPICH makes none while it waits for access, so that a thread must."""
    environment = logging(tmp_path / "log", WAITS=waits, **LEADERS)
    if threads:
        environment["THREADS"] = threads
    result = run_ranks(mpi, 4, [program("waiting", mpi)], env=environment, timeout=60)
    assert "right" in result.output.splitlines()
    assert any("through shared memory" in plan for plan in plans_in(tmp_path / "log"))


@pytest.mark.check_all
@pytest.mark.parametrize("first", range(1, 16, 3))
def test_the_first_objects_of_a_process_may_fail(mpi: str, first: int) -> None:
    """Three of them, each on a rank of its own that waits for the fourth."""
    result = run_ranks(mpi, 4, [program("out_of_memory", mpi)], env=preloaded(FIRST_OBJECT=str(first)), timeout=60)
    assert "right" in result.output.splitlines()


@pytest.mark.check_all
@pytest.mark.parametrize("in_a_row", [1, 12])
@pytest.mark.parametrize("strategy", ["direct", "aggregate"])
def test_calls_may_have_no_memory_for_any_of_their_objects(mpi: str, strategy: str, in_a_row: int) -> None:
    """Nor for what comes next, with which the others are told of it."""
    environment = preloaded(IN_CALLS=str(in_a_row), VICINAL_REGIONS="blocks:2", VICINAL_STRATEGY=strategy)
    result = run_ranks(mpi, 4, [program("out_of_memory", mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()


@pytest.mark.check_all
def test_what_is_noted_for_a_report_may_have_no_memory(mpi: str, tmp_path: Path) -> None:
    """Whose turn a call is, all ranks count alike; and all give what they have noted to the first."""
    report = tmp_path / "report"
    environment = preloaded(REPORTED="1", VICINAL_REGIONS="blocks:2", VICINAL_REPORT=str(report), VICINAL_REPORT_MPI="2")
    result = run_ranks(mpi, 4, [program("out_of_memory", mpi)], env=environment, timeout=120)
    assert "right" in result.output.splitlines()
    made_by = {it["made_by"] for it in json.loads(report.read_text())["communicators"]}
    assert {"MPI_Dist_graph_create_adjacent", "MPI_Cart_sub"} <= made_by


@pytest.mark.check_all
def test_what_mpi_is_given_for_comparison_may_have_no_memory(mpi: str, tmp_path: Path) -> None:
    """What lies on a device is brought to the host for it; the other ranks are in the call already."""
    environment = preloaded(
        BY_MPI="1",
        VICINAL_REGIONS="blocks:2",
        VICINAL_DEVICE_DRIVER=DOUBLE,
        XDG_CACHE_HOME="nowhere",
        VICINAL_REPORT=str(tmp_path / "report"),
        VICINAL_REPORT_MPI="1",
    )
    result = run_ranks(mpi, 4, [program("out_of_memory", mpi)], env=environment, timeout=60)
    assert "right" in result.output.splitlines()


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_standard_abi(name: str, tmp_path: Path) -> None:
    """MPICH's build of it calls nobody from inside its progress: a thread of the library's own brings things on."""
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
    """Nothing is to be gained there; but what the MPI does wrong is mended."""
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
    """The programs are legal: the MPI by itself does the same, where it does not have the faults that they show."""
    if (name, abi_of(mpi)) in WRONG_ALONE:
        pytest.skip("this MPI is wrong by itself")
    assert "right" in run_ranks(mpi, 4, [program(name, mpi)], env=QUIET, timeout=120).output.splitlines()


@pytest.mark.full
@pytest.mark.parametrize("compared", [False, True], ids=["", "compared"])
@pytest.mark.parametrize(("ranks", "strategy"), [(3, "automatic"), (4, "aggregate"), (4, "direct")])
def test_buffers_on_a_device(mpi: str, ranks: int, strategy: str, compared: bool, tmp_path: Path) -> None:
    """MPI does not reach them, and is given none of them: also where it carries calls out for comparison."""
    more = {"VICINAL_REPORT": str(tmp_path / "report.json"), "VICINAL_REPORT_MPI": "3"} if compared else {}
    environment = preloaded(VICINAL_DEVICE_DRIVER=DOUBLE, XDG_CACHE_HOME="nowhere", VICINAL_STRATEGY=strategy, **more)
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
