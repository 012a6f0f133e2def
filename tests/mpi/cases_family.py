"""The neighborhood collectives in all their forms, compared with the values that neighbors are
known to send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import vicinal
from cases_graph import Edges
from harness import case, expect_error, region_kinds, skip
from mpi4py import MPI
from vicinal import Settings, _core
from numpy.typing import NDArray

STRATEGIES = [name for name, _ in _core.strategies()]  # includes those without a reverse
COLLECTIVES = ["alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv"]


def serves(strategy: str, collective: str) -> bool:
    """Returns whether a strategy supports this collective; distance-halving supports allgathers
    only."""
    return strategy != "distance-halving" or collective.startswith("allgather")


def run_forms(graph: vicinal.Graph, collective: str, send: Any, receive: Any, verify: Callable[[], None]) -> None:
    """Runs the persistent, blocking and nonblocking forms; `verify` also overwrites the receive
    buffer."""
    with getattr(graph, f"Neighbor_{collective}_init")(send, receive) as request:
        for _ in range(2):
            request.start()
            request.wait()
            verify()
    getattr(graph, f"Neighbor_{collective}")(send, receive)
    verify()
    started = getattr(graph, f"Ineighbor_{collective}")(send, receive)
    while not started.test():
        pass
    verify()
    another = getattr(graph, f"Ineighbor_{collective}")(send, receive)
    assert vicinal.wait_any([started, another]) == 1
    verify()
    expect_error("request", "begun with the call", another.start)


def verifier(y: NDArray[Any], wanted: NDArray[Any]) -> Callable[[], None]:
    def verify() -> None:
        np.testing.assert_array_equal(y, wanted)
        y[:] = -1

    y[:] = -1
    return verify


def pairs(comm: MPI.Intracomm, edges: Edges) -> list[tuple[int, int]]:
    """Returns for each source its rank, and the index of its destination entry that leads here."""
    everywhere = comm.allgather(edges.destinations)
    return [
        (origin, entry)
        for origin, targets in enumerate(everywhere)
        for entry, target in enumerate(targets)
        if target == comm.rank
    ]


def block(rank: int, entry: int, count: int) -> NDArray[np.int64]:
    return rank * 1000 + entry * 100 + np.arange(count)


@case
def all_forms_on_random_edges(comm: MPI.Intracomm) -> None:
    kinds = region_kinds(comm.size)
    for turn, strategy in enumerate(STRATEGIES):
        edges = Edges.random(comm, 500 + turn)
        origins = pairs(comm, edges)
        out, count = len(edges.destinations), 3
        settings = Settings(regions=kinds[turn % 3])
        graph = vicinal.Graph(comm, edges.sources, edges.destinations, strategy=strategy, settings=settings)
        assert graph.sources.tolist() == edges.sources

        def whole(blocks: list[NDArray[np.int64]]) -> NDArray[np.int64]:
            return np.concatenate(blocks) if blocks else np.empty(0, np.int64)

        y = np.zeros(count * len(origins), np.int64)
        if serves(strategy, "alltoall"):
            x = whole([block(comm.rank, e, count) for e in range(out)])
            equal = verifier(y, whole([block(rank, entry, count) for rank, entry in origins]))
            run_forms(graph, "alltoall", x, [y, count, MPI.INT64_T], equal)
            run_forms(graph, "alltoallv", [x, [count] * out], y, equal)
            size = 8 * count
            run_forms(
                graph, "alltoallw",
                [x, ([count] * out, [size * e for e in range(out)]), [MPI.INT64_T] * out],
                [y, [count] * len(origins), [size * e for e in range(len(origins))], [MPI.INT64_T] * len(origins)],
                equal,
            )
        x = block(comm.rank, 0, count)
        gathered = verifier(y, whole([block(rank, 0, count) for rank, _ in origins]))
        run_forms(graph, "allgather", x, y, gathered)
        run_forms(graph, "allgatherv", [x, count, MPI.INT64_T], [y, [count] * len(origins)], gathered)


@case
def settings_of_a_persistent_allgather(comm: MPI.Intracomm) -> None:
    """Each block travels once to each region, independent of the number of receivers there."""
    everybody = np.arange(comm.size)
    graph = vicinal.Graph(comm, everybody, everybody, settings=Settings(regions=region_kinds(comm.size)[0]))
    x, y = np.array([comm.rank + 0.5]), np.zeros(comm.size)
    for strategy in STRATEGIES:
        with graph.Neighbor_allgather_init(x, y, strategy=strategy) as request:
            assert request.strategy == strategy
            y[:] = 0
            request.start()
            request.wait()
            np.testing.assert_array_equal(y, everybody + 0.5)
            if strategy == "aggregate":
                regions = -(-comm.size // 4)
                assert comm.allreduce(request.statistics.nonlocal_elements) == 8 * comm.size * (regions - 1)


@case
def cartesian_topologies(comm: MPI.Intracomm) -> None:
    for periods in ([True, False], [False, True], [True, True]):
        dims = MPI.Compute_dims(comm.size, 2)
        cart = comm.Create_cart(dims, periods)
        graph = vicinal.Graph.from_topology(cart, settings=Settings(regions=region_kinds(comm.size)[0]))
        around = [neighbour for d in range(2) for neighbour in cart.Shift(d, 1)]
        assert graph.sources.tolist() == graph.destinations.tolist() == around
        # A value from one direction was sent in the opposite one.
        opposite = [1, 0, 3, 2]
        wanted = np.array([-1 if n == MPI.PROC_NULL else n * 10 + opposite[e] for e, n in enumerate(around)], float)
        x, y = np.arange(4.0) + 10 * comm.rank, np.zeros(4)
        for collective in ("alltoall", "alltoallv"):
            run_forms(graph, collective, x, y, verifier(y, wanted))
        types = [MPI.DOUBLE] * 4
        places = [8 * e for e in range(4)]
        run_forms(graph, "alltoallw", [x, None, places, types], [y, None, places, types], verifier(y, wanted))
        gathered = np.array([-1 if n == MPI.PROC_NULL else n * 10.0 for n in around])
        run_forms(graph, "allgather", x[:1], y, verifier(y, gathered))
        run_forms(graph, "allgatherv", [x, 1], [y, 1], verifier(y, gathered))
        cart.Free()


@case
def other_topologies(comm: MPI.Intracomm) -> None:
    if comm.size < 2:
        skip("needs 2 ranks: MPI makes no communicator of a graph without edges")
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    ring = comm.Create_dist_graph_adjacent([left], [right], [3], [4])
    star = comm.Create_graph(
        [comm.size - 1 + min(rank, comm.size - 1) for rank in range(comm.size)],
        [*range(1, comm.size), *[0] * (comm.size - 1)],
    )
    y = np.zeros(1)
    vicinal.Graph.from_topology(ring).Neighbor_allgather(np.array([comm.rank + 0.5]), y)
    assert y[0] == left + 0.5
    others = np.zeros(comm.size - 1 if comm.rank == 0 else 1)
    graph = vicinal.Graph.from_topology(star)
    graph.Neighbor_allgather(np.array([comm.rank + 0.5]), others)
    np.testing.assert_array_equal(others, np.arange(1, comm.size) + 0.5 if comm.rank == 0 else [0.5])
    expect_error(("topology", "remote"), "topology", lambda: vicinal.Graph.from_topology(comm))
    ring.Free()
    star.Free()


@case
def many_nonblocking_calls(comm: MPI.Intracomm) -> None:
    edges = Edges.random(comm, 550)
    origins = pairs(comm, edges)
    graph = vicinal.Graph(comm, edges.sources, edges.destinations, settings=Settings(in_flight=2))
    x = [np.array([comm.rank + 100 * k]) for k in range(7)]
    y = [np.zeros(len(origins), np.int64) for _ in range(7)]
    requests = [graph.Ineighbor_allgather(x[k], y[k]) for k in range(7)]
    for k in np.random.default_rng(comm.rank).permutation(7):
        requests[k].wait()
        np.testing.assert_array_equal(y[k], [rank + 100 * k for rank, _ in origins])


@case
def buffers_that_do_not_fit(comm: MPI.Intracomm) -> None:
    """Errors on all ranks alike: after a failed persistent init, and a failed call, the graph stays
    usable."""
    me = [comm.rank, comm.rank]
    x, y = np.zeros(2), np.zeros(2)
    graph = vicinal.Graph(comm, me, me)
    for kind, words, send, receive in [
        ("count", "shared equally", np.zeros(3), y),
        ("buffer", "but the buffer has 16 bytes", [x, 2, MPI.DOUBLE], y),
        ("argument", "one count", [x, [1, 1]], y),
        ("count", "negative", [x, -1], y),
        ("buffer", "IN_PLACE", MPI.IN_PLACE, y),
        ("argument", "displacement", [x, 1, 1, MPI.DOUBLE], y),
        ("buffer", "not contiguous", np.zeros(4)[::2], y),
        ("count", "differ", [x, 1], [np.zeros(4), 2]),
    ]:
        expect_error(kind, words, lambda s=send, r=receive: graph.Neighbor_alltoall_init(s, r))
    expect_error("argument", "give [array, counts, displs, types]", lambda: graph.Neighbor_alltoallw_init(x, y))
    expect_error("datatype", "1 datatypes for 2", lambda: graph.Neighbor_alltoallw_init([x, [MPI.INT]], y))
    with graph.Ineighbor_alltoall(x, y) as request:
        expect_error("request", "no plan of its own", lambda: request.statistics)
    expect_error("count", "one size", lambda: graph.Neighbor_alltoall(x, np.zeros(4)))
    graph.Neighbor_alltoall(x, y)  # a fault affects one call only
