"""Arrays on a device, by the interfaces of CuPy, PyTorch, Numba and JAX."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import vicinal
from device_arrays import DOUBLE, DeviceArray, OnlyDlpackOnDevice, ask, count
from harness import Indices, case, expect_error, some_settings, values
from mpi4py import MPI
from vicinal import Settings


@case
def arrays_of_the_host_initialise_no_driver(comm: MPI.Intracomm) -> None:
    """Must be the first case: later cases initialize a driver."""
    indices = Indices(comm, 300)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    np.testing.assert_array_equal(halo.exchange(values(indices.owned)), values(indices.needed))
    assert count("calls") == 0


@case
def halos(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 301)
    wanted = values(indices.needed)
    for settings in some_settings(comm.size, 4):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        for stream in (False, True):
            owned, ghosts = DeviceArray(values(indices.owned), stream), DeviceArray(np.zeros(len(wanted)))
            assert halo.exchange(owned, ghosts) is ghosts
            np.testing.assert_array_equal(ghosts.get(), wanted)
            x = DeviceArray(np.concatenate([values(indices.owned), np.zeros(len(wanted))]), stream)
            np.testing.assert_array_equal(halo.exchange(x).get(), wanted)
            np.testing.assert_array_equal(x.get()[: len(indices.owned)], values(indices.owned))
            # One side on the host.
            there = np.zeros(len(wanted))
            halo.exchange(owned, there)
            np.testing.assert_array_equal(there, wanted)
            # The contributions and their order are as from the host.
            sums = np.ones(len(indices.owned))
            halo.reverse(sums, wanted)
            added = DeviceArray(np.ones(len(indices.owned)), stream)
            assert halo.reverse(added, DeviceArray(wanted, stream)) is added
            np.testing.assert_array_equal(added.get(), sums)


@case
def ways(comm: MPI.Intracomm) -> None:
    """Device transports (device_way) selected by name, for halos."""
    indices = Indices(comm, 306)
    wanted = values(indices.needed)
    for way in ("staged", "shared"):
        halo = vicinal.Halo(
            comm, (indices.first, indices.last), indices.needed, settings=Settings(local="shared", device_way=way)
        )
        ghosts = DeviceArray(np.zeros(len(wanted)))
        halo.exchange(DeviceArray(values(indices.owned)), ghosts)
        np.testing.assert_array_equal(ghosts.get(), wanted)
    by_post = Settings(device_way="by post")
    expect_error("info", "vicinal_device_way", lambda: vicinal.Halo(comm, (0, 0), [], settings=by_post))


@case
def blocks_and_vectors(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 302)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="aggregate", settings=Settings(regions="blocks:2")
    )
    wanted = values(indices.needed, (3,))
    for order in (np.ascontiguousarray, np.asfortranarray):
        owned, ghosts = DeviceArray(order(values(indices.owned, (3,)))), DeviceArray(order(np.zeros(wanted.shape)))
        halo.exchange(owned, ghosts)
        np.testing.assert_array_equal(ghosts.get(), wanted)


@case
def by_dlpack(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 303)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    for dtype in (np.float64, np.float32):
        wanted = values(indices.needed, dtype=dtype)
        owned, ghosts = DeviceArray(values(indices.owned, dtype=dtype)), DeviceArray(np.zeros_like(wanted))
        halo.exchange(OnlyDlpackOnDevice(owned), OnlyDlpackOnDevice(ghosts))
        np.testing.assert_array_equal(ghosts.get(), wanted)


@case
def collectives(comm: MPI.Intracomm) -> None:
    following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graph = vicinal.Graph(comm, [before], [following], settings=Settings(regions="blocks:2"))
    for wrap in (lambda array: array, OnlyDlpackOnDevice):
        x, y = DeviceArray(np.arange(4.0) + 10 * comm.rank), DeviceArray(np.zeros(4))
        graph.Neighbor_alltoall(wrap(x), wrap(y))
        np.testing.assert_array_equal(y.get(), np.arange(4.0) + 10 * before)
        y = DeviceArray(np.zeros(4))
        with graph.Neighbor_alltoallv_init([wrap(x), [4], [0], MPI.DOUBLE], wrap(y)) as request:
            for _ in range(3):
                request.start()
                request.wait()
        np.testing.assert_array_equal(y.get(), np.arange(4.0) + 10 * before)


@case
def collectives_that_go_by_messages(comm: MPI.Intracomm) -> None:
    """Calls with counts, and the first nonblocking calls of blocks, with one or both sides on the
    device."""
    following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for strategy in ("direct", "aggregate"):
        graph = vicinal.Graph(
            comm, [before, comm.rank], [comm.rank, following], strategy=strategy, settings=Settings(regions="blocks:2")
        )
        came = [before, comm.rank] if comm.size > 1 else [0, 0]
        for number in range(12):
            x = np.arange(6.0) + 10 * comm.rank + number
            expected = np.concatenate([np.arange(4.0, 6.0) + 10 * came[0], np.arange(4.0) + 10 * came[1]]) + number
            if comm.size == 1:
                expected = np.arange(6.0) + number
            y: Any = np.zeros(6) if number % 3 == 1 else DeviceArray(np.zeros(6))
            counts = ([4, 2], [2, 4]) if comm.size > 1 else ([4, 2], [4, 2])
            sent = x if number % 3 == 2 else DeviceArray(x)
            if number % 2:
                graph.Neighbor_alltoallv([sent, counts[0]], [y, counts[1]])
            else:
                graph.Ineighbor_alltoallv([sent, counts[0]], [y, counts[1]]).wait()
            np.testing.assert_array_equal(y if isinstance(y, np.ndarray) else y.get(), expected)
            y = DeviceArray(np.zeros(6))
            graph.Ineighbor_allgather(DeviceArray(x[:3]), y).wait()
            gathered = np.concatenate([np.arange(3.0) + 10 * rank for rank in came]) + number
            np.testing.assert_array_equal(y.get(), gathered)
    assert count("misuses") == 0


@case
def sparse_exchanges(comm: MPI.Intracomm) -> None:
    """Some messages lie on the device, others on the host; received arrays are NumPy's."""
    following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for wrap in (lambda array: array, OnlyDlpackOnDevice):
        for number in range(3):
            messages: dict[int, Any] = {comm.rank: np.arange(3.0)}
            messages[following] = wrap(DeviceArray(np.arange(4.0) + comm.rank + number))
            came = vicinal.sparse_exchange(comm, messages)
            assert sorted(came) == sorted({before, comm.rank})
            np.testing.assert_array_equal(came[before], np.arange(4.0) + before + number)

    def answer(rank: int, request: Any) -> Any:
        return DeviceArray(request * 2.0 + rank)

    asked = {following: DeviceArray(np.array([comm.rank, 5.0])), comm.rank: DeviceArray(np.array([7.0]))}
    replies = vicinal.sparse_query(comm, asked, answer)
    own = np.array([comm.rank, 5.0]) if comm.size > 1 else np.array([7.0])
    np.testing.assert_array_equal(replies[following], own * 2 + comm.rank)
    whole = DeviceArray(np.zeros((2, 2)))
    expect_error("buffer", "give one-dimensional arrays", lambda: vicinal.sparse_exchange(comm, {0: whole}))
    apart = DeviceArray(np.zeros(4))
    apart.strides, apart.shape = (16,), (2,)
    expect_error("buffer", "is not contiguous", lambda: vicinal.sparse_exchange(comm, {0: apart}))
    elsewhere = DeviceArray(np.zeros(2))
    elsewhere.offset = 1 << 46  # an address that no driver knows
    here = elsewhere if comm.rank == 0 else DeviceArray(np.zeros(2))
    kind = "unsupported-operation" if comm.rank == 0 else "remote"
    expect_error(kind, "for which no driver is in use", lambda: vicinal.sparse_exchange(comm, {0: here}))
    assert count("misuses") == 0


