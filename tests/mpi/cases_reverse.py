"""The reverse: contributions of ghosts, compared with the combination of all of them in one
process."""

from __future__ import annotations

from typing import Any

import numpy as np
import vicinal
from harness import Indices, all_settings, case, few, some_settings, values
from mpi4py import MPI
from numpy.typing import NDArray
from vicinal import Settings


def combined(
    comm: MPI.Intracomm, indices: Indices, x: NDArray[Any], ghosts: NDArray[Any], function: Any
) -> NDArray[Any]:
    """Returns x combined with the contributions of all ranks; `function` must not depend on the
    order."""
    result = x.copy()
    for needed, given in comm.allgather((indices.needed, ghosts)):
        for index, value in zip(needed, given, strict=True):
            for place in np.flatnonzero(indices.owned == index):
                result[place] = function(result[place], value)
    return result


FUNCTIONS = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def contributions(comm: MPI.Intracomm, indices: Indices, trailing: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    ghosts = values(indices.needed + 3 * comm.rank, trailing, dtype)
    return ghosts + np.arange(len(ghosts), dtype=np.int8).reshape(-1, *[1] * len(trailing)).astype(dtype)


@case
def sums_under_every_setting(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 201)
    ghosts = contributions(comm, indices, (), np.float64)
    wanted = combined(comm, indices, values(indices.owned), ghosts, np.add)
    for settings in all_settings(comm.size):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        x = values(indices.owned)
        assert halo.reverse(x, ghosts) is x
        np.testing.assert_array_equal(x, wanted, str(settings))


@case
def operators_and_shapes(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 202, by_range=False)
    for settings in some_settings(comm.size, 2):
        halo = vicinal.Halo(comm, indices.owned, indices.needed, **settings)
        for op, function in FUNCTIONS.items():
            for trailing in [(), (3,)]:
                for order in "CF":
                    ghosts = np.asarray(contributions(comm, indices, trailing, np.float64), order=order)
                    x = np.asarray(values(indices.owned, trailing), order=order)
                    wanted = combined(comm, indices, x, ghosts, function)
                    exchange = halo.start_reverse(x, ghosts, op)
                    assert exchange.wait() is x
                    np.testing.assert_array_equal(x, wanted, f"{settings} {op} {trailing} {order}")


@case
def ghosts_at_the_end(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 203)
    count = len(indices.owned)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="aggregate", settings=Settings(regions="blocks:2")
    )
    for order in "CF":
        ghosts = contributions(comm, indices, (2,), np.float64)
        x = np.asarray(np.concatenate([values(indices.owned, (2,)), ghosts]), order=order)
        wanted = combined(comm, indices, x[:count], ghosts, np.add)
        halo.reverse(x)
        np.testing.assert_array_equal(x[:count], wanted)
        np.testing.assert_array_equal(x[count:], ghosts)


@case
def types(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 204)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="two-step", settings=Settings(regions="blocks:2")
    )
    dtypes = ["i4", "f8", "c16", "g", "i1", "u1", "i2", "u2", "u4", "i8", "u8", "f4", "c8"]
    for dtype in dtypes if few(comm.size) else dtypes[:4]:
        for op, function in FUNCTIONS.items():
            if np.dtype(dtype).kind == "c" and op != "sum":
                continue
            ghosts = contributions(comm, indices, (), dtype)
            x = values(indices.owned, dtype=dtype)
            wanted = combined(comm, indices, x, ghosts, function)
            halo.reverse(x, ghosts, op)
            np.testing.assert_array_equal(x, wanted, f"{dtype} {op}")


@case
def replace(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 205)
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        ghosts = indices.needed + 1000.0 * (comm.rank + 1)
        x = -values(indices.owned) - 1
        before = x.copy()
        halo.reverse(x, ghosts, "replace")
        given = comm.allgather((indices.needed, ghosts))
        for place, index in enumerate(indices.owned):
            candidates = {float(v) for needed, all_ in given for i, v in zip(needed, all_, strict=True) if i == index}
            assert x[place] in (candidates or {before[place]})
        again = before.copy()
        halo.reverse(again, ghosts, "replace")
        np.testing.assert_array_equal(again, x)


@case
def operators_of_mpi(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 206)
    calls = []

    def larger(given: Any, kept: Any, datatype: MPI.Datatype) -> None:
        calls.append(datatype.size)
        a, b = (np.frombuffer(memory, np.float64) for memory in (given, kept))
        np.maximum(a, b, out=b)

    mine = MPI.Op.Create(larger, commute=True)
    for settings in some_settings(comm.size, 2):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        ghosts = contributions(comm, indices, (2,), np.float64)
        for op, function in [(MPI.SUM, np.add), (mine, np.maximum), (MPI.PROD, np.multiply)]:
            x = values(indices.owned, (2,))
            wanted = combined(comm, indices, x, ghosts, function)
            exchange = halo.start_reverse(x, ghosts, op)
            while not exchange.test():
                vicinal.progress()
            np.testing.assert_allclose(x, wanted, rtol=1e-13)
        whole = np.full(len(indices.owned), 6, np.int32)
        wanted = combined(comm, indices, whole, np.full(len(indices.needed), 3, np.int32), np.bitwise_and)
        halo.reverse(whole, np.full(len(indices.needed), 3, np.int32), MPI.BAND)
        np.testing.assert_array_equal(whole, wanted)
        flags = np.zeros(len(indices.owned), bool)
        halo.reverse(flags, np.ones(len(indices.needed), bool), MPI.LOR)
        everywhere = np.concatenate(comm.allgather(indices.needed))
        np.testing.assert_array_equal(flags, np.isin(indices.owned, everywhere))
    mine.Free()


@case
def the_same_to_the_bit_every_time(comm: MPI.Intracomm) -> None:
    """Rounding depends on the order of a sum; the order must not vary."""
    indices = Indices(comm, 207, total=12)
    rng = np.random.default_rng([207, comm.rank])
    ghosts = rng.standard_normal(len(indices.needed)) * 10.0 ** rng.integers(-12, 12, len(indices.needed))
    start = rng.standard_normal(len(indices.owned))
    for settings in some_settings(comm.size, 3, in_flight=3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        first = halo.reverse(start.copy(), ghosts).copy()
        for turn in range(12):
            several = [start.copy() for _ in range(3)]
            for x in several:
                halo.start_reverse(x, ghosts)
            if turn % 2:
                halo.exchange(start)
            halo.wait()
            for x in several:
                assert x.tobytes() == first.tobytes()


@case
def both_directions_at_once(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 208)
    for settings in some_settings(comm.size, 2):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        given = contributions(comm, indices, (), np.float64)
        wanted = combined(comm, indices, values(indices.owned), given, np.add)
        for turn in range(10):
            x, y = values(indices.owned) + turn, values(indices.owned)
            exchanges = [halo.start(x), halo.start_reverse(y, given)]
            while vicinal.wait_any(exchanges) is not None:
                pass
            np.testing.assert_array_equal(exchanges[0].wait(), values(indices.needed) + turn)
            np.testing.assert_array_equal(y, wanted)
