"""The planner in use when it is measured, remembered or biased, or when the named one cannot
serve."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import vicinal
from harness import case, expect_error, skip
from mpi4py import MPI
from vicinal import Settings

SETTLED = 220
"""Number of executions after which a contest of four alternatives is over."""


def ring(comm: MPI.Intracomm, regions: str = "blocks:2") -> vicinal.Graph:
    """Returns a graph with two neighbors on either side; from four ranks on, relaying saves
    messages."""
    shifts = (-2, -1, 1, 2)
    sources = [(comm.rank - shift) % comm.size for shift in shifts]
    destinations = [(comm.rank + shift) % comm.size for shift in shifts]
    return vicinal.Graph(comm, sources, destinations, settings=Settings(regions=regions))


def exchange(comm: MPI.Intracomm, request: vicinal.Request, x: Any, y: Any, turns: int) -> None:
    for turn in range(turns):
        x[:] = 100 * comm.rank + np.arange(4) + 10000 * turn
        y[:] = -1
        request.start()
        request.wait()
        shifts = (-2, -1, 1, 2)
        wanted = [100 * ((comm.rank - shift) % comm.size) + i + 10000 * turn for i, shift in enumerate(shifts)]
        assert y.tolist() == wanted, (y, wanted, turn)


def strategy_of(comm: MPI.Intracomm, graph: vicinal.Graph, turns: int = 2, **settings: Any) -> str:
    """Returns the strategy after some executions, which must be equal on all ranks."""
    x, y = np.zeros(4), np.zeros(4)
    with graph.Neighbor_alltoall_init(x, y, settings=Settings(**settings)) as request:
        exchange(comm, request, x, y, turns)
        found = comm.allgather(request.strategy)
    assert len(set(found)) == 1, found
    return found[0]


@contextmanager
def file_of_rank_0(comm: MPI.Intracomm) -> Iterator[Path]:
    """Yields a path that leads to a file on rank 0 only; on other ranks its folder does not
    exist."""
    before = Path.cwd()
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    if comm.rank != 0:
        shutil.rmtree(folder)
    try:
        yield Path("wisdom")
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def times_in(comm: MPI.Intracomm, path: Path) -> dict[str, int]:
    """Returns the times in the file's last entry."""
    text = path.read_text() if comm.rank == 0 else None
    lines = comm.bcast(text).splitlines()
    assert lines[0] == "vicinal wisdom 1" and lines[-1] == f"end {len(lines) - 2}", lines
    return {name: int(time) for name, time in (each.split("=") for each in lines[-2].split("\t")[0].split())}


@case
def wisdom_says_which_planner_is_taken(comm: MPI.Intracomm) -> None:
    if comm.size < 4:
        skip("needs 4 ranks")
    graph = ring(comm)
    with file_of_rank_0(comm) as path:
        measured = strategy_of(comm, graph, choice="measure", wisdom=path)
        times = times_in(comm, path)
        assert 1 <= len(times) <= 4 and all(time > 0 for time in times.values()), times
        # A lead of less than 2 % over the estimate's plan changes nothing.
        assert times[measured] <= 1.03 * min(times.values()), (measured, times)
        for chosen in times:
            if comm.rank == 0:
                entry = " ".join(f"{name}={1000 + (name != chosen)}" for name in times)
                key = path.read_text().splitlines()[1].split("\t")[1]
                path.write_text(f"vicinal wisdom 1\n{entry}\t{key}\nend 1\n")
            for choice in "estimate", "measure", "adaptive":
                assert strategy_of(comm, graph, choice=choice, wisdom=path) == chosen
            biased = {name: 0.5 for name in times if name != chosen}
            assert not biased or strategy_of(comm, graph, wisdom=path, bias=biased) != chosen
            assert times_in(comm, path)[chosen] == 1000, "nothing was measured"
        # The file does not know this other pattern, and an estimate adds nothing to the file.
        assert strategy_of(comm, ring(comm, "round-robin:2"), wisdom=path) == "automatic"
        assert times_in(comm, path)[chosen] == 1000