@case
def what_is_in_flight_is_kept_alive(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 304)
    # With one exchange in flight, all internal memory exists from the first exchange on.
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="direct", settings=Settings(in_flight=1)
    )
    wanted = values(indices.needed)
    ghosts = DeviceArray(np.zeros(len(wanted)))
    halo.exchange(DeviceArray(values(indices.owned)), ghosts)
    gc.collect()
    blocks = count("device_blocks")
    for _ in range(10):
        exchange = halo.start(DeviceArray(values(indices.owned)), ghosts)
        gc.collect()
        assert count("device_blocks") > blocks
        exchange.wait()
        np.testing.assert_array_equal(ghosts.get(), wanted)
        del exchange
        gc.collect()
        assert count("device_blocks") == blocks


@case
def what_cannot_be_is_refused(comm: MPI.Intracomm) -> None:
    halo = vicinal.Halo(comm, (0, 3) if comm.rank == 0 else (3, 3), [0, 1])
    count_here = 3 if comm.rank == 0 else 0
    x = DeviceArray(np.zeros(count_here + 1))
    expect_error("buffer", "its first dimension must be", lambda: halo.exchange(x, DeviceArray(np.zeros(2))))
    frozen = DeviceArray(np.zeros(2), writable=False)
    owned = DeviceArray(np.zeros(count_here))
    expect_error("buffer", "is read-only", lambda: halo.exchange(owned, frozen))
    expect_error("argument", "give an array for them there", lambda: halo.exchange(owned))
    apart = DeviceArray(np.zeros((2, 2)))
    apart.strides, apart.shape = (16,), (2,)
    expect_error("buffer", "is not contiguous", lambda: halo.exchange(owned, apart))
    elsewhere = DeviceArray(np.zeros(count_here))
    elsewhere.offset = 1 << 46  # an address that no driver knows
    expect_error("unsupported-operation", "for which no driver is in use", lambda: halo.exchange(elsewhere, frozen))
    broken = [{}, {"shape": 3, "typestr": "<f8", "data": (1, 0)}, {"shape": (3,), "typestr": "f8", "data": (1, False)}]
    for described in broken:
        expect_error("datatype", "", lambda: halo.exchange(Described(described), frozen))
    assert count("misuses") == 0


