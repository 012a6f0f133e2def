"""Sparse exchanges and queries, compared with messages that all ranks gather."""

from __future__ import annotations

from typing import Any

import numpy as np
import vicinal
from harness import case, expect_error, region_kinds
from mpi4py import MPI
from numpy.typing import NDArray
from vicinal import Settings

METHODS = ["automatic", "personalized", "nonblocking", "locality", "locality-personalized"]


def all_settings(size: int) -> list[Settings]:
    return [
        Settings(exchange=method, regions=regions, local=local)
        for i, method in enumerate(METHODS)
        for regions in region_kinds(size)[i % 2 :]
        for local in ("shared", "messages")
    ]


def random_messages(comm: MPI.Intracomm, seed: int, dtype: str) -> dict[int, NDArray[Any]]:
    """Returns messages to some ranks, of any length; some are empty, some all zeros."""
    rng = np.random.default_rng([seed, comm.rank])
    chosen = rng.permutation(comm.size)[: int(rng.integers(0, min(comm.size, 4) + 1))]
    return {int(peer): rng.integers(0, 2, int(rng.integers(0, 20)) // 2 * 2).astype(dtype) for peer in chosen}


@case
def exchange_of_random_messages(comm: MPI.Intracomm) -> None:
    types = ["f8", "i4", "c16", "u1", "?", ">f8", "M8[s]", "S3"]
    for seed, settings in enumerate(all_settings(comm.size)):
        dtype = types[seed % len(types)]
        sent = random_messages(comm, seed, dtype)
        expected = {rank: theirs[comm.rank] for rank, theirs in enumerate(comm.allgather(sent)) if comm.rank in theirs}
        received = vicinal.sparse_exchange(comm, sent, settings=settings)
        assert list(received) == list(expected), (settings, list(received), list(expected))
        for rank, array in expected.items():
            assert received[rank].dtype == array.dtype, (received[rank].dtype, array.dtype)
            np.testing.assert_array_equal(received[rank], array)


@case
def exchange_of_large_and_of_strided_arrays(comm: MPI.Intracomm) -> None:
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    received = vicinal.sparse_exchange(comm, {right: np.arange(100_000)[::-2] + comm.rank})
    np.testing.assert_array_equal(received[left], np.arange(100_000)[::-2] + left)
    assert vicinal.sparse_exchange(comm, {right: [1, 2]})[left].tolist() == [1, 2]
    assert vicinal.sparse_exchange(comm, {}) == {}


@case
def query_of_random_requests(comm: MPI.Intracomm) -> None:
    for seed, settings in enumerate(all_settings(comm.size)):
        asked = random_messages(comm, 100 + seed, "i8")
        seen = []

        def answer(rank: int, request: NDArray[Any], seen: list[int] = seen) -> NDArray[Any]:
            seen.append(rank)
            return request[::2] * 0.5 + comm.rank

        replies = vicinal.sparse_query(comm, asked, answer, settings=settings)
        askers = [rank for rank, theirs in enumerate(comm.allgather(list(asked))) if comm.rank in theirs]
        assert seen == askers
        assert list(replies) == sorted(asked)
        for rank, reply in replies.items():
            np.testing.assert_array_equal(reply, asked[rank][::2] * 0.5 + rank)


@case
def exchanges_that_do_not_fit(comm: MPI.Intracomm) -> None:
    """All ranks learn of one rank's mistake."""
    mine = comm.rank == comm.size - 1

    def refused(kind: str, words: str, messages: Any) -> None:
        given = messages if mine else {comm.rank: np.zeros(2)}
        expect_error(kind if mine else "remote", words, lambda: vicinal.sparse_exchange(comm, given))

    refused("rank", "has ranks 0 to", {comm.size: np.zeros(1)})
    refused("rank", "has ranks 0 to", {-1: np.zeros(1)})
    refused("argument", "whole numbers", {"a": np.zeros(1)})
    refused("argument", "give a dict", [np.zeros(1)])
    refused("buffer", "one-dimensional", {0: np.zeros((2, 2))})
    refused("buffer", "one-dimensional", {0: np.zeros((2, 2))})
    refused("datatype", "cannot be exchanged", {0: np.array([None])})
    refused("datatype", "cannot be exchanged", {0: np.zeros(2, "i4,f8")})
    if comm.size > 1:
        refused("datatype", "must hold the same", {0: np.zeros(1), 1: np.zeros(1, "f4")})
        expect_error(
            "datatype", "different types", lambda: vicinal.sparse_exchange(comm, {0: np.zeros(2, "i4" if mine else "f4")})
        )
        methods = {True: Settings(exchange="locality"), False: Settings(exchange="nonblocking")}
        expect_error(
            "info", "; all ranks must give the same",
            lambda: vicinal.sparse_exchange(comm, {}, settings=methods[mine]),
        )
    for kind, words, settings in [
        ("info", "vicinal_exchange is 'fastest', but 'automatic', 'personalized'", Settings(exchange="fastest")),
        ("topology", "not known", Settings(regions="islands")),
    ]:
        expect_error(kind, words, lambda settings=settings: vicinal.sparse_exchange(comm, {}, settings=settings))
    choice, words = Settings(choice="measure"), "a sparse exchange cannot use the setting choice; give it to a halo or"
    expect_error("argument", words, lambda: vicinal.sparse_exchange(comm, {}, settings=choice))
    expect_error("argument", words, lambda: vicinal.sparse_query(comm, {}, lambda rank, asked: asked, settings=choice))


@case
def queries_that_cannot_be_answered(comm: MPI.Intracomm) -> None:
    """An exception in an answer is raised on its rank; the other ranks report it as remote."""

    def answer(rank: int, request: NDArray[Any]) -> NDArray[Any]:
        if comm.rank == 0:
            raise KeyError("no such thing")
        return request

    try:
        vicinal.sparse_query(comm, {0: np.zeros(1)}, answer)
    except KeyError:
        assert comm.rank == 0
    except vicinal.Error as error:
        assert comm.rank != 0 and error.kind == "remote" and "no such thing" in str(error), str(error)
    else:
        raise AssertionError("nothing was raised")
    expect_error(
        "buffer" if comm.rank == 0 else "remote", "one-dimensional",
        lambda: vicinal.sparse_query(comm, {0: np.zeros(1)}, lambda rank, request: np.zeros((2, 2))),
    )
    echo = vicinal.sparse_query(comm, {0: np.full(1, comm.rank)}, lambda rank, request: request + rank)
    assert echo[0].tolist() == [2 * comm.rank]
