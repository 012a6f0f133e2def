"""Runs the C++ and C programs, one pytest test per process; counting.py adds up their cases."""

from __future__ import annotations

import os
from typing import Any

import pytest
from counting import Totals, check_cases, check_program
from launching import (
    BUILD,
    MANY_RANKS,
    RANKS,
    ROOT,
    abi_of,
    in_turn,
    mpis_that_give_way,
    numbers_of_ranks,
    pairs,
    quick_runs,
    requested_mpis,
    run_command,
    run_ranks,
)

# The sanitizers report leaks of the MPI library itself, which this project cannot fix.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
UNIT_PARTS = 4
C_TESTS = sorted(path.stem for path in (ROOT / "tests" / "c").glob("*.c"))
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))


@pytest.mark.parametrize("part", range(UNIT_PARTS))
def test_unit(part: int, totals: Totals) -> None:
    """Runs the unit tests in parts, which workers can share."""
    program = [str(BUILD / "bin" / "vicinal_unit_tests"), "", str(part), str(UNIT_PARTS)]
    check_cases(run_command(program, {**os.environ, **SANITIZERS}, 300), "vicinal_unit_tests", totals)


def run_engine(mpi: str, ranks: int, totals: Totals, cases: str = "", **variables: str) -> None:
    name = f"vicinal_engine_tests_{abi_of(mpi)}"
    command = [BUILD / "bin" / name, *([cases] if cases else [])]
    check_cases(run_ranks(mpi, ranks, command, env={**SANITIZERS, **variables}, timeout=280, check=False), name, totals)


# Except for host memory, plans copy between user memory and their own by jobs that finish later.
MEMORIES = ["host", "device", "delayed", "device-direct-shared"]
HAS_DELAYED = (mpis_that_give_way() or requested_mpis())[0]


def is_engine_run(row: list[Any]) -> bool:
    """Returns whether to run this row: two threads per rank, and memory with jobs, are slow on many
    ranks."""
    given = dict(zip(("name", "ranks", "threads", "memory"), row, strict=False))
    ranks = given.get("ranks", 1)
    plain = not given.get("threads") and given.get("memory", "host") == "host"
    return ranks in numbers_of_ranks(given["name"]) and (plain or ranks <= 4)


@pytest.mark.parametrize(("name", "ranks", "threads", "memory"), pairs(
    [*((name, ranks, "", "host") for name, ranks in quick_runs()), (HAS_DELAYED, 2, "", "delayed")],
    [requested_mpis(), [*RANKS, *MANY_RANKS], ["", "1"], MEMORIES], is_engine_run))
def test_engine(name: str, ranks: int, threads: str, memory: str, totals: Totals) -> None:
    thread = {"VICINAL_PROGRESS_THREAD": threads} if threads else {}
    run_engine(name, ranks, totals, ENGINE_TESTS_MEMORY=memory, **thread)


@pytest.mark.full
@pytest.mark.parametrize(("cases", "ranks", "name"), pairs([], [["sparse_", "allgather", "alltoallv"], [5, 12], requested_mpis()]))
def test_collectives_of_all_ranks(cases: str, ranks: int, name: str, totals: Totals) -> None:
    """Numbers of ranks with uneven regions, and with rounds in which some ranks have nothing to
    forward."""
    run_engine(name, ranks, totals, cases)


@pytest.mark.parametrize(("program", "ranks", "name"), pairs(
    [(program, 4, in_turn(requested_mpis(), number)) for number, program in enumerate(C_TESTS)],
    [C_TESTS, [1, 4], requested_mpis()]))
def test_c(program: str, ranks: int, name: str, totals: Totals) -> None:
    binary = f"{program}_{abi_of(name)}"
    check_program(run_ranks(name, ranks, [BUILD / "c_tests" / binary], env=SANITIZERS, check=False), binary, totals)


@pytest.mark.parametrize(("program", "name"), pairs(
    [(program, in_turn(requested_mpis(), number)) for number, program in enumerate(EXAMPLES)], [EXAMPLES, requested_mpis()]))
def test_example(program: str, name: str, totals: Totals) -> None:
    binary = f"{program}_{abi_of(name)}"
    check_program(run_ranks(name, 4, [BUILD / "examples" / binary], env=SANITIZERS, check=False), binary, totals)