@case
def the_default_stream_is_followed(comm: MPI.Intracomm) -> None:
    """Arrays that name no stream, as PyTorch's and Numba's, are ordered after the default
    stream."""
    indices = Indices(comm, 308)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    given = values(indices.owned)
    owned, ghosts = DeviceArray(np.zeros_like(given)), DeviceArray(np.zeros(len(indices.needed)))
    copy = DOUBLE.cuMemcpyAsync
    if given.nbytes:
        assert copy(ctypes.c_void_p(owned.address), ctypes.c_void_p(given.ctypes.data), ctypes.c_size_t(given.nbytes), None) == 0
    halo.exchange(owned, ghosts)
    np.testing.assert_array_equal(ghosts.get(), values(indices.needed))


class Unreachable(np.ndarray):
    """An array whose type has a buffer that cannot be obtained, as CuPy's; NumPy gives none for
    dates."""

    described: DeviceArray

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.described.__cuda_array_interface__


@case
def arrays_whose_buffer_cannot_be_had(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 307)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)

    def wrap(array: DeviceArray) -> Unreachable:
        wrapped = np.zeros(array.shape, "M8[s]").view(Unreachable)
        wrapped.described = array
        return wrapped

    ghosts = DeviceArray(np.zeros(len(indices.needed)))
    halo.exchange(wrap(DeviceArray(values(indices.owned))), wrap(ghosts))
    np.testing.assert_array_equal(ghosts.get(), values(indices.needed))


