"""Settings that change how an exchange runs but not what it delivers: `progress`, `verify` and
others."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import vicinal
from harness import Indices, case, expect_error, few, region_kinds, skip, values
from mpi4py import MPI
from vicinal import Settings, _core

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("aggregate", {"progress": "strict"}), ("aggregate", {"progress": "relaxed"}), ("aggregate", {"verify": True}),
    ("aggregate", {"verify": 1}), ("aggregate", {"verify": False}),
    ("aggregate", {"progress": "strict", "verify": True}), ("automatic", {"choice": "measure"}),
    ("automatic", {"choice": "adaptive", "bias": {"direct": 2}}),
    ("automatic", {"choice": "measure", "verify": True, "progress": "strict"}),
]
"""Strategies, and fields of `Settings`."""
UNREADABLE: dict[str, tuple[dict[str, Any], str]] = {
    "a word for progress": ({"progress": "eager"}, "vicinal_progress is 'eager', but 'relaxed' or 'strict'"),
    "a bool for progress": ({"progress": True}, "vicinal_progress is 'True', but 'relaxed' or 'strict'"),
    "a number for verify": ({"verify": 2}, "vicinal_verify is '2', but '1' or '0'"),
    "a word for verify": ({"verify": "yes"}, "vicinal_verify is 'yes', but '1' or '0'"),
}


@contextmanager
def profile_file(comm: MPI.Intracomm, **changes: Any) -> Iterator[Path]:
    """Yields the path of a profile in this rank's own folder; `changes` replace fields of the
    default profile."""
    content = json.loads(_core.Profile.default().to_json()) | changes
    with tempfile.TemporaryDirectory(prefix=f"vicinal-{comm.rank}-") as folder:
        path = Path(folder, "profile.json")
        path.write_text(json.dumps(content))
        yield path


def check_halo(comm: MPI.Intracomm, seed: int, strategy: str | None = None, **settings: Any) -> vicinal.Halo:
    """Checks the values that a halo delivers in both directions."""
    indices = Indices(comm, seed, by_range=False)
    halo = vicinal.Halo(comm, indices.owned, indices.needed, strategy=strategy, settings=Settings(**settings))
    x = values(indices.owned, (2,))
    np.testing.assert_array_equal(halo.exchange(x), values(indices.needed, (2,)))
    times = sum(np.bincount(each, minlength=60) for each in comm.allgather(indices.places))
    mine = np.ones(len(indices.owned))
    halo.reverse(mine, np.ones(len(indices.needed)))
    np.testing.assert_array_equal(mine, 1 + times[indices.first : indices.last])
    return halo


def ring(comm: MPI.Intracomm) -> tuple[list[int], list[int]]:
    return [(comm.rank - 1) % comm.size], [(comm.rank + 1) % comm.size]


def check_graph(comm: MPI.Intracomm, graph: vicinal.Graph, strategy: str | None = None, **settings: Any) -> None:
    """Checks an alltoall along a ring: persistent (with strategy and settings), blocking and
    nonblocking."""
    x, y = np.zeros(1), np.zeros(1)

    def verify(turn: int) -> None:
        assert y[0] == (comm.rank - 1) % comm.size + 100 * turn, (y[0], turn)

    with graph.Neighbor_alltoall_init(x, y, strategy=strategy, settings=Settings(**settings)) as request:
        for turn in range(2):
            x[0] = comm.rank + 100 * turn
            request.start()
            request.wait()
            verify(turn)
    # More calls than those that send one message per edge.
    for turn in range(2, 12):
        x[0] = comm.rank + 100 * turn
        graph.Ineighbor_alltoall(x, y).wait()
        verify(turn)
    x[0] = comm.rank + 1200
    graph.Neighbor_alltoall(x, y)
    verify(12)


@case
def halos_however_they_are_progressed_and_proved(comm: MPI.Intracomm) -> None:
    for regions in region_kinds(comm.size) if few(comm.size) else region_kinds(comm.size)[:1]:
        for strategy, settings in SETTINGS:
            check_halo(comm, 811, strategy, **settings, regions=regions)


@case
def graphs_however_they_are_progressed_and_proved(comm: MPI.Intracomm) -> None:
    blocks = Settings(regions="blocks:2")
    for strategy, settings in SETTINGS:
        graph = vicinal.Graph(comm, *ring(comm), strategy=strategy, settings=replace(blocks, **settings))
        check_graph(comm, graph)
        other = vicinal.Graph(comm, *ring(comm), strategy="aggregate", settings=blocks)
        check_graph(comm, other, strategy, **settings)


@case
def strict_progress_goes_direct(comm: MPI.Intracomm) -> None:
    """Strict progress selects `direct` for a halo, a graph and a single request; relaxed progress
    keeps the strategy."""
    x, y = np.zeros(1), np.zeros(1)
    blocks = Settings(regions="blocks:2")
    for progress, strategy in ("strict", "direct"), ("relaxed", "aggregate"):
        assert check_halo(comm, 812, "aggregate", regions="blocks:2", progress=progress).strategy == strategy
        settings = replace(blocks, progress=progress)
        graph = vicinal.Graph(comm, *ring(comm), strategy="aggregate", settings=settings)
        assert graph.Neighbor_alltoall_init(x, y).strategy == strategy
        plain = vicinal.Graph(comm, *ring(comm), strategy="aggregate", settings=blocks)
        assert plain.Neighbor_alltoall_init(x, y, settings=Settings(progress=progress)).strategy == strategy


@case
def mpi_may_block_under_strict_progress(comm: MPI.Intracomm) -> None:
    """The last rank waits for the other ranks in MPI before it calls vicinal again."""
    indices = Indices(comm, 813)
    halo = vicinal.Halo(
        comm, (indices.first, indices.last), indices.needed, settings=Settings(progress="strict", regions="blocks:2")
    )
    exchange = halo.start(values(indices.owned))
    if comm.rank == comm.size - 1:
        comm.Barrier()
        ghosts = exchange.wait()
    else:
        ghosts = exchange.wait()
        comm.Barrier()
    np.testing.assert_array_equal(ghosts, values(indices.needed))


@case
def settings_that_cannot_be_read(comm: MPI.Intracomm) -> None:
    """Errors on all ranks, or on one of them, reach all ranks; the next call works."""
    owned = (comm.rank, comm.rank + 1)
    faulty = comm.size - 1
    graph = vicinal.Graph(comm, *ring(comm))
    x, y = np.zeros(1), np.zeros(1)
    for wrong, words in UNREADABLE.values():
        for mine in (True, comm.rank == faulty):
            given = Settings(**wrong) if mine else None
            kind = "info" if mine else "remote"
            expect_error(kind, words, lambda given=given: vicinal.Halo(comm, owned, [], settings=given))
            expect_error(kind, words, lambda given=given: vicinal.Graph(comm, *ring(comm), settings=given))
            told = words if mine else f"on rank {faulty}"
            expect_error(kind, told, lambda given=given: graph.Neighbor_alltoall_init(x, y, settings=given))
    check_halo(comm, 814, verify=True)
    check_graph(comm, graph)


@case
def settings_that_do_not_apply(comm: MPI.Intracomm) -> None:
    """The message names the object, the setting, and the objects that can use it. All ranks learn of
    one rank's mistake."""
    faulty = comm.size - 1
    graph, complete = vicinal.Graph(comm, *ring(comm)), vicinal.Graph.complete(comm)
    x, y, everything = np.zeros(1), np.zeros(1), np.zeros(comm.size)
    ring_planner, locality = Settings(allgather="ring"), Settings(exchange="locality")
    actions: list[tuple[str, Settings, Callable[[Any], Any]]] = [
        ("a halo cannot use the setting allgather; give it to a complete graph", ring_planner,
         lambda given: vicinal.Halo(comm, (comm.rank, comm.rank + 1), [], settings=given)),
        ("a graph cannot use the setting exchange; give it to a graph from one side or a sparse exchange", locality,
         lambda given: vicinal.Graph(comm, *ring(comm), settings=given)),
        ("a complete graph cannot use the setting exchange", locality,
         lambda given: vicinal.Graph.complete(comm, settings=given)),
        ("a graph from one side cannot use the setting allgather", ring_planner,
         lambda given: vicinal.Graph.from_sources(comm, ring(comm)[0], settings=given)),
        ("a persistent collective cannot use the setting regions; give it to a halo or", Settings(regions="node"),
         lambda given: graph.Neighbor_alltoall_init(x, y, settings=given)),
        ("a sparse exchange cannot use the setting in_flight; give it to a halo or a graph", Settings(in_flight=2),
         lambda given: vicinal.sparse_exchange(comm, {}, settings=given)),
    ]
    for words, wrong, act in actions:
        expect_error("argument", words, lambda act=act, wrong=wrong: act(wrong))
        mine = comm.rank == faulty
        kind, told, given = ("argument", words, wrong) if mine else ("remote", f"rank {faulty}", None)
        expect_error(kind, told, lambda act=act, given=given: act(given))
    for name in "in_flight", "idle_ranks", "exchange", "allgather":
        given = Settings(**{name: 1})  # refused before its value is read
        words = f"a persistent collective cannot use the setting {name}"
        expect_error(
            "argument", words, lambda given=given: complete.Neighbor_allgather_init(x, everything, settings=given)
        )
    check_graph(comm, graph)


