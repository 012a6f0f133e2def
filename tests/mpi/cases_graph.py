"""Persistent neighborhood all-to-alls, compared with data that all ranks gather, and with MPI's
own."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import vicinal
from harness import STRATEGIES, case, expect_error, region_kinds, skip, some_settings
from mpi4py import MPI
from numpy.typing import NDArray
from vicinal import Settings


@dataclass
class Edges:
    """Random edges: to the own rank, several between two ranks, one-way, empty; some ranks have
    none."""

    sources: list[int]
    destinations: list[int]
    sendcounts: NDArray[np.int64]
    recvcounts: NDArray[np.int64]

    @staticmethod
    def random(comm: MPI.Intracomm, seed: int, most: int = 6) -> Edges:
        rng = np.random.default_rng([seed, comm.rank])
        degree = 0 if rng.random() < 0.2 else int(rng.integers(0, 5))
        destinations = rng.integers(0, comm.size, degree).tolist()
        counts = rng.integers(0, most + 1, degree)
        everywhere = comm.allgather((destinations, counts))
        arriving = [
            (origin, int(count))
            for origin, (targets, numbers) in enumerate(everywhere)
            for target, count in zip(targets, numbers, strict=True)
            if target == comm.rank
        ]
        return Edges(
            [origin for origin, _ in arriving], destinations, counts.astype(np.int64),
            np.array([count for _, count in arriving], np.int64),
        )


def spread(counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Returns displacements that leave gaps and follow no order."""
    order = rng.permutation(len(counts))
    displacements = np.zeros(len(counts), np.int64)
    place = 0
    for edge in order:
        place += int(rng.integers(0, 3))
        displacements[edge] = place
        place += counts[edge]
    return displacements


def length(counts: NDArray[np.int64], displacements: NDArray[np.int64]) -> int:
    return int((counts + displacements).max(initial=0))


