"""Errors are reported on the ranks concerned, and no rank is left waiting."""

from __future__ import annotations

from typing import Any

import numpy as np
import vicinal
from harness import Indices, case, expect_error, region_kinds, skip, values
from mpi4py import MPI
from vicinal import Settings


def others_say(comm: MPI.Intracomm, faulty: int, kind: str, own: str) -> tuple[str, str]:
    """Returns the kind and words of one rank's fault: its own kind there, "remote" on other
    ranks."""
    return (kind, own) if comm.rank == faulty else ("remote", own)


@case
def indices_that_cannot_be(comm: MPI.Intracomm) -> None:
    first, last, end = 3 * comm.rank, 3 * comm.rank + 3, 3 * comm.size
    faulty = comm.size - 1
    mine = comm.rank == faulty
    any_kind = ("argument", "remote")
    expect_error(any_kind, str(end), lambda: vicinal.Halo(comm, (first, last), [end] if mine else []))
    expect_error(any_kind, str(end), lambda: vicinal.Halo(comm, np.arange(first, last), [end] if mine else []))
    expect_error(any_kind, "negative", lambda: vicinal.Halo(comm, (first, last), [-1] if mine else [0]))
    if comm.size > 1:
        expect_error(any_kind, "own", lambda: vicinal.Halo(comm, (0 if mine else first, last), []))
        twice = [*range(first, last), 1] if mine else list(range(first, last))
        expect_error(any_kind, "1", lambda: vicinal.Halo(comm, twice, []))
        wrong = [0 if mine else comm.rank]
        expect_error(any_kind, "own", lambda: vicinal.Halo(comm, (first, last), [first], wrong))
    repeated = [first, first] if mine else [first]
    expect_error(any_kind, "once", lambda: vicinal.Halo(comm, repeated, []))
    no_rank = [comm.size if mine else comm.rank]
    expect_error(("rank", "remote"), "rank", lambda: vicinal.Halo(comm, (first, last), [first], no_rank))


@case
def arguments_of_one_rank(comm: MPI.Intracomm) -> None:
    """Other ranks learn of an error that only Python can detect."""
    owned = (comm.rank, comm.rank + 1)
    mine = comm.rank == comm.size // 2

    def refused(kind: str, words: str, wrong: dict, right: dict) -> None:
        given = {"owned": owned, "needed": [], **(wrong if mine else right)}
        expect_error(kind if mine else "remote", words, lambda: vicinal.Halo(comm, **given))

    refused("argument", "whole numbers", {"needed": [0.5]}, {})
    refused("argument", "one-dimensional", {"needed": [[0]]}, {})
    refused("argument", "range", {"owned": (2, 1)}, {})
    refused("argument", "two whole numbers", {"owned": (0, "b")}, {})
    refused("argument", "2 owners", {"owners": [0, 0], "needed": [0]}, {"owners": []})
    refused("info", "vicinal_strategy is 'fastest', but 'direct', 'nearest-first'", {"strategy": "fastest"}, {})
    refused("info", "vicinal_local", {"settings": Settings(local="pigeons")}, {})
    refused("info", "vicinal_in_flight", {"settings": Settings(in_flight=9)}, {})
    refused("info", "vicinal_choice is 'guess', but 'adaptive'", {"settings": Settings(choice="guess")}, {})
    refused("info", "vicinal_bias is 'direct', but a list as", {"settings": Settings(bias="direct")}, {})
    refused("info", "vicinal_bias is 'fastest:1.0', but", {"settings": Settings(bias={"fastest": 1})}, {})
    refused("argument", "whole numbers", {"settings": Settings(regions=["here"])}, {})


@case
def settings_on_all_ranks(comm: MPI.Intracomm) -> None:
    owned = (comm.rank, comm.rank + 1)
    expect_error("info", "direct", lambda: vicinal.Halo(comm, owned, [], strategy="fastest"))
    one_more, listed = Settings(regions=[0] * (comm.size + 1)), Settings(regions="list:0" + ",0" * comm.size)
    expect_error("topology", "labels", lambda: vicinal.Halo(comm, owned, [], settings=one_more))
    expect_error("topology", "not known", lambda: vicinal.Halo(comm, owned, [], settings=Settings(regions="islands")))
    expect_error("topology", "labels", lambda: vicinal.Graph(comm, [], [], settings=listed))
    expect_error("topology", "not known", lambda: vicinal.set_regions(comm, "islands"))
    if comm.size > 1:
        strategy = "direct" if comm.rank else "aggregate"
        told = "vicinal_strategy is 'aggregate' on rank 0, but 'direct' on rank 1"
        expect_error("info", told, lambda: vicinal.Halo(comm, owned, [], strategy=strategy))
        expect_error("info", told, lambda: vicinal.Graph(comm, [], [], strategy=strategy))
    expect_error("communicator", "COMM_NULL", lambda: vicinal.Halo(MPI.COMM_NULL, owned, []))
    try:
        vicinal.Halo("world", owned, [])  # type: ignore[arg-type]
    except TypeError as error:
        assert "communicator" in str(error)
    else:
        raise AssertionError("a text was taken for a communicator")