@case
def settings_of_halos_that_differ(comm: MPI.Intracomm) -> None:
    if comm.size < 2:
        skip("needs 2 ranks")
    last = comm.size - 1
    owned = (comm.rank, comm.rank + 1)
    for name, common, other, told in [
        ("progress", "relaxed", "strict", "vicinal_progress is 'relaxed' on rank 0, but 'strict' on rank {}"),
        ("verify", False, True, "vicinal_verify is '0' on rank 0, but '1' on rank {}"),
    ]:
        given: Any = Settings(**{name: other if comm.rank == last else common})
        expect_error("info", told.format(last), lambda given=given: vicinal.Halo(comm, owned, [], settings=given))
        expect_error("info", told.format(last), lambda given=given: vicinal.Graph(comm, *ring(comm), settings=given))


@case
def profiles_of_one_content_in_different_places(comm: MPI.Intracomm) -> None:
    with profile_file(comm, name="tests") as path:
        for given in path, str(path):
            check_halo(comm, 815, profile=given, regions="blocks:2")
        graph = vicinal.Graph(comm, *ring(comm), settings=Settings(profile=path, regions="blocks:2"))
        check_graph(comm, graph)
        check_graph(comm, vicinal.Graph(comm, *ring(comm)), profile=path)
    # The library has cached the profile and does not read the file again.
    check_halo(comm, 816, profile=path)


