"""The Python interface on ranks: the cases under tests/mpi, on each MPI and number of ranks."""

from __future__ import annotations

import os
import sys

import pytest
from counting import Totals, check_cases
from launching import MANY_RANKS, RANKS, ROOT, numbers_of_ranks, pairs, requested_mpis, run_ranks

PATH = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "mpi")])


# `make test` uses one MPI: MPIs differ in the library only, whose tests run on both.
@pytest.mark.parametrize(("name", "ranks"), pairs(
    [(requested_mpis()[0], 3)], [requested_mpis(), [*RANKS, *MANY_RANKS]],
    lambda row: len(row) < 2 or row[1] in numbers_of_ranks(row[0])))
def test_cases(name: str, ranks: int, totals: Totals) -> None:
    program = [sys.executable, str(ROOT / "tests" / "mpi" / "run_cases.py")]
    result = run_ranks(name, ranks, program, env={"PYTHONPATH": PATH}, timeout=250, check=False)
    check_cases(result, f"python on {name}", totals)


AFTER_MPI = """
import numpy as np, vicinal
from mpi4py import MPI
comm = MPI.COMM_WORLD
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
x, y, everything = np.zeros(1), np.zeros(1), np.zeros(comm.size)
halo = vicinal.Halo(comm, (comm.rank, comm.rank + 1), [right])
graph = vicinal.Graph(comm, [left], [right])
request = graph.Neighbor_alltoallv_init(x, y)
persistent = halo.persistent(x, y)
vicinal.Allgather(comm, x, everything)
exchange, call = halo.start(x), graph.Ineighbor_alltoall(x, y)
comm.Barrier()
MPI.Finalize()
calls = {
    "Exchange.wait": exchange.wait, "Exchange.test": exchange.test, "Request.wait": call.wait, "Halo.wait": halo.wait,
    "Halo": lambda: vicinal.Halo(comm, (0, 1), []), "start": lambda: halo.start(x), "exchange": lambda: halo.exchange(x),
    "reverse": lambda: halo.reverse(x, y), "persistent": lambda: halo.persistent(x, y),
    "Graph": lambda: vicinal.Graph(comm, [], []), "complete": lambda: vicinal.Graph.complete(comm),
    "alltoall": lambda: graph.Neighbor_alltoall(x, y), "init": lambda: graph.Neighbor_alltoall_init(x, y),
    "Allgather": lambda: vicinal.Allgather(comm, x, everything), "Request.start": request.start, "wait": request.wait,
    "test": request.test, "persistent start": persistent.start, "sparse": lambda: vicinal.sparse_exchange(comm, {}),
    "query": lambda: vicinal.sparse_query(comm, {}, None), "set_regions": lambda: vicinal.set_regions(comm, "node"),
    "get_regions": lambda: vicinal.get_regions(comm), "wait_any": lambda: vicinal.wait_any([request]),
    "progress": vicinal.progress,
}
for name, call in calls.items():
    try:
        call()
    except vicinal.Error as error:
        assert "MPI_Finalize has been called" in str(error) and error.kind == "communicator", (name, error)
    else:
        raise AssertionError(name + " said nothing")
vicinal.dump()
assert halo.owned_count == 1 and halo.strategy and request.statistics
request.free(), persistent.free()
print("all told")
"""


@pytest.mark.full
def test_what_comes_after_mpi_is_told_in_words(mpi: str) -> None:
    """The library reports calls after MPI_Finalize itself, because MPI would end the program."""
    result = run_ranks(mpi, 2, [sys.executable, "-c", AFTER_MPI], env={"PYTHONPATH": PATH})
    assert result.output.count("all told") == 2, result.output


@pytest.mark.full
def test_a_missing_build_is_named(mpi: str) -> None:
    """The message names the MPI, and how to get a build for it."""
    code = (
        "import vicinal, vicinal._load as load; load.abi_of = lambda mpi: 'msmpi'\n"
        "from mpi4py import MPI\n"
        "try:\n    vicinal.Halo(MPI.COMM_WORLD, (0, 1), [])\n"
        "except ImportError as error:\n    print(error)"
    )
    result = run_ranks(mpi, 1, [sys.executable, "-c", code], env={"PYTHONPATH": PATH})
    assert "mpi4py runs on msmpi" in result.output and "pip install" in result.output, result.output