class Described:
    """An array with a given `__cuda_array_interface__`."""

    def __init__(self, described: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = described


@case
def streams_wait(comm: MPI.Intracomm) -> None:
    """Work enqueued on a stream after an exchange runs after the device's remaining writes."""
    indices = Indices(comm, 307)
    wanted = values(indices.needed)
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        for number in range(6):
            owned, ghosts = DeviceArray(values(indices.owned) + number), DeviceArray(np.zeros(len(wanted)))
            exchange, stream = halo.start(owned, ghosts), ghosts.memory.stream.value or 0
            waits = (
                lambda: exchange.wait(stream), lambda: halo.wait(stream=stream), lambda: halo.wait(exchange, stream=stream),
            )
            assert waits[number % 3]() is ghosts
            np.testing.assert_array_equal(ghosts.get(), wanted + number)  # get() uses that stream
            sums, given = DeviceArray(np.ones(len(indices.owned))), DeviceArray(wanted)
            assert halo.start_reverse(sums, given).wait(sums.memory.stream.value or 0) is sums
            there = np.ones(len(indices.owned))
            halo.reverse(there, wanted)
            np.testing.assert_array_equal(sums.get(), there)


@case
def persistent_exchanges(comm: MPI.Intracomm) -> None:
    """Persistent requests for a halo's arrays, and for the arrays of a graph's collective."""
    indices = Indices(comm, 309)
    wanted = values(indices.needed)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    owned, ghosts = DeviceArray(values(indices.owned)), DeviceArray(np.zeros(len(wanted)))
    stream = ghosts.memory.stream.value or 0
    with halo.persistent(owned, ghosts) as request:
        for _ in range(3):
            request.start()
            request.wait(stream=stream)
        np.testing.assert_array_equal(ghosts.get(), wanted)  # get() uses that stream
        request.start()
        request.wait()
        assert request.test()
        assert request.strategy == halo.strategy
    expect_error("request", "freed", request.start)

    sums, given = DeviceArray(np.ones(len(indices.owned))), DeviceArray(wanted)
    back = halo.persistent(sums, given, op="sum")
    there = np.ones(len(indices.owned))
    halo.reverse(there, wanted)
    # the request outlives the halo
    halo.free()
    back.start()
    back.wait(stream=sums.memory.stream.value or 0)
    np.testing.assert_array_equal(sums.get(), there)

    following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    x, y = DeviceArray(np.arange(4.0) + comm.rank), DeviceArray(np.zeros(4))
    collective = vicinal.Graph(comm, [before], [following]).Neighbor_alltoall_init(x, y)
    collective.start()
    collective.wait(stream=y.memory.stream.value or 0)
    np.testing.assert_array_equal(y.get(), np.arange(4.0) + before)


@case
def persistent_exchanges_are_refused_on_all_ranks(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 310)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    x, ghosts = values(indices.owned), np.zeros(len(indices.needed) + (1 if comm.rank == 0 else 0))
    expect_error("buffer" if comm.rank == 0 else "remote", "ghosts" if comm.rank == 0 else "rank 0", lambda: halo.persistent(x, ghosts))
    request = halo.persistent(x, ghosts[: len(indices.needed)])
    request.start()
    request.wait()
    np.testing.assert_array_equal(ghosts[: len(indices.needed)], values(indices.needed))


@case
def streams_are_followed(comm: MPI.Intracomm) -> None:
    """An exchange sends what earlier work on a stream writes, however late."""
    indices = Indices(comm, 305)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    wanted = values(indices.needed)

    class Stream:
        """A stream object like PyTorch's."""

        def __init__(self, handle: int) -> None:
            self.cuda_stream = handle

    for form in (int, Stream):
        owned, ghosts = DeviceArray(values(indices.owned), stream=True), DeviceArray(np.zeros(len(wanted)))
        owned.tells_stream = False  # the array names no stream, but this stream is busy
        exchange = halo.start(owned, ghosts, stream=form(owned.memory.stream.value or 0))
        assert halo.wait(exchange) is ghosts
        np.testing.assert_array_equal(ghosts.get(), wanted)
        contributions, sums = DeviceArray(wanted, stream=True), DeviceArray(np.ones(len(indices.owned)))
        contributions.tells_stream = False
        halo.reverse(sums, contributions, stream=form(contributions.memory.stream.value or 0))
        there = np.ones(len(indices.owned))
        halo.reverse(there, wanted)
        np.testing.assert_array_equal(sums.get(), there)
    x, y = values(indices.owned), np.zeros(len(wanted))
    # the exchange of host memory leaves nothing to a stream
    assert halo.start(x, y).wait(stream=0) is y
    np.testing.assert_array_equal(y, wanted)
    expect_error("argument", "give a stream of CuPy", lambda: halo.wait(stream="mine"))
    expect_error("argument", "does not lie in the memory of a GPU", lambda: halo.exchange(x, y, stream=0))
    expect_error("argument", "give a stream of CuPy", lambda: halo.exchange(x, y, stream="mine"))