@case
def profiles_that_differ_are_told(comm: MPI.Intracomm) -> None:
    """Differing profiles of halos, graphs and requests are reported on all ranks, by name and
    fingerprint."""
    if comm.size < 2:
        skip("needs 2 ranks")
    last = comm.size - 1
    owned = (comm.rank, comm.rank + 1)
    graph = vicinal.Graph(comm, *ring(comm))
    x, y = np.zeros(1), np.zeros(1)
    with profile_file(comm, name="ours", search=1e-8 if comm.rank == last else 2e-8) as path:
        mine = _core.Profile.read(str(path)).identity()
        first, other = comm.bcast(mine, 0), comm.bcast(mine, last)
        assert first != other and first.startswith("ours (fingerprint ")
        told = f"vicinal_profile is '{first}' on rank 0, but '{other}' on rank {last}"
        expect_error("info", told, lambda: vicinal.Halo(comm, owned, [], settings=Settings(profile=path)))
        expect_error("info", told, lambda: vicinal.Graph(comm, *ring(comm), settings=Settings(profile=path)))
        expect_error("info", told, lambda: graph.Neighbor_alltoall_init(x, y, settings=Settings(profile=path)))
        # The rank that gives no profile uses the default one.
        standard = _core.Profile.default().identity()
        told = f"'{standard}' on rank {last}"
        given = None if comm.rank == last else Settings(profile=path)
        expect_error("info", told, lambda: vicinal.Graph(comm, *ring(comm), settings=given))
    check_graph(comm, graph)


@case
def profiles_that_cannot_be_read(comm: MPI.Intracomm) -> None:
    """A profile that one rank cannot read is an error there; other ranks report it as remote."""
    faulty = comm.size - 1
    graph = vicinal.Graph(comm, *ring(comm))
    x, y = np.zeros(1), np.zeros(1)
    with profile_file(comm, handover=-1) as wrong, profile_file(comm) as right:
        for path, words in [
            (wrong, "handover is -1, but a number of seconds, not negative, is expected"),
            (wrong.with_name("none.json"), "none.json' cannot be read: No such file or directory"),
        ]:
            mine = comm.rank == faulty
            given = Settings(profile=path if mine else right)
            kind = "info" if mine else "remote"
            told = f"vicinal_profile: profile '{path}'" if mine else f"rank {faulty}"
            for part in told, words if mine else told:
                expect_error(kind, part, lambda given=given: vicinal.Halo(
                    comm, (comm.rank, comm.rank + 1), [], settings=given))
                expect_error(kind, part, lambda given=given: vicinal.Graph(comm, *ring(comm), settings=given))
                expect_error(kind, part, lambda given=given: graph.Neighbor_alltoall_init(x, y, settings=given))
    check_graph(comm, graph)
