"""The Python interface on ranks: the cases under tests/mpi, on each MPI at each number of ranks."""

from __future__ import annotations

import os
import sys

import pytest
from counting import Totals, check_cases
from launching import MANY_RANKS, RANKS, ROOT, numbers_of_ranks, pairs, requested_mpis, run_ranks

PATH = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "mpi")])


# In `make test` on one MPI: what differs between them is in the library, whose tests run on both.
@pytest.mark.parametrize(("name", "ranks"), pairs(
    [(requested_mpis()[0], 3)], [requested_mpis(), [*RANKS, *MANY_RANKS]],
    lambda row: len(row) < 2 or row[1] in numbers_of_ranks(row[0])))
def test_cases(name: str, ranks: int, totals: Totals) -> None:
    program = [sys.executable, str(ROOT / "tests" / "mpi" / "run_cases.py")]
    result = run_ranks(name, ranks, program, env={"PYTHONPATH": PATH}, timeout=250, check=False)
    check_cases(result, f"python on {name}", totals)


@pytest.mark.full
def test_a_missing_build_is_named(mpi: str) -> None:
    """The message says which MPI it is, and how to get what fits."""
    code = (
        "import vicinal, vicinal._load as load; load.abi_of = lambda mpi: 'msmpi'\n"
        "from mpi4py import MPI\n"
        "try:\n    vicinal.Halo(MPI.COMM_WORLD, (0, 1), [])\n"
        "except ImportError as error:\n    print(error)"
    )
    result = run_ranks(mpi, 1, [sys.executable, "-c", code], env={"PYTHONPATH": PATH})
    assert "mpi4py runs on msmpi" in result.output and "pip install" in result.output, result.output
