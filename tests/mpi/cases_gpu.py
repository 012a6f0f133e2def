"""Arrays of CuPy, PyTorch, Numba and JAX on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import vicinal
from gpu_arrays import Library, libraries
from harness import Indices, case, skip, some_settings, values
from mpi4py import MPI
from vicinal import Settings

LIBRARIES = libraries()


def library(comm: MPI.Intracomm, name: str) -> Library:
    """Returns the library of that name if all ranks have it; skips the case otherwise."""
    if comm.allreduce(name in LIBRARIES, MPI.MIN):
        return LIBRARIES[name]
    return skip(f"needs {name} and a GPU")


def exchange_halos(comm: MPI.Intracomm, of: Library) -> None:
    indices = Indices(comm, 401, total=4000)
    wanted = values(indices.needed)
    for way in ("staged", "shared", "lent"):
        for settings in some_settings(comm.size, 3, device_way=way):
            sent = []  # kept until the halo is gone on all ranks
            halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
            for number in range(3):
                owned, ghosts = of.put(values(indices.owned) + number), of.put(np.zeros(len(wanted)))
                sent.append(owned)
                assert halo.exchange(owned, ghosts) is ghosts
                np.testing.assert_array_equal(of.get(ghosts), wanted + number)
            sums, added = np.ones(len(indices.owned)), of.put(np.ones(len(indices.owned)))
            halo.reverse(sums, wanted)
            halo.reverse(added, of.put(wanted))
            np.testing.assert_array_equal(of.get(added), sums)
            del halo
            comm.Barrier()


def exchange_by_calls(comm: MPI.Intracomm, of: Library) -> None:
    following, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graph = vicinal.Graph(comm, [before], [following])
    for number in range(12):
        x, y = of.put(np.arange(4.0) + 10 * comm.rank + number), of.put(np.zeros(4))
        graph.Neighbor_alltoall(x, y)
        np.testing.assert_array_equal(of.get(y), np.arange(4.0) + 10 * before + number)


@case
def cupy_arrays(comm: MPI.Intracomm) -> None:
    exchange_halos(comm, library(comm, "cupy"))
    exchange_by_calls(comm, LIBRARIES["cupy"])


@case
def torch_arrays(comm: MPI.Intracomm) -> None:
    exchange_halos(comm, library(comm, "torch"))
    exchange_by_calls(comm, LIBRARIES["torch"])


@case
def numba_arrays(comm: MPI.Intracomm) -> None:
    exchange_halos(comm, library(comm, "numba"))
    exchange_by_calls(comm, LIBRARIES["numba"])


@case
def jax_arrays(comm: MPI.Intracomm) -> None:
    """JAX arrays are immutable, so they are sent only; another library's arrays receive."""
    of = library(comm, "jax")
    into = library(comm, "cupy")
    indices = Indices(comm, 402, total=4000)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed)
    for number in range(3):
        ghosts = into.put(np.zeros(len(indices.needed)))
        halo.exchange(of.put(values(indices.owned) + number), ghosts)
        np.testing.assert_array_equal(into.get(ghosts), values(indices.needed) + number)


def busy_streams() -> dict[str, Any]:
    """Returns a stream, and a function, for each library that has streams.

    The function makes the stream compute for some milliseconds and then write `value` into an
    array.
    """
    found: dict[str, Any] = {}
    if "cupy" in LIBRARIES:
        import cupy  # type: ignore[import-not-found]

        stream = cupy.cuda.Stream(non_blocking=True)
        work = cupy.ones((3000, 3000))

        def write(array: Any, value: float, stream: Any = stream) -> None:
            with stream:
                for _ in range(6):
                    cupy.matmul(work, work)
                array.fill(value)

        found["cupy"] = stream, write
    if "torch" in LIBRARIES:
        import torch  # type: ignore[import-not-found]

        ours = torch.cuda.Stream()
        matrix = torch.ones((3000, 3000), device="cuda", dtype=torch.float64)

        def write_tensor(array: Any, value: float) -> None:
            with torch.cuda.stream(ours):
                for _ in range(6):
                    torch.matmul(matrix, matrix)
                array.fill_(value)

        found["torch"] = ours, write_tensor
    return found


@dataclass
class Streamed:
    """A halo of the next rank's values, with a library's arrays for it and one of its streams."""

    halo: vicinal.Halo
    name: str
    stream: Any
    write: Callable[[Any, float], None]
    owned: Any
    ghosts: Any


def of_all_streams(comm: MPI.Intracomm, count: int, check: Callable[[Streamed], None]) -> None:
    """Calls `check` for each device transport and each library with streams, with `count` values."""
    streams = busy_streams()
    if not comm.allreduce(len(streams) > 0, MPI.MIN):
        skip("needs cupy or torch, and a GPU")
    needed = np.arange(count) + (comm.rank + 1) % comm.size * count
    for way in ("staged", "shared", "lent"):
        for name, (stream, write) in streams.items():
            rows = (comm.rank * count, comm.rank * count + count)
            halo = vicinal.Halo(comm, rows, needed, settings=Settings(device_way=way, in_flight=1))
            owned, ghosts = (LIBRARIES[name].put(np.zeros(count)) for _ in range(2))
            check(Streamed(halo, name, stream, write, owned, ghosts))
            del halo
            # Sent arrays stay alive until the halo is gone on all ranks.
            comm.Barrier()


@case
def streams_are_followed(comm: MPI.Intracomm) -> None:
    """An exchange runs after the pending work of its stream."""

    def check(it: Streamed) -> None:
        for number in range(1, 5):
            it.write(it.owned, float(number))
            it.halo.exchange(it.owned, it.ghosts, stream=it.stream)
            assert (LIBRARIES[it.name].get(it.ghosts) == number).all()

    of_all_streams(comm, 1000, check)


def on(name: str, stream: Any) -> Any:
    """Returns the context in which a library uses a stream."""
    if name == "cupy":
        return stream
    import torch

    return torch.cuda.stream(stream)


@case
def streams_wait(comm: MPI.Intracomm) -> None:
    """Work enqueued on a stream after an exchange runs after the GPU's remaining writes."""

    def check(it: Streamed) -> None:
        for number in range(1, 9):
            it.write(it.owned, float(number))
            assert it.halo.start(it.owned, it.ghosts, stream=it.stream).wait(it.stream) is it.ghosts
            with on(it.name, it.stream):
                doubled = it.ghosts * 2
            it.stream.synchronize()
            assert (LIBRARIES[it.name].get(doubled) == 2.0 * number).all()

    of_all_streams(comm, 1_000_000, check)
