"""All-to-alls in partitions, which threads mark ready while another thread waits."""

from __future__ import annotations

import threading

import numpy as np
import vicinal
from cases_graph import Edges, expected, fill
from harness import STRATEGIES, case, expect_error, region_kinds
from mpi4py import MPI
from vicinal import Settings


@case
def partitions_marked_by_threads(comm: MPI.Intracomm) -> None:
    for seed, strategy in enumerate(STRATEGIES):
        edges = Edges.random(comm, 500 + seed)
        settings = Settings(regions=region_kinds(comm.size)[seed % 3])
        graph = vicinal.Graph(comm, edges.sources, edges.destinations, settings=settings)
        sendcounts, recvcounts = 6 * edges.sendcounts, 6 * edges.recvcounts
        ready = np.array([1 + edge % 3 for edge in range(len(sendcounts))], np.int32)
        x, y = np.zeros(sendcounts.sum()), np.zeros(recvcounts.sum())
        places = np.cumsum(sendcounts) - sendcounts
        with graph.Neighbor_alltoallv_partitioned_init(
            [x, sendcounts], [y, recvcounts], ready, 2, strategy=strategy
        ) as request:
            for turn in range(3):
                made = fill(comm, len(x), turn)
                parts = [made[place : place + count] for place, count in zip(places, sendcounts, strict=True)]
                wanted = np.concatenate([np.empty(0), *expected(comm, edges, parts)])
                y[:], x[:] = -1, -2

                def make(edge: int, made: np.ndarray = made) -> None:
                    each = sendcounts[edge] // ready[edge]
                    for partition in reversed(range(ready[edge])):
                        first = places[edge] + partition * each
                        x[first : first + each] = made[first : first + each]
                        request.pready(edge, partition)

                request.start()
                threads = [threading.Thread(target=make, args=(edge,)) for edge in range(len(ready))]
                for thread in threads:
                    thread.start()
                request.wait()
                for thread in threads:
                    thread.join()
                np.testing.assert_array_equal(y, wanted)
                assert all(request.parrived(edge, 1) for edge in range(len(recvcounts)))


@case
def partitions_that_cannot_be(comm: MPI.Intracomm) -> None:
    rank = comm.rank
    graph = vicinal.Graph(comm, [rank], [rank])
    x, y = np.arange(6.0), np.zeros(6)
    init = graph.Neighbor_alltoallv_partitioned_init
    expect_error("count", "does not divide into 4", lambda: init([x, [6]], [y, [6]], 4, 1))
    expect_error("count", "is -1; give at least 1", lambda: init([x, [6]], [y, [6]], 1, [-7]))
    expect_error("argument", "recvpartitions has 2 numbers", lambda: init([x, [6]], [y, [6]], [1], [1, 1]))
    expect_error("count", "must be below 2**31", lambda: init([x, [6]], [y, [6]], 2**40, 1))
    expect_error("argument", "give whole numbers", lambda: init([x, [6]], [y, [6]], 0.5, 1))
    whole = graph.Neighbor_alltoallv_init([x, [6]], [y, [6]])
    expect_error("request", "has no partitions", lambda: whole.pready(0, 0))
    with init([x, [6]], [y, [6]], 3, 2) as request:
        expect_error("request", "is not in flight", lambda: request.pready(0, 0))
        request.start()
        expect_error("argument", "partition 3 of neighbor 0", lambda: request.pready(0, 3))
        request.pready_range(0, 0, 1)
        expect_error("request", "marked ready twice", lambda: request.pready(0, 1))
        assert not request.test()
        assert request.parrived(0, 0) and not request.parrived(0, 1)
        request.pready(0, 2)
        request.wait()
        np.testing.assert_array_equal(x, y)