@case
def wisdom_that_is_damaged_is_measured_anew(comm: MPI.Intracomm) -> None:
    if comm.size < 4:
        skip("needs 4 ranks")
    graph = ring(comm)
    with file_of_rank_0(comm) as path:
        strategy_of(comm, graph, choice="measure", wisdom=path)
        length = comm.bcast(path.stat().st_size if comm.rank == 0 else None)
        for at in (0, 5, 17, 30, length - 7, length - 1):
            if comm.rank == 0:
                os.truncate(path, at)
            strategy_of(comm, graph, choice="measure", wisdom=path)
            assert times_in(comm, path)


@case
def measuring_while_running_ends_alike(comm: MPI.Intracomm) -> None:
    with file_of_rank_0(comm) as path:
        for regions in "blocks:2", "round-robin:3", "blocks:1":
            graph = ring(comm, regions)
            found = strategy_of(comm, graph, SETTLED, choice="adaptive", wisdom=path)
            assert found in ("automatic", "direct", "aggregate", "split", "two-step"), found
            # The file exists only after a contest; then it knows the decision.
            known = comm.bcast(path.exists() if comm.rank == 0 else None)
            if known and regions == "blocks:2":
                times = times_in(comm, path)
                # A lead of less than 2 % changes nothing, and the file has times of different
                # heats.
                alike = [name for name, time in times.items() if time <= 1.5 * min(times.values())]
                assert found in alike, (found, times)
                assert strategy_of(comm, graph, wisdom=path) in alike, (found, times)
            if comm.rank == 0:
                path.unlink(missing_ok=True)


@case
def allgathers_are_measured(comm: MPI.Intracomm) -> None:
    everybody = np.arange(comm.size)
    complete = vicinal.Graph.complete(comm, settings=Settings(regions="blocks:2"))
    neighbors = vicinal.Graph(comm, everybody, everybody, settings=Settings(regions="blocks:2"))
    x, y = np.zeros(3), np.zeros(3 * comm.size)
    for graph in complete, neighbors:
        for choice in "measure", "adaptive":
            with graph.Neighbor_allgather_init(x, y, settings=Settings(choice=choice)) as request:
                for turn in range(SETTLED):
                    x[:] = comm.rank + 1000 * turn + np.arange(3) / 10
                    request.start()
                    request.wait()
                    assert (y.reshape(-1, 3) == everybody[:, None] + 1000 * turn + np.arange(3) / 10).all(), (choice, turn)
                found = comm.allgather(request.strategy)
                assert len(set(found)) == 1, found


@case
def partitions_are_not_measured(comm: MPI.Intracomm) -> None:
    graph = ring(comm)
    x, y = np.arange(8.0), np.zeros(8)
    one = [2] * 4
    measured = Settings(choice="measure")
    with graph.Neighbor_alltoallv_partitioned_init([x, one], [y, one], 2, 1, settings=measured) as request:
        assert request.strategy == "automatic"
        request.start()
        for neighbor in range(4):
            request.pready(neighbor, 0)
            request.pready(neighbor, 1)
        request.wait()
    assert y.tolist() == x.tolist(), y


@case
def strategies_that_cannot_serve_leave_it_to_automatic(comm: MPI.Intracomm) -> None:
    ends = [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size]
    x, y = np.array([comm.rank + 1.0]), np.zeros(1)
    graph = vicinal.Graph(comm, *ends, strategy="distance-halving")
    more: list[dict[str, Any]] = [{}, {"settings": Settings(choice="measure")}, {"strategy": "distance-halving"}]
    for each in more:
        with graph.Neighbor_alltoall_init(x, y, **each) as request:
            assert request.strategy != "distance-halving"
            request.start()
            request.wait()
            assert y[0] == ends[0][0] + 1
    graph.Neighbor_alltoall(x, y)
    with graph.Neighbor_allgather_init(x, y) as request:
        assert request.strategy == "distance-halving"
    # A strategy that is named for this exchange alone must serve it.
    plain = vicinal.Graph(comm, *ends)
    refused = "'distance-halving' serves allgathers only"
    expect_error("info", refused, lambda: plain.Neighbor_alltoall_init(x, y, strategy="distance-halving"))
    owned, needed = (comm.rank, comm.rank + 1), [ends[1][0]]
    refused = "'distance-halving' cannot serve an exchange with a reverse"
    expect_error("info", refused, lambda: vicinal.Halo(comm, owned, needed, strategy="distance-halving"))