def expected(comm: MPI.Intracomm, edges: Edges, sent: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Returns the data that arrives on each in-edge; the k-th from a rank is its k-th to this
    one."""
    everywhere = comm.allgather(list(zip(edges.destinations, sent, strict=True)))
    return [data for theirs in everywhere for target, data in theirs if target == comm.rank]


def fill(comm: MPI.Intracomm, size: int, turn: int) -> NDArray[np.float64]:
    return np.arange(size) + 1000.0 * comm.rank + 1e6 * turn


@case
def graphs_from_one_side(comm: MPI.Intracomm) -> None:
    for seed in range(700, 706):
        edges = Edges.random(comm, seed)
        blocks, nonblocking = Settings(regions="blocks:3"), Settings(exchange="nonblocking")
        from_destinations = vicinal.Graph.from_destinations(comm, edges.destinations, settings=blocks)
        from_sources = vicinal.Graph.from_sources(comm, edges.sources, settings=nonblocking)
        assert from_destinations.destinations.tolist() == list(edges.destinations)
        assert from_destinations.sources.tolist() == sorted(edges.sources)
        assert from_sources.sources.tolist() == list(edges.sources)
        assert from_sources.destinations.tolist() == sorted(edges.destinations)
    wrong = [comm.size] if comm.rank == comm.size - 1 else []
    kind = "rank" if wrong else "remote"
    expect_error(kind, f"rank {comm.size}" if wrong else "", lambda: vicinal.Graph.from_sources(comm, wrong))


@case
def random_edges_under_every_strategy(comm: MPI.Intracomm) -> None:
    for seed, strategy in enumerate(STRATEGIES):
        edges = Edges.random(comm, 300 + seed)
        rng = np.random.default_rng([seed, comm.rank])
        for regions in region_kinds(comm.size):
            for local in ("shared", "messages"):
                settings = Settings(regions=regions, local=local)
                graph = vicinal.Graph(comm, edges.sources, edges.destinations, settings=settings)
                out, into = spread(edges.sendcounts, rng), spread(edges.recvcounts, rng)
                x = np.zeros(length(edges.sendcounts, out))
                y = np.zeros(length(edges.recvcounts, into))
                request = graph.Neighbor_alltoallv_init(
                    [x, edges.sendcounts, out, MPI.DOUBLE], [y, (edges.recvcounts, into)], strategy=strategy
                )
                assert request.strategy == strategy
                for turn in range(3):
                    x[:] = fill(comm, len(x), turn)
                    y[:] = -1
                    wanted = np.full(len(y), -1.0)
                    parts = [x[d : d + c].copy() for c, d in zip(edges.sendcounts, out, strict=True)]
                    for data, c, d in zip(expected(comm, edges, parts), edges.recvcounts, into, strict=True):
                        wanted[d : d + c] = data
                    request.start()
                    request.wait()
                    np.testing.assert_array_equal(y, wanted)
                request.free()


@case
def the_same_as_mpi(comm: MPI.Intracomm) -> None:
    """A ring with chords, where MPI's own collective defines the order of edges."""
    around = sorted({(comm.rank + step) % comm.size for step in (1, 2, 5)} - {comm.rank})
    before = sorted({(comm.rank - step) % comm.size for step in (1, 2, 5)} - {comm.rank})
    topology = comm.Create_dist_graph_adjacent(before, around)
    sendcounts = [rank % 4 for rank in around]
    recvcounts = [comm.rank % 4] * len(before)
    x, mine, theirs = fill(comm, sum(sendcounts), 1), np.zeros(sum(recvcounts)), np.zeros(sum(recvcounts))
    topology.Neighbor_alltoallv([x, sendcounts], [theirs, recvcounts])
    for settings in some_settings(comm.size, 4):
        graph = vicinal.Graph(comm, before, around, **settings)
        with graph.Neighbor_alltoallv_init([x, sendcounts], [mine, recvcounts]) as request:
            mine[:] = 0
            request.start()
            while not request.test():
                pass
            np.testing.assert_array_equal(mine, theirs)
    topology.Free()


@case
def items_with_identity(comm: MPI.Intracomm) -> None:
    """Every rank needs the same two values from each rank; items with identity travel once per
    region."""
    others = [rank for rank in range(comm.size)]
    labels = region_kinds(comm.size)[0]
    graph = vicinal.Graph(comm, others, others, strategy="aggregate", settings=Settings(regions=labels))
    x = np.tile(fill(comm, 2, 0), comm.size)
    y = np.zeros(2 * comm.size)
    counts = [2] * comm.size
    items = np.tile([4, 9], comm.size)
    request = graph.Neighbor_alltoallv_init([x, counts], [y, counts], items)
    request.start()
    request.wait()
    np.testing.assert_array_equal(y, np.concatenate([fill_of(rank) for rank in others]))
    plain = graph.Neighbor_alltoallv_init([x, counts], [y, counts])
    sent = comm.allreduce(request.statistics.nonlocal_elements)
    without = comm.allreduce(plain.statistics.nonlocal_elements)
    regions = -(-comm.size // 4)
    assert sent == 2 * 8 * comm.size * (regions - 1), sent
    assert without >= sent
    request.start()
    plain.start()
    assert {vicinal.wait_any([request, plain]), vicinal.wait_any([request, plain])} == {0, 1}
    assert vicinal.wait_any([request, plain]) is None
    assert "aggregate" in plain.describe()


def fill_of(rank: int) -> NDArray[np.float64]:
    return np.arange(2) + 1000.0 * rank


@case
def datatypes(comm: MPI.Intracomm) -> None:
    """The send buffer uses every other value; the receive buffer has no gaps."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    pairs = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
    for settings in some_settings(comm.size, 3):
        graph = vicinal.Graph(comm, [left], [right], **settings)
        x, y = fill(comm, 5, 0), np.zeros(3)
        request = graph.Neighbor_alltoallv_init([x, [1], [0], pairs], [y, [3], [0], MPI.DOUBLE])
        back = np.zeros(5)
        other = graph.Neighbor_alltoallv_init([y, [3], [0], "d"], [back, [1], [0], pairs])
        for turn in range(3):
            x[:] = fill(comm, 5, turn)
            request.start()
            request.wait()
            np.testing.assert_array_equal(y, np.array([0, 2, 4]) + 1000.0 * left + 1e6 * turn)
            y[:] = [7, 8, 9]
            other.start()
            other.wait()
            np.testing.assert_array_equal(back, [7, 0, 8, 0, 9])
    pairs.Free()


@case
def ways_to_give_a_buffer(comm: MPI.Intracomm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graph = vicinal.Graph(comm, np.array([left, left]), [right, right])
    x = np.arange(4, dtype=np.int32) + 10 * comm.rank
    wanted = np.arange(4) + 10 * left
    for send in (x, [x], [x, MPI.INT], [x, "i"], [x, 2], [x, [2, 2]], [x, ([2, 2], [0, 2])], [x, [2, 2], [0, 2]],
                 [x, [2, 2], None, MPI.INT], (x, ([2, 2], None), "i"), [memoryview(x), [2, 2], [0, 2], MPI.INT32_T]):
        y = np.zeros(4, np.int32)
        request = graph.Neighbor_alltoallv_init(send, y)
        request.start()
        request.wait()
        np.testing.assert_array_equal(y, wanted)
    y = np.zeros(4, np.int32)
    nothing = graph.Neighbor_alltoallv_init([None, [0, 0], [0, 0], MPI.INT], [y, [0, 0]])
    nothing.start()
    nothing.wait()
    assert not y.any()
    swapped = graph.Neighbor_alltoallv_init([x, [2, 2], [2, 0]], [y, [2, 2]])
    swapped.start()
    swapped.wait()
    np.testing.assert_array_equal(y, wanted[[2, 3, 0, 1]])


@case
def ranks_without_neighbours_may_skip(comm: MPI.Intracomm) -> None:
    if comm.size < 3:
        skip("needs 3 ranks")
    last = comm.size - 1
    edges = {0: ([last], [last]), last: ([0], [0])}.get(comm.rank, ([], []))
    graph = vicinal.Graph(comm, *edges, strategy="aggregate", settings=Settings(regions="blocks:2"))
    if edges == ([], []):
        return
    x, y = np.array([comm.rank + 0.5]), np.zeros(1)
    request = graph.Neighbor_alltoallv_init(x, y)
    for _ in range(50):
        request.start()
        request.wait()
        assert y[0] == last - comm.rank + 0.5


@case
def many_in_flight_started_in_different_orders(comm: MPI.Intracomm) -> None:
    edges = Edges.random(comm, 350)
    settings = list(some_settings(comm.size, 3))
    graphs = [vicinal.Graph(comm, edges.sources, edges.destinations, **each) for each in settings]
    x = [np.zeros(int(edges.sendcounts.sum())) for _ in range(9)]
    y = [np.zeros(int(edges.recvcounts.sum())) for _ in range(9)]
    requests = [
        graphs[k % 3].Neighbor_alltoallv_init([x[k], edges.sendcounts], [y[k], edges.recvcounts]) for k in range(9)
    ]
    offsets = np.cumsum(edges.sendcounts) - edges.sendcounts
    for turn in range(4):
        order = np.random.default_rng([turn, comm.rank]).permutation(9)
        for k in order:
            x[k][:] = fill(comm, len(x[k]), turn * 10 + k)
            requests[k].start()
        while vicinal.wait_any(requests) is not None:
            pass
        for k in range(9):
            parts = [x[k][d : d + c] for c, d in zip(edges.sendcounts, offsets, strict=True)]
            wanted = expected(comm, edges, parts)
            np.testing.assert_array_equal(y[k], np.concatenate(wanted) if wanted else [])


@case
def dropped_in_flight(comm: MPI.Intracomm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    own = comm.Dup()
    graph = vicinal.Graph(own, [left], [right])
    assert graph.sources.tolist() == [left] and graph.destinations.tolist() == [right]
    y = np.zeros(1)
    request = graph.Neighbor_alltoallv_init(np.array([1.5]), y)
    own.Free()
    del graph
    request.start()
    del request
    assert y[0] == 1.5


@case
def dropping_a_request_lets_other_threads_work(comm: MPI.Intracomm) -> None:
    """The destructor of a request waits for its completion, which may depend on another Python
    thread."""
    if comm.size < 2:
        skip("needs 2 ranks")
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        skip("needs MPI_THREAD_MULTIPLE")
    everybody = list(range(comm.size))
    first, second = (vicinal.Graph(comm, everybody, everybody) for _ in range(2))
    x, y, a, b = (np.full(comm.size, float(comm.rank)) for _ in range(4))
    if comm.rank == 0:
        going = threading.Event()

        def other() -> None:
            going.wait()
            time.sleep(0.05)
            second.Neighbor_alltoall(a, b)

        thread = threading.Thread(target=other)
        thread.start()
        request = first.Ineighbor_alltoall(x, y)
        going.set()
        del request  # waits for ranks that wait for the thread
        thread.join()
    else:
        second.Neighbor_alltoall(a, b)
        first.Ineighbor_alltoall(x, y).wait()
    assert list(y) == everybody and list(b) == everybody
