"""Some seconds of the fuzzer: one seed that stays, and one that is new each time (its total names it)."""

from __future__ import annotations

import random

import pytest
from launching import BUILD, abi_of, run_ranks
from test_cpp import SANITIZERS, check_cases

FRESH = random.SystemRandom().randrange(10**9)
# Open MPI's UCX windows complain about themselves each time one is made.
ENVIRONMENT = {**SANITIZERS, "OMPI_MCA_osc": "^ucx"}


@pytest.mark.parametrize(("seed", "ranks"), [(1, 4), (FRESH, 3)], ids=["fixed", "fresh"])
def test_fuzz(mpi: str, seed: int, ranks: int, totals: dict[str, list[int]]) -> None:
    program = BUILD / "bin" / f"vicinal_fuzz_{abi_of(mpi)}"
    words = [program, "--seed", seed, "--seconds", 2.5, "--cases", 200]
    result = run_ranks(mpi, ranks, words, env=ENVIRONMENT, timeout=150, check=False)
    assert result.code == 0, f"on {mpi}, {ranks} ranks:\n{result.output}"
    check_cases(result, f"fuzz on {mpi}, seed {seed}", totals)
