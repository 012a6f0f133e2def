"""The programs written in C++ and C, run as one pytest test per process.

Each prints `ok NAME` or `FAILED NAME: why` per case and ends with `N passed, N failed`.  A program
that ends without that last line has died, whatever its exit status says.
"""

from __future__ import annotations

import os
import re

import pytest
from launching import BUILD, RANKS, ROOT, Result, abi_of, run_command, run_ranks

# The sanitizers see the MPI library's own leaks, which are not ours to mend.
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)
C_TESTS = sorted(path.stem for path in (ROOT / "tests" / "c").glob("*.c"))
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))


def check_cases(result: Result, name: str, totals: dict[str, list[int]]) -> None:
    """Fail with the failed cases' own lines, or with all the output when there are none."""
    closing = CLOSING.findall(result.output)
    assert closing, f"{name} ended with {result.code} and without its totals; it printed:\n{result.output}"
    passed, failed = (sum(int(line[column]) for line in closing) for column in (0, 1))
    total = totals.setdefault(name, [0, 0])
    total[0] += passed
    total[1] += failed
    faults = [line for line in result.output.splitlines() if "FAILED" in line]
    assert not faults and failed == 0, "\n".join([f"{name}:", *faults])
    assert result.code == 0, f"{name} ended with {result.code}; it printed:\n{result.output}"
    assert passed > 0, f"{name} ran no case"


def test_unit(totals: dict[str, list[int]]) -> None:
    program = str(BUILD / "bin" / "vicinal_unit_tests")
    check_cases(run_command([program], {**os.environ, **SANITIZERS}, 280), "vicinal_unit_tests", totals)


@pytest.mark.parametrize("ranks", RANKS)
def test_engine(mpi: str, ranks: int, totals: dict[str, list[int]]) -> None:
    name = f"vicinal_engine_tests_{abi_of(mpi)}"
    result = run_ranks(mpi, ranks, [BUILD / "bin" / name], env=SANITIZERS, timeout=280, check=False)
    check_cases(result, name, totals)


@pytest.mark.parametrize("ranks", [5, 12])
@pytest.mark.parametrize("cases", ["sparse_", "allgather"])
def test_collectives_of_all_ranks(mpi: str, cases: str, ranks: int, totals: dict[str, list[int]]) -> None:
    """Numbers of ranks that leave uneven regions, and rounds in which not all have something to pass on."""
    name = f"vicinal_engine_tests_{abi_of(mpi)}"
    result = run_ranks(mpi, ranks, [BUILD / "bin" / name, cases], env=SANITIZERS, timeout=280, check=False)
    check_cases(result, name, totals)


def test_engine_with_a_progress_thread(mpi: str, totals: dict[str, list[int]]) -> None:
    name = f"vicinal_engine_tests_{abi_of(mpi)}"
    environment = {**SANITIZERS, "VICINAL_PROGRESS_THREAD": "1"}
    result = run_ranks(mpi, 4, [BUILD / "bin" / name], env=environment, timeout=280, check=False)
    check_cases(result, name, totals)


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("program", C_TESTS)
def test_c(mpi: str, program: str, ranks: int) -> None:
    run_ranks(mpi, ranks, [BUILD / "c_tests" / f"{program}_{abi_of(mpi)}"], env=SANITIZERS)


@pytest.mark.parametrize("program", EXAMPLES)
def test_example(mpi: str, program: str) -> None:
    run_ranks(mpi, 4, [BUILD / "examples" / f"{program}_{abi_of(mpi)}"], env=SANITIZERS)