@case
def arrays_that_do_not_fit(comm: MPI.Intracomm) -> None:
    """Errors are reported before anything is sent, on the rank concerned; the halo stays usable."""
    size, rank = comm.size, comm.rank
    halo = vicinal.Halo(comm, (4 * rank, 4 * rank + 4), [4 * ((rank + 1) % size) + k for k in (0, 2, 2)])
    x, ghosts = np.zeros(4), np.zeros(3)
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    for words, arrays in {
        "first dimension must be 7": [np.zeros(5)],
        "first dimension must be 4": [np.zeros(7), ghosts],
        "first dimension must be 3": [x, np.zeros(4)],
        "those of x": [np.zeros((4, 2)), np.zeros((3, 3))],
        "x is not contiguous": [np.zeros(8)[::2]],
        "ghosts is not contiguous": [x, np.zeros(6)[::2]],
        "Fortran order": [np.zeros((4, 2)), np.zeros((3, 2), order="F")],
        "type object": [np.zeros(4, object)],
        "both must hold the same": [x, np.zeros(3, np.float32)],
        "read-only": [x, read_only],
        "x has shape (), but": [np.zeros(())],
        "no array": [[0.0] * 4],
        "of type NoneType": [None],
        "no value": [np.zeros((4, 0))],
        "overlap": [(whole := np.zeros(6))[:4], whole[3:]],
    }.items():
        expect_error(("buffer", "datatype"), words, lambda arrays=arrays: halo.start(*arrays))
        assert len(halo.exchange(x)) == 3
    frozen = np.zeros(7)
    frozen.flags.writeable = False
    expect_error("buffer", "read-only", lambda: halo.start(frozen))
    expect_error("buffer", "read-only", lambda: halo.reverse(frozen))
    expect_error("buffer", "ghosts in an array of their own", lambda: halo.reverse(x))


@case
def operators_that_do_not_fit(comm: MPI.Intracomm) -> None:
    halo = vicinal.Halo(comm, (comm.rank, comm.rank + 1), [(comm.rank + 1) % comm.size])

    def reverse(dtype: str, op: object) -> None:
        halo.reverse(np.zeros(1, dtype), np.zeros(1, dtype), op)  # type: ignore[arg-type]

    expect_error("operation", "'mean'", lambda: reverse("f8", "mean"))
    expect_error("operation", "give 'sum'", lambda: reverse("f8", None))
    expect_error("operation", "MPI_OP_NULL", lambda: reverse("f8", MPI.OP_NULL))
    expect_error("operation", "x holds complex128: MPI_MAX cannot combine", lambda: reverse("c16", "max"))
    expect_error("operation", "float64", lambda: reverse("f8", MPI.BAND))
    expect_error("datatype", "float16", lambda: reverse("f2", "sum"))
    expect_error("datatype", "replace", lambda: reverse(">f8", "sum"))
    reverse("f2", "replace")


@case
def states_that_do_not_fit(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 401)
    halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, settings=Settings(in_flight=2))
    exchanges = [halo.start(values(indices.owned)) for _ in range(2)]
    expect_error("request", "in flight", lambda: halo.start(values(indices.owned)))
    halo.wait()
    for exchange in exchanges:
        np.testing.assert_array_equal(exchange.wait(), values(indices.needed))
    halo.free()
    expect_error("request", "freed", lambda: halo.start(values(indices.owned)))
    expect_error("request", "freed", lambda: halo.send_map)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    graph = vicinal.Graph(comm, [left], [right])
    request = graph.Neighbor_alltoallv_init(np.zeros(1), np.zeros(1))
    request.start()
    expect_error("request", "again", request.start)
    request.free()
    expect_error("request", "freed", request.start)
    assert request.test()


