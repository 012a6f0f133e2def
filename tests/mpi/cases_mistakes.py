"""Mistakes of new users: each message says what was given, what is expected and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import vicinal
from harness import case, expect_error
from mpi4py import MPI
from vicinal import Settings

ANY_KIND = ("argument", "buffer", "communicator", "count", "datatype", "info", "operation", "request")


def expect_type_error(words: str, action: Callable[[], Any]) -> None:
    """Checks that the action raises TypeError with these words in its message."""
    try:
        action()
    except TypeError as error:
        assert words in str(error), f"{words!r} is not in: {error}"
        return
    raise AssertionError(f"no error was raised, but TypeError with {words!r} was expected")


@case
def indices_by_position_or_without_order(comm: MPI.Intracomm) -> None:
    owned, array = (comm.rank, comm.rank + 1), np.array

    def halo(words: str, *given: Any) -> None:
        expect_error("argument", words, lambda: vicinal.Halo(comm, *given))

    halo("owners is 'direct'; give a list or a one-dimensional array of whole numbers, and settings by name, as in strategy=",
         owned, [0], "direct")
    halo("needed is a set, which has no order; give a list, such as sorted(...)", owned, {0})
    halo("owned is a frozenset, which has no order", frozenset({comm.rank}), [0])
    halo("needed is a dict_keys, which has no order", owned, {0: 1}.keys())
    halo("needed is {0: [0]}; give a list", owned, {0: [0]})
    halo("needed is of type generator; give a list", owned, (i for i in range(1)))
    halo("needed is None; give a list", owned, None)
    halo("needed is 7; give a list", owned, 7)
    halo("owners is of type function; give a list", owned, [0], lambda i: i)
    halo("owned is a tuple of 3 entries; give (first, last) for a range, or else a list", (0, 1, 2), [0])
    halo("owned is a tuple of 1 entries", (0,), [0])
    halo("needed holds bool, such as True; give whole numbers (of a mask, numpy.flatnonzero makes them)", owned, array([True]))
    halo("needed holds float64, such as 0.0; give whole numbers (astype(int) makes them)", owned, [0.0])
    halo(f"needed holds object, such as {2**70}; give whole numbers below 2**63", owned, [2**70])
    halo("needed has a mask", owned, np.ma.masked_array([0, 0], [0, 1]))
    halo("owned has a mask", np.ma.masked_array([comm.rank], [0]), [0])
    expect_error("argument", "sources is 0; give a list", lambda: vicinal.Graph(comm, 0, [0]))
    expect_error("argument", "sources is a set", lambda: vicinal.Graph(comm, {0}, [0]))


@case
def settings_of_other_kinds(comm: MPI.Intracomm) -> None:
    owned = (comm.rank, comm.rank + 1)
    graph: Any = vicinal.Graph(comm, [comm.rank], [comm.rank])
    halo: Any = vicinal.Halo
    make: Any = Settings
    one = np.zeros(1)
    expect_type_error("unexpected keyword argument 'region'", lambda: make(region="node"))
    expect_type_error("positional argument", lambda: make("node"))
    expect_type_error("unexpected keyword argument 'regions'", lambda: halo(comm, owned, [], regions="node"))
    expect_type_error("unexpected keyword argument 'zzz'", lambda: graph.Neighbor_allgather_init(one, one, zzz=1))
    for words, wrong in {
        "settings is {'regions': 'node'}; give a vicinal.Settings": {"regions": "node"},
        "settings is 'node'; give a vicinal.Settings": "node",
        "settings is <class 'vicinal._settings.Settings'>; give a vicinal.Settings": Settings,
    }.items():
        actions: Sequence[Callable[[Any], Any]] = (
            lambda wrong: halo(comm, owned, [], settings=wrong),
            lambda wrong: vicinal.Graph(comm, [], [], settings=wrong),
            lambda wrong: vicinal.Graph.complete(comm, settings=wrong),
            lambda wrong: graph.Neighbor_alltoall_init(one, one, settings=wrong),
            lambda wrong: vicinal.Allgather_init(comm, one, np.zeros(comm.size), settings=wrong),
            lambda wrong: vicinal.sparse_exchange(comm, {}, settings=wrong),
        )
        for act in actions:
            expect_type_error(words, lambda act=act, wrong=wrong: act(wrong))
    for words, setting in {
        "regions is a set": make(regions={0, 1}),
        "regions is {0: 0}": make(regions={0: 0}),
        "regions holds float64, such as 0.5": make(regions=[0.5] * comm.size),
        "wisdom is 3; give the path of a file": make(wisdom=3),
        "bias['direct'] is 'x'; give a number above 0": make(bias={"direct": "x"}),
    }.items():
        expect_error("argument", words, lambda setting=setting: vicinal.Halo(comm, owned, [], settings=setting))
    expect_type_error("regions is None; give a text", lambda: vicinal.set_regions(comm, None))  # type: ignore[arg-type]


@case
def buffers_that_are_none(comm: MPI.Intracomm) -> None:
    """Invalid buffers on all ranks: each rank gets the message of its own mistake."""
    size = comm.size
    x, y = np.zeros(1), np.zeros(size)
    masked = np.ma.masked_array(np.zeros(size), [1] * size)
    graph = vicinal.Graph(comm, [comm.rank], [comm.rank])
    forms = "[array, counts, displs, type] or a shorter form"
    for words, send, receive in [
        ("recvbuf is 7, which is no array", x, 7),
        ("recvbuf is MPI.IN_PLACE, which only the whole of sendbuf can be", x, MPI.IN_PLACE),
        ("sendbuf is a list that begins with MPI.IN_PLACE", [MPI.IN_PLACE, 1], y),
        (f"sendbuf is a list that begins with 1.0, which is no array; give one as sendbuf (numpy.array makes one of numbers), or "
         f"{forms}", [1.0, 2.0, 3.0], y),
        ("sendbuf is a list that begins with 1, which", list(range(1, 9)), y),
        ("sendbuf is a list that begins with [1.0], which", [[1.0]], y),
        ("recvbuf is a list that begins with 0.0, which", x, [0.0] * size),
        ("sendbuf is 1.5, which is no array", 1.5, y),
        ("sendbuf is 'abc', which is no array", "abc", y),
        ("sendbuf is a list of 0 entries; give [array", [], y),
        ("one count, that of each block", (x, x), y),
        ("sendbuf has a mask", np.ma.masked_array(x, [1]), y),
        ("recvbuf has a mask", x, masked),
        ("the type in sendbuf is 'double'; give an mpi4py.MPI.Datatype", [x, 1, "double"], y),
        ("the type in sendbuf is <class 'float'>; give an mpi4py.MPI.Datatype", [x, 1, float], y),
        ("or MPI.BYTE", np.zeros(1, "f8,i4"), y),
    ]:
        expect_error(ANY_KIND, words, lambda send=send, receive=receive: vicinal.Allgather(comm, send, receive))
        comm.Barrier()
    for words, wrong in {
        "the type in sendbuf is 7; give an mpi4py.MPI.Datatype": [x, 7],
        "sendbuf begins with 1.0, which is no array": [1.0, MPI.DOUBLE],
        "sendbuf is array([0.]); give [array, counts, displs, types]": x,
    }.items():
        expect_error(ANY_KIND, words, lambda wrong=wrong: graph.Neighbor_alltoallw(wrong, [x, MPI.DOUBLE]))
    vicinal.Allgather(comm, np.full(1, float(comm.rank)), y)
    assert y.tolist() == list(range(size))


@case
def arrays_of_a_halo(comm: MPI.Intracomm) -> None:
    rank, size = comm.rank, comm.size
    halo = vicinal.Halo(comm, (4 * rank, 4 * rank + 4), [4 * ((rank + 1) % size)])
    x, whole = np.zeros(4), np.zeros(5)
    there = "its first dimension must be 5 (ghosts at the end), or 4 ("
    made, given = there + "an array of ghosts is made)", there + "with the ghosts in an array of their own)"
    masked = np.ma.masked_array(np.zeros(4), [0, 0, 0, 1])
    for words, action in {
        made: lambda: halo.start(np.zeros(6)),
        "x has shape (6,), but this rank owns 4 indices and has 1 ghosts: " + given: lambda: halo.reverse(np.zeros(6)),
        "x has shape (4,), but this rank owns 4 indices and has 1 ghosts: " + given: lambda: halo.persistent(x),
        "with an array of ghosts, its first dimension must be 4": lambda: halo.start(whole, np.zeros(1)),
        "x is of type list, which is no array": lambda: halo.start([0.0] * 4),
        "numpy.array makes one of a list": lambda: halo.start(x, [0.0]),
        "x has a mask": lambda: halo.start(masked),
        "the array of ghosts has a mask": lambda: halo.start(x, np.ma.masked_array([0.0], [0])),
        "view('int64')": lambda: halo.start(np.zeros(4, "M8[s]")),
        "the array of ghosts is the text 'sum'; give the operator by name, as in op='sum'": lambda: halo.reverse(whole, "sum"),
        "pairs of numpy.dtype": lambda: halo.reverse(np.zeros(5, "f8,i4"), op=MPI.MINLOC),
    }.items():
        expect_error(ANY_KIND, words, action)
        halo.exchange(x)
        halo.reverse(whole)
    assert len(halo.exchange(np.ma.masked_array(x))) == 1, "without a mask it is an array as any"
    expect_type_error("exchange is 7; give what start", lambda: halo.wait(7))  # type: ignore[arg-type]
    exchange = halo.start(x)
    wait_any: Any = vicinal.wait_any
    expect_type_error("give a list of exchanges and requests", lambda: wait_any(exchange))
    expect_type_error("an entry of pending is of type Halo", lambda: wait_any([halo]))
    assert wait_any([exchange]) == 0


@case
def messages_that_are_none(comm: MPI.Intracomm) -> None:
    exchange: Any = vicinal.sparse_exchange
    query: Any = vicinal.sparse_query
    for words, messages in {
        "messages is [0]; give a dict that maps ranks to arrays": [0],
        "messages is None; give a dict": None,
        "the list of ranks in messages holds <U1, such as 'a'; give whole numbers": {"a": np.zeros(1)},
        "the message is None: object cannot be exchanged; give an array of numbers": {0: None},
        "the message is of type generator: object cannot be exchanged": {0: (i for i in range(3))},
        "the message has a mask": {0: np.ma.masked_array([1.0, 2.0], [0, 1])},
    }.items():
        expect_error(("argument", "buffer", "datatype"), words, lambda messages=messages: exchange(comm, messages))
    expect_error("argument", "requests is [0]; give a dict", lambda: query(comm, [0], lambda rank, asked: asked))
    expect_type_error("answer is None; give a function of a rank and its request", lambda: query(comm, {0: [1]}, None))
    expect_error("datatype", "the reply is None", lambda: query(comm, {comm.rank: [1]}, lambda rank, asked: None))
    assert exchange(comm, {comm.rank: 3.5})[comm.rank].tolist() == [3.5], "a single value is an array of one"
    different = np.zeros(1, np.float32 if comm.rank else np.float64)
    if comm.size > 1:
        expect_error("datatype", "<f4 and <f8", lambda: exchange(comm, {0: different}))


@case
def single_values_where_one_is_due(comm: MPI.Intracomm) -> None:
    """A 0-d array has one value, as for mpi4py."""
    rank, size = comm.rank, comm.size
    left, right = (rank - 1) % size, (rank + 1) % size
    x, y, everything = np.array(rank + 1.0), np.array(0.0), np.zeros(size)
    for sent in (x, np.float64(rank + 1), [x, MPI.DOUBLE], [x, 1, "d"]):
        everything[:] = 0
        vicinal.Allgather(comm, sent, everything)
        assert everything.tolist() == [1.0 + each for each in range(size)]
    vicinal.Allgatherv(comm, x, everything)
    vicinal.Alltoallv(comm, [np.full(size, rank + 1.0), [1] * size], [everything, [1] * size])
    assert everything.tolist() == [1.0 + each for each in range(size)]
    graph = vicinal.Graph(comm, [left], [right])
    collectives: Sequence[Callable[[Any, Any], None]] = (
        graph.Neighbor_alltoall, graph.Neighbor_alltoallv, graph.Neighbor_allgather, graph.Neighbor_allgatherv,
    )
    for collective in collectives:
        y[...] = 0
        collective(x, y)
        assert y == left + 1
    halo = vicinal.Halo(comm, (rank, rank + 1), [right])
    assert halo.exchange(x).tolist() == [right + 1]
    halo.exchange(x, y)
    assert y == right + 1
    assert halo.reverse(x, y) == 2 * (rank + 1)
    alone = vicinal.Halo(comm, (rank, rank + 1), [])
    assert alone.exchange(x).tolist() == [] and alone.reverse(x) == 2 * (rank + 1)
    frozen = np.array(0.0)
    frozen.flags.writeable = False
    expect_error("buffer", "read-only", lambda: graph.Neighbor_alltoall(x, frozen))


@case
def pairs_with_an_index(comm: MPI.Intracomm) -> None:
    """MPI's pair types of a number and an int, with MINLOC and MAXLOC."""
    rank, size = comm.rank, comm.size
    for first in ("i2", "i4", np.int_, "f4", "f8", "g"):
        pair = np.dtype([("value", first), ("index", "i4")], align=True)
        halo = vicinal.Halo(comm, (rank, rank + 1), list(range(size)))
        for op, best in ((MPI.MINLOC, 0), (MPI.MAXLOC, size - 1)):
            x, ghosts = np.array([(rank, rank)], pair), np.zeros(size, pair)
            ghosts["value"], ghosts["index"] = rank, 100 + rank
            halo.reverse(x, ghosts, op)
            assert x["value"] == best and x["index"] == (rank if rank == best else 100 + best), (pair, op, x)
        expect_error("operation", "pairs of ", lambda x=x, g=ghosts, halo=halo: halo.reverse(x, g))
