"""Runs the fuzzer for some seconds, with a fixed seed and with a new one (which the total's name
shows)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from counting import Totals
from launching import BUILD, abi_of, run_ranks
from preloading import needs_library, preloaded
from test_cpp import SANITIZERS, check_cases

# within its seconds, the fuzzer runs as many cases as it can
pytestmark = [pytest.mark.full, pytest.mark.alone]
FRESH = random.SystemRandom().randrange(10**9)


@pytest.mark.parametrize(("seed", "ranks"), [(1, 4), (FRESH, 3)], ids=["fixed", "fresh"])
def test_fuzz(mpi: str, seed: int, ranks: int, totals: dict[str, list[int]]) -> None:
    program = BUILD / "bin" / f"vicinal_fuzz_{abi_of(mpi)}"
    words = [program, "--seed", seed, "--seconds", 2.5, "--cases", 200]
    result = run_ranks(mpi, ranks, words, env=SANITIZERS, timeout=150, check=False)
    assert result.code == 0, f"on {mpi}, {ranks} ranks:\n{result.output}"
    check_cases(result, f"fuzz on {mpi}, seed {seed}", totals)


@needs_library
@pytest.mark.parametrize("family", ["unmodified", "programs"])
@pytest.mark.parametrize(("seed", "ranks"), [(2, 4), (FRESH, 3)], ids=["fixed", "fresh"])
def test_fuzz_of_unmodified_programs(
    mpi: str, family: str, seed: int, ranks: int, totals: Totals, tmp_path: Path,
) -> None:
    """Calls by MPI's own names, with the preload library; the fixed seed has one thread."""
    program = BUILD / "bin" / f"vicinal_fuzz_{abi_of(mpi)}"
    words = [program, "--family", family, "--seed", seed, "--seconds", 2.5, "--cases", 100]
    log = tmp_path / "log"
    environment = {**SANITIZERS, **preloaded(VICINAL_LOG=f"info:{log}", MALLOC_PERTURB_="165")}
    result = run_ranks(mpi, ranks, words, env=environment, timeout=150, check=False)
    assert result.code == 0, f"on {mpi}, {ranks} ranks:\n{result.output}"
    check_cases(result, f"fuzz of {family} on {mpi}, seed {seed}", totals)
    if seed == 2:  # another seed may have small loops only
        assert ": plan " in log.read_text()