@case
def all_to_alls_that_do_not_fit(comm: MPI.Intracomm) -> None:
    """One rank of a ring has an error; it and its neighbors report it, and all can continue."""
    size, rank = comm.size, comm.rank
    right, left = (rank + 1) % size, (rank - 1) % size
    faulty = size - 1
    fine = np.zeros(4)
    for regions in region_kinds(size):
        graph = vicinal.Graph(comm, [left], [right], settings=Settings(regions=regions))
        read_only = np.zeros(4)
        read_only.flags.writeable = False
        for words, kind, send, receive in [
            ("negative", "count", [fine, [-1]], [np.zeros(4), [1]]),
            ("2 counts", "argument", [fine, [1]], [np.zeros(4), [1, 1]]),
            ("buffer has 32 bytes", "buffer", [fine, [5]], [np.zeros(4), [1]]),
            ("covers bytes -8", "buffer", [fine, [1], [-1]], [np.zeros(4), [1]]),
            ("read-only", "buffer", [fine, [1]], [read_only, [1]]),
            ("not contiguous", "buffer", [np.zeros(8)[::2], [1]], [np.zeros(4), [1]]),
            ("whole numbers", "argument", [fine, [0.5]], [np.zeros(4), [1]]),
            ("no type of its own", "datatype", [np.zeros(4, "V3"), [1]], [np.zeros(4), [1]]),
        ]:
            mine = rank == faulty
            given = (send, receive) if mine else ([fine, [1]], [np.zeros(4), [1]])
            try:
                request = graph.Neighbor_alltoallv_init(*given)
            except vicinal.Error as error:
                assert error.kind == kind if mine else error.kind == "remote", (error.kind, str(error))
                assert not mine or words in str(error), str(error)
            else:
                near = {faulty, (faulty + 1) % size, (faulty - 1) % size}
                assert rank not in near, f"rank {rank} heard nothing of {words!r}"
                del request
            comm.Barrier()
        # The send count of one edge differs from its receive count.
        counts = [2 if rank == faulty else 1]
        if rank in (faulty, (faulty + 1) % size):
            expect_error(
                ("count", "remote"), "", lambda g=graph, c=counts: g.Neighbor_alltoallv_init([fine, c], [np.zeros(4), [1]])
            )
        else:
            try:
                graph.Neighbor_alltoallv_init([fine, counts], [np.zeros(4), [1]])
            except vicinal.Error as error:
                assert error.kind == "remote"
        comm.Barrier()
        y = np.zeros(1)
        graph = vicinal.Graph(comm, [left], [right], settings=Settings(regions=regions))
        request = graph.Neighbor_alltoallv_init(np.array([rank + 1.0]), y)
        request.start()
        request.wait()
        assert y[0] == left + 1


@case
def graphs_that_do_not_fit(comm: MPI.Intracomm) -> None:
    mine = comm.rank == 0
    for words, kind, sources in [
        ("ranks 0 to", "rank", [comm.size]), ("ranks 0 to", "rank", [-1]), ("whole numbers", "argument", ["a"]),
    ]:
        expect_error(kind if mine else "remote", words, lambda s=sources: vicinal.Graph(comm, s if mine else [], []))
    graph = vicinal.Graph(comm, [comm.rank], [comm.rank])
    y = np.zeros(2)
    own = lambda **more: graph.Neighbor_alltoallv_init([np.ones(2), [2]], [y, [2]], **more)  # noqa: E731
    expect_error("argument", "1 identities", lambda: own(items=[3]))
    expect_error("argument", "negative", lambda: own(items=[3, -1]))
    expect_error("info", "vicinal_strategy is 'fastest', but", lambda: own(strategy="fastest"))
    request = own(items=[3, 4])
    request.start()
    request.wait()
    assert y.tolist() == [1, 1]


@case
def one_sided_edges(comm: MPI.Intracomm) -> None:
    """All ranks report an edge that only one end gives."""
    if comm.size < 2:
        skip("needs 2 ranks")
    last = comm.size - 1
    told = f"rank 0 has 1 edge to rank {last}, but rank {last} has 0 edges from rank 0"
    mine = [last] if comm.rank == 0 else []
    expect_error("count", told, lambda: vicinal.Graph(comm, [], mine))
    told = f"rank {last} has 0 edges to rank 0, but rank 0 has 1 edge from rank {last}"
    expect_error("count", told, lambda: vicinal.Graph(comm, mine, []))
    graph = vicinal.Graph(comm, [comm.rank], [comm.rank])
    received = np.zeros(1)
    graph.Neighbor_alltoall(np.ones(1), received)
    assert received[0] == 1


