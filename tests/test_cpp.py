"""The programs written in C++ and C, run as one pytest test per process; counting.py adds their cases up."""

from __future__ import annotations

import os

import pytest
from counting import Totals, check_cases, check_program
from launching import BUILD, ROOT, abi_of, mpis_and_ranks, mpis_that_give_way, requested_mpis, run_command, run_ranks

# The sanitizers see the MPI library's own leaks, which are not ours to mend.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
UNIT_PARTS = 4
C_TESTS = sorted(path.stem for path in (ROOT / "tests" / "c").glob("*.c"))
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))


@pytest.mark.parametrize("part", range(UNIT_PARTS))
def test_unit(part: int, totals: Totals) -> None:
    """In parts, for workers to share."""
    program = [str(BUILD / "bin" / "vicinal_unit_tests"), "", str(part), str(UNIT_PARTS)]
    check_cases(run_command(program, {**os.environ, **SANITIZERS}, 300), "vicinal_unit_tests", totals)


def run_engine(mpi: str, ranks: int, totals: Totals, cases: str = "", **variables: str) -> None:
    name = f"vicinal_engine_tests_{abi_of(mpi)}"
    command = [BUILD / "bin" / name, *([cases] if cases else [])]
    check_cases(run_ranks(mpi, ranks, command, env={**SANITIZERS, **variables}, timeout=280, check=False), name, totals)


@pytest.mark.parametrize(("name", "ranks"), mpis_and_ranks())
def test_engine(name: str, ranks: int, totals: Totals) -> None:
    run_engine(name, ranks, totals)


@pytest.mark.parametrize("ranks", [5, 12])
@pytest.mark.parametrize("cases", ["sparse_", "allgather", "alltoallv"])
def test_collectives_of_all_ranks(mpi: str, cases: str, ranks: int, totals: Totals) -> None:
    """Numbers of ranks that leave uneven regions, and rounds in which not all have something to pass on."""
    run_engine(mpi, ranks, totals, cases)


@pytest.mark.alone  # 4 ranks of 2 threads
def test_engine_with_a_progress_thread(mpi: str, totals: Totals) -> None:
    run_engine(mpi, 4, totals, VICINAL_PROGRESS_THREAD="1")


# All that plans move between the user's memory and their own goes by jobs that finish later.
KINDS_OF_JOBS = ["device", "delayed", "device-direct-shared"]


@pytest.mark.parametrize("memory", KINDS_OF_JOBS)
def test_engine_with_memory_of_jobs(mpi: str, memory: str, totals: Totals) -> None:
    run_engine(mpi, 1, totals, ENGINE_TESTS_MEMORY=memory)


@pytest.mark.alone
@pytest.mark.parametrize("memory", KINDS_OF_JOBS)
@pytest.mark.parametrize("name", (mpis_that_give_way() or requested_mpis())[:1])
def test_engine_with_memory_of_jobs_on_ranks(name: str, memory: str, totals: Totals) -> None:
    """With one MPI, which has no part in it: where ranks spin, it takes twice as long."""
    run_engine(name, 4, totals, ENGINE_TESTS_MEMORY=memory)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("program", C_TESTS)
def test_c(mpi: str, program: str, ranks: int, totals: Totals) -> None:
    name = f"{program}_{abi_of(mpi)}"
    result = run_ranks(mpi, ranks, [BUILD / "c_tests" / name], env=SANITIZERS, check=False)
    check_program(result, name, totals)


@pytest.mark.parametrize("program", EXAMPLES)
def test_example(mpi: str, program: str, totals: Totals) -> None:
    name = f"{program}_{abi_of(mpi)}"
    check_program(run_ranks(mpi, 4, [BUILD / "examples" / name], env=SANITIZERS, check=False), name, totals)
