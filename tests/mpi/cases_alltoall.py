"""Alltoalls with counts over a communicator, compared with the values that each rank is known to
send."""

from __future__ import annotations

import numpy as np
import vicinal
from harness import case, expect_error, region_kinds
from mpi4py import MPI
from numpy.typing import NDArray
from vicinal import Settings


def counts_of(rank: int, size: int) -> list[int]:
    """Returns the number of elements that a rank sends to, and receives from, each rank."""
    return [(rank + other + 3 * rank * other) % 4 for other in range(size)]


def values(source: int, target: int, count: int, round_: int) -> NDArray[np.float64]:
    return 1000.0 * source + 10.0 * target + 0.1 * np.arange(count) + 1e6 * round_


class Side:
    """One rank's blocks, with gaps between them."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.rank = comm.rank
        self.counts = counts_of(comm.rank, comm.size)
        self.places = (np.cumsum(self.counts) - self.counts + 2 * np.arange(comm.size)).tolist()
        self.array = np.full(sum(self.counts) + 2 * comm.size, -1.0)

    def spec(self) -> list[object]:
        return [self.array, self.counts, self.places, MPI.DOUBLE]

    def filled(self, round_: int, *, sent: bool) -> NDArray[np.float64]:
        """Returns the expected content of the array before sending, or after receiving."""
        array = np.full_like(self.array, -1.0)
        for other, (place, count) in enumerate(zip(self.places, self.counts, strict=True)):
            ends = (self.rank, other) if sent else (other, self.rank)
            array[place : place + count] = values(*ends, count, round_)
        return array


@case
def alltoallv_over_a_communicator(comm: MPI.Intracomm) -> None:
    for regions in region_kinds(comm.size):
        vicinal.set_regions(comm, regions)
        send, receive = Side(comm), Side(comm)
        for round_ in range(3):
            for form in (vicinal.Alltoallv, vicinal.Ialltoallv):
                send.array[:], receive.array[:] = send.filled(round_, sent=True), -1
                pending = form(comm, send.spec(), receive.spec())
                if pending is not None:
                    pending.wait()
                np.testing.assert_array_equal(receive.array, receive.filled(round_, sent=False))
        radix = Settings(radix=3)
        for strategy in ("automatic", "tuna", "tuna-hierarchical", "aggregate"):
            with vicinal.Alltoallv_init(
                comm, send.spec(), receive.spec(), strategy=strategy, settings=radix
            ) as request:
                assert strategy in ("automatic", request.strategy)
                for round_ in range(2):
                    send.array[:], receive.array[:] = send.filled(round_, sent=True), -1
                    request.start()
                    request.wait()
                    np.testing.assert_array_equal(receive.array, receive.filled(round_, sent=False))


@case
def alltoallv_in_place(comm: MPI.Intracomm) -> None:
    side = Side(comm)
    for round_ in range(12):
        side.array[:] = side.filled(round_, sent=True)
        vicinal.Alltoallv(comm, MPI.IN_PLACE, side.spec())
        np.testing.assert_array_equal(side.array, side.filled(round_, sent=False))
    side.array[:] = side.filled(20, sent=True)
    vicinal.Ialltoallv(comm, MPI.IN_PLACE, side.spec()).wait()
    np.testing.assert_array_equal(side.array, side.filled(20, sent=False))
    with vicinal.Alltoallv_init(comm, MPI.IN_PLACE, side.spec()) as request:
        for round_ in range(3):
            side.array[:] = side.filled(round_, sent=True)
            request.start()
            request.wait()
            np.testing.assert_array_equal(side.array, side.filled(round_, sent=False))
    # A graph of all ranks accepts MPI.IN_PLACE, as the communicator does.
    graph = vicinal.Graph.complete(comm)
    blocks = np.arange(comm.size) + 100.0 * comm.rank
    for _ in range(12):
        blocks[:] = np.arange(comm.size) + 100.0 * comm.rank
        graph.Neighbor_alltoall(MPI.IN_PLACE, blocks)
        np.testing.assert_array_equal(blocks, 100.0 * np.arange(comm.size) + comm.rank)


@case
def what_alltoallv_refuses(comm: MPI.Intracomm) -> None:
    side = Side(comm)
    everybody = np.arange(comm.size)
    graph = vicinal.Graph(comm, everybody, everybody)
    expect_error("buffer", "complete graph", lambda: graph.Neighbor_alltoallv_init(MPI.IN_PLACE, side.spec()))
    expect_error(
        "buffer", "recvbuf is MPI.IN_PLACE",
        lambda: vicinal.Alltoallv(comm, side.spec(), MPI.IN_PLACE),
    )
    heap = [np.zeros(1), ([1] * comm.size, [0] * comm.size), MPI.DOUBLE]
    if comm.size > 1:
        words = "entries 0 and 1 share memory"
        expect_error("buffer", words, lambda: vicinal.Alltoallv(comm, side.spec(), heap))
        expect_error("buffer", words, lambda: vicinal.Alltoallv_init(comm, side.spec(), heap))
    expect_error(
        "info", "vicinal_radix is '1'",
        lambda: vicinal.Alltoallv_init(comm, side.spec(), side.spec(), settings=Settings(radix=1)),
    )
    complete = vicinal.Graph.complete(comm)
    expect_error(
        "buffer", "in partitions",
        lambda: complete.Neighbor_alltoallv_partitioned_init(MPI.IN_PLACE, side.spec(), 1, 1),
    )
