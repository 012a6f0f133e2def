"""Memory use stays constant when buffers change: 100,000 calls reveal the smallest leak per
call."""

from __future__ import annotations

import pytest
from launching import BUILD, abi_of, run_ranks

pytestmark = pytest.mark.full

CALLS = {"halo": 100_000, "nonblocking": 100_000, "init": 2_000}
"""Each persistent request needs planning: far more work, and more memory if it leaks."""


@pytest.mark.parametrize("way", CALLS)
@pytest.mark.parametrize(("ranks", "strategy"), [(2, "direct"), (4, "aggregate")])
def test_rebinding_takes_no_memory(mpi: str, way: str, ranks: int, strategy: str) -> None:
    program = BUILD / "c_tests" / f"rebinding_{abi_of(mpi)}"
    calls = CALLS[way] if ranks == 2 else CALLS[way] // 20
    run_ranks(mpi, ranks, [program, way, calls, strategy], timeout=250)