@case
def settings_that_differ(comm: MPI.Intracomm) -> None:
    """All ranks report each setting that differs, with two ranks and both values."""
    if comm.size < 2:
        skip("needs 2 ranks")
    last = comm.size - 1
    ring = [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size]
    differing: dict[str, tuple[Any, Any]] = {
        "local": ("shared", "messages"), "split_bytes": (100, 200), "radix": (0, 3), "in_flight": (1, 8),
        "regions": ("blocks:1", "blocks:2"),
        "progress": ("relaxed", "strict"), "choice": ("measure", "estimate"), "bias": ("direct:2", "direct:3"),
        "wisdom": ("/nonexistent/a", "/nonexistent/b"),
    }
    for name, (common, other) in differing.items():
        told = f"vicinal_{name} is '{common}' on rank 0, but '{other}' on rank {last}"
        settings = Settings(**{name: other if comm.rank == last else common})
        expect_error("info", told, lambda settings=settings: vicinal.Graph(comm, *ring, settings=settings))
    mine = 1 if comm.rank == last else 0
    strategy = ("aggregate", "direct")[mine]
    allgather = Settings(allgather=("ring", "bruck")[mine])
    exchange = Settings(exchange=("locality", "personalized")[mine])
    told = "vicinal_{} is '{}' on rank 0, but '{}' on rank {}"
    expect_error("info", told.format("strategy", "aggregate", "direct", last),
                 lambda: vicinal.Graph(comm, *ring, strategy=strategy))
    expect_error("info", told.format("allgather", "ring", "bruck", last),
                 lambda: vicinal.Graph.complete(comm, settings=allgather))
    expect_error("info", told.format("exchange", "locality", "personalized", last),
                 lambda: vicinal.Graph.from_sources(comm, ring[0], settings=exchange))


@case
def what_python_raises_is_told_to_the_neighbours(comm: MPI.Intracomm) -> None:
    """Exceptions other than vicinal's, raised while one rank's arguments are read, reach its
    neighbors."""
    last = comm.size - 1
    mine = comm.rank == last
    everybody = list(range(comm.size))
    graph = vicinal.Graph(comm, everybody, everybody)
    freed = MPI.DOUBLE.Create_contiguous(1).Commit()
    freed.Free()

    class Unreadable:
        @property
        def __array_interface__(self) -> dict:
            raise RuntimeError("not on this machine")

    for wrong, words in ([np.zeros(comm.size), freed], "Exception"), (Unreadable(), "not on this machine"):
        x, y = np.full(comm.size, float(comm.rank)), np.empty(comm.size)
        try:
            graph.Neighbor_alltoall(wrong if mine else x, y)
        except vicinal.Error as error:
            assert words in str(error) if mine else error.kind in ("remote", "count"), error
        else:
            raise AssertionError(f"rank {comm.rank} was told nothing of {words}")
        graph.Neighbor_alltoall(x, y)  # all ranks are at the same call
        assert (y == everybody).all(), y


@case
def other_byte_orders_are_refused(comm: MPI.Intracomm) -> None:
    everybody = list(range(comm.size))
    graph = vicinal.Graph(comm, everybody, everybody)
    x, y = np.zeros(comm.size), np.zeros(comm.size)
    swapped = x.astype(x.dtype.newbyteorder("S"))
    expect_error("datatype", "byte order", lambda: graph.Neighbor_alltoall(swapped, y))
    expect_error("datatype", "byte order", lambda: graph.Neighbor_alltoall(x, swapped))
    graph.Neighbor_alltoall([swapped, MPI.BYTE], [y, MPI.BYTE])


@case
def waiting_for_any_forgets_what_has_failed(comm: MPI.Intracomm) -> None:
    if comm.size < 2:
        skip("needs 2 ranks")
    last = comm.size - 1
    following, preceding = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    halo = vicinal.Halo(
        comm, (comm.rank, comm.rank + 1), [following, preceding], strategy="direct", settings=Settings(in_flight=1)
    )
    x = np.array([float(comm.rank)])
    if comm.rank == last:
        expect_error("buffer", "", lambda: halo.start(np.zeros(5)))
    else:
        exchange = halo.start(x)
        if last in (following, preceding):
            expect_error("remote", "", lambda: vicinal.wait_any([exchange]))
        else:
            vicinal.wait_any([exchange])
        assert vicinal.wait_any([exchange]) is None
    comm.Barrier()
    ghosts = halo.start(x).wait()
    assert list(ghosts) == [following, preceding], ghosts
