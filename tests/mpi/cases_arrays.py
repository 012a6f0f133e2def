"""Exchangeable data: blocks, vectors, types, and arrays of libraries other than NumPy."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import vicinal
from harness import Indices, case, few, some_settings, values
from mpi4py import MPI
from vicinal import Settings


@case
def blocks(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 101)
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        for trailing in [(3,), (2, 2), (1,), ()]:
            wanted = values(indices.needed, trailing)
            owned = values(indices.owned, trailing)
            np.testing.assert_array_equal(halo.exchange(owned), wanted)
            x = np.concatenate([owned, np.zeros_like(wanted)])
            halo.exchange(x)
            np.testing.assert_array_equal(x[len(owned) :], wanted)


@case
def vectors(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 102)
    count, ghosts = len(indices.owned), len(indices.needed)
    wanted = values(indices.needed, (4,))
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        owned = np.asfortranarray(values(indices.owned, (4,)))
        made = halo.exchange(owned)
        np.testing.assert_array_equal(made, wanted)
        x = np.zeros((count + ghosts, 4), order="F")
        x[:count] = owned
        halo.exchange(x)
        np.testing.assert_array_equal(x[count:], wanted)
        # Parts of a taller array: equal columns with a larger stride, which differs between ranks.
        tall = np.zeros((count + ghosts + 3 + comm.rank, 4), order="F")
        tall[:count] = owned
        halo.exchange(tall[:count], tall[count : count + ghosts])
        np.testing.assert_array_equal(tall[count : count + ghosts], wanted)
        assert not tall[count + ghosts :].any()


@case
def layouts_in_turn_and_at_once(comm: MPI.Intracomm) -> None:
    """Each rank may choose its layout, as long as the bytes per index are equal."""
    indices = Indices(comm, 103)
    count, ghosts = len(indices.owned), len(indices.needed)
    for settings in some_settings(comm.size, 4, in_flight=2):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        for turn in range(8):
            wanted = values(indices.needed, (2,)) + turn
            owned = values(indices.owned, (2,)) + turn
            if (turn + comm.rank) % 3:
                tall = np.zeros((count + ghosts + turn % 3, 2), order="F")
                tall[:count] = owned
                halo.exchange(tall[:count], tall[count : count + ghosts])
                np.testing.assert_array_equal(tall[count : count + ghosts], wanted)
            else:
                np.testing.assert_array_equal(halo.exchange(owned), wanted)
            # another size, then the first again
            if turn % 4 == 3:
                np.testing.assert_array_equal(
                    halo.exchange(values(indices.owned, (5,), np.float32)), values(indices.needed, (5,), np.float32)
                )


@case
def types(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 104)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="aggregate", settings=Settings(regions="blocks:2")
    )
    for dtype in ["i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "c8", "c16", "?", ">f8", "S5"]:
        owned, wanted = values(indices.owned).astype(dtype), values(indices.needed).astype(dtype)
        ghosts = halo.exchange(owned)
        assert ghosts.dtype == owned.dtype
        np.testing.assert_array_equal(ghosts, wanted)
    for record in ([("a", "i4"), ("b", "f8")], [("c", "f8"), ("d", "i4")]):
        pair = np.zeros(len(indices.owned), record)
        pair[record[0][0]] = indices.owned
        ghosts = halo.exchange(pair)
        assert ghosts.dtype == pair.dtype
        np.testing.assert_array_equal(ghosts[record[0][0]], indices.needed)


class OnlyDlpack:
    """An array of another library, which NumPy does not know."""

    def __init__(self, of: np.ndarray) -> None:
        self.of = of

    def __dlpack__(self, **options: Any) -> Any:
        return self.of.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.of.__dlpack_device__()


class OnlyInterface:
    """An array with NumPy's older protocol."""

    def __init__(self, of: np.ndarray) -> None:
        self.of = of
        self.__array_interface__ = of.__array_interface__


@case
def other_arrays(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 105)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    count = len(indices.owned)
    wanted = values(indices.needed)
    for wrap in (OnlyDlpack, OnlyInterface, memoryview):
        ghosts = np.zeros(len(wanted))
        halo.exchange(wrap(values(indices.owned)), wrap(ghosts))
        np.testing.assert_array_equal(ghosts, wanted)
        np.testing.assert_array_equal(halo.exchange(wrap(values(indices.owned))), wanted)
        x = np.concatenate([values(indices.owned), np.zeros(len(wanted))])
        tail = halo.exchange(wrap(x))
        np.testing.assert_array_equal(x[count:], wanted)
        np.testing.assert_array_equal(tail, wanted)
    plain = array.array("d", values(indices.owned).tolist())
    into = array.array("d", [0.0] * len(wanted))
    halo.exchange(plain, into)
    np.testing.assert_array_equal(into, wanted)
    text = bytearray(values(indices.owned, dtype=np.uint8).tobytes())
    np.testing.assert_array_equal(halo.exchange(bytes(text)), values(indices.needed, dtype=np.uint8))
    frozen = values(indices.owned)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(halo.exchange(frozen), wanted)


@case
def same_arrays_thousands_of_times(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 106)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, strategy="two-step", settings=Settings(regions="blocks:2")
    )
    x, ghosts = values(indices.owned), np.zeros(len(indices.needed))
    for turn in range(400 if few(comm.size) else 40):
        x += 1
        exchange = halo.start(x, ghosts)
        if turn % 2:
            exchange.wait()
        while not exchange.test():
            vicinal.progress()
        assert (ghosts == values(indices.needed) + turn + 1).all()
