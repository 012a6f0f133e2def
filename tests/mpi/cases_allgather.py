"""Allgathers over a communicator, compared with the values that each rank is known to send."""

from __future__ import annotations

from typing import Any

import numpy as np
import vicinal
from cases_family import run_forms, verifier
from harness import case, expect_error, region_kinds
from mpi4py import MPI
from vicinal import Settings, _core

OTHERS = [name for name, _ in [*_core.strategies(), *_core.strategies(one_block=False, complete=True)]]
PLANNERS = [name for name, _ in _core.strategies(complete=True) if name not in OTHERS]


@case
def complete_graphs_by_every_planner(comm: MPI.Intracomm) -> None:
    assert len(PLANNERS) == 7, PLANNERS
    kinds = [*region_kinds(comm.size), "blocks:4/blocks:2"]
    counts = [(rank * 5) % 4 for rank in range(comm.size)]
    whole = np.concatenate([rank * 10 + np.arange(count) for rank, count in enumerate(counts)])
    for turn, planner in enumerate(PLANNERS):
        graph = vicinal.Graph.complete(
            comm,
            settings=Settings(allgather=planner, regions=kinds[turn % 4], local="shared" if turn % 3 else "messages"),
        )
        assert graph.sources.tolist() == list(range(comm.size))
        y = np.empty(comm.size, np.int64)
        run_forms(graph, "allgather", np.array([comm.rank + 7]), y, verifier(y, np.arange(comm.size) + 7))
        y = np.empty(len(whole), np.int64)
        x = comm.rank * 10 + np.arange(counts[comm.rank])
        run_forms(graph, "allgatherv", x, [y, counts], verifier(y, whole))
        with graph.Neighbor_allgather_init(x[:0], y[:0]) as request:
            assert request.strategy == planner
        with graph.Neighbor_allgather_init(x[:0], y[:0], strategy="aggregate") as request:
            assert request.strategy == "aggregate"
        # Alltoalls use the strategy.
        x, y = np.arange(comm.size) + 100 * comm.rank, np.empty(comm.size, np.int64)
        graph.Neighbor_alltoall(x, y)
        assert y.tolist() == [100 * rank + comm.rank for rank in range(comm.size)]


@case
def the_communicators_own(comm: MPI.Intracomm) -> None:
    counts = [1 + rank % 3 for rank in range(comm.size)]
    places = np.cumsum(counts) - counts
    everybody, whole = np.arange(comm.size, dtype=float), np.repeat(np.arange(comm.size, dtype=float), counts)
    for regions in region_kinds(comm.size):
        vicinal.set_regions(comm, regions)
        x, y = np.array([float(comm.rank)]), np.empty(comm.size)
        xs, ys = np.full(counts[comm.rank], float(comm.rank)), np.empty(len(whole))
        vicinal.Allgather(comm, x, y)
        assert (y == everybody).all()
        vicinal.Allgatherv(comm, xs, [ys, counts])
        assert (ys == whole).all()
        y[:], ys[:] = -1, -1
        started = [vicinal.Iallgather(comm, x, y), vicinal.Iallgatherv(comm, xs, [ys, counts, places, MPI.DOUBLE])]
        while vicinal.wait_any(started) is not None:
            pass
        assert (y == everybody).all() and (ys == whole).all()
        for strategy in ("locality-bruck", "aggregate"):
            one = vicinal.Allgather_init(comm, x, y, strategy=strategy)
            other = vicinal.Allgatherv_init(comm, xs, [ys, counts], strategy=strategy)
            with one, other:
                assert one.strategy == other.strategy == strategy
                for _ in range(3):
                    y[:], ys[:] = -1, -1
                    one.start()
                    other.start()
                    other.wait()
                    one.wait()
                    assert (y == everybody).all() and (ys == whole).all()


@case
def in_place(comm: MPI.Intracomm) -> None:
    counts = [2 + rank % 2 for rank in range(comm.size)]
    places = np.cumsum(counts) - counts
    whole = np.arange(sum(counts), dtype=np.int32)

    def own(blocks: Any, first: int, count: int) -> Any:
        blocks[:] = -1
        blocks[first : first + count] = np.arange(first, first + count)
        return blocks

    y = np.empty(3 * comm.size, np.int32)
    vicinal.Allgather(comm, MPI.IN_PLACE, own(y, 3 * comm.rank, 3))
    assert (y == np.arange(3 * comm.size)).all()
    ys = np.empty(len(whole), np.int32)
    mine = int(places[comm.rank]), counts[comm.rank]
    vicinal.Allgatherv(comm, MPI.IN_PLACE, [own(ys, *mine), counts])
    assert (ys == whole).all()
    with vicinal.Allgatherv_init(comm, MPI.IN_PLACE, [ys, counts]) as request:
        own(ys, *mine)
        request.start()
        request.wait()
    assert (ys == whole).all()


@case
def what_is_refused(comm: MPI.Intracomm) -> None:
    everybody = np.arange(comm.size)
    graph = vicinal.Graph(comm, everybody, everybody)
    x, y = np.zeros(1), np.zeros(comm.size)
    expect_error("buffer", "complete graph", lambda: graph.Neighbor_allgather_init(MPI.IN_PLACE, y))
    expect_error(
        "info", "over a whole communicator only", lambda: graph.Neighbor_allgather_init(x, y, strategy="ring")
    )
    words = "vicinal_allgather is 'rings', but 'direct', 'nearest-first'"
    expect_error("info", words, lambda: vicinal.Allgather_init(comm, x, y, strategy="rings"))
    words = "give it to a complete graph, or name the planner by strategy"
    ring = Settings(allgather="ring")
    expect_error("argument", words, lambda: vicinal.Allgather_init(comm, x, y, settings=ring))
    expect_error("argument", "give it to a complete graph", lambda: vicinal.Graph(comm, [], [], settings=ring))
