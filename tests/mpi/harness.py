"""Cases that run on all ranks of a launch; since a launch takes seconds, one launch runs many.

A rank that fails reports it and ends all ranks, because the others would wait for it.
"""

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import vicinal
from mpi4py import MPI
from numpy.typing import NDArray
from vicinal import _core

Case = Callable[[MPI.Intracomm], None]
CASES: list[Case] = []
STRATEGIES = [name for name, _ in _core.strategies(with_reverse=True)]


def case(function: Case) -> Case:
    """Registers a function as a case."""
    CASES.append(function)
    return function


def region_kinds(size: int) -> list[str]:
    """Returns equal, unequal and round-robin regions; one of the unequal regions holds a single
    rank."""
    labels = [min(2, (rank + 1) // 3) if rank else 3 for rank in range(size)]
    return ["blocks:4", "list:" + ",".join(map(str, labels)), "round-robin:3"]


def combinations(size: int, **more: Any) -> list[dict[str, Any]]:
    """Returns every strategy with every kind of regions, with and without shared memory, as keyword
    arguments of a halo or a graph. `more` are fields of all settings."""
    return [
        {"strategy": strategy, "settings": vicinal.Settings(regions=regions, local=local, **more)}
        for strategy in STRATEGIES
        for regions in region_kinds(size)
        for local in ("shared", "messages")
    ]


TURN = itertools.count(0, 5)


def some_settings(size: int, count: int, **more: Any) -> list[dict[str, Any]]:
    """Returns a few of the combinations, different ones at each call."""
    settings, first = combinations(size, **more), next(TURN)
    return [settings[(first + i * 11) % len(settings)] for i in range(count)]


def all_settings(size: int) -> list[dict[str, Any]]:
    """Returns all combinations; with many ranks, a few of them."""
    return combinations(size) if few(size) else some_settings(size, 14)


class Skipped(Exception):
    """Raised by `skip`: the case neither passed nor failed."""


def skip(why: str) -> NoReturn:
    """Ends a case that cannot run here; `why` names the requirement. All ranks call it, or none."""
    raise Skipped(why)


def few(size: int) -> bool:
    """Returns whether the ranks are few enough for long cases to be complete."""
    return size <= 3


class Indices:
    """Global indices distributed among ranks at random: some ranks own none, some need none."""

    def __init__(self, comm: MPI.Intracomm, seed: int, total: int = 60, by_range: bool = True) -> None:
        common = np.random.default_rng(seed)
        own = np.random.default_rng([seed, comm.rank])
        cuts = np.sort(common.integers(0, total + 1, comm.size - 1))
        cuts = np.concatenate([[0], cuts, [total]])
        order = np.arange(total) if by_range else common.permutation(total) * 3 + 5
        self.first, self.last = int(cuts[comm.rank]), int(cuts[comm.rank + 1])
        self.owned: NDArray[np.int64] = order[self.first : self.last].astype(np.int64)
        self.all = order
        self.owner_of = np.repeat(np.arange(comm.size), np.diff(cuts))
        count = 0 if common.permutation(comm.size)[0] == comm.rank else int(own.integers(0, 25))
        self.places = own.choice(total, count)
        self.needed = order[self.places].astype(np.int64)
        self.owners = self.owner_of[self.places]


def values(indices: NDArray[Any], trailing: tuple[int, ...] = (), dtype: Any = np.float64) -> NDArray[Any]:
    """Returns a value for each index, which depends on the index alone."""
    width = int(np.prod(trailing, dtype=int))
    table = (indices.reshape(-1, 1) * 7 + np.arange(width) * 13) % 97
    array = table.reshape(len(indices), *trailing).astype(dtype)
    return array * (1 + 2j) if np.dtype(dtype).kind == "c" else array


def expect_error(kinds: str | tuple[str, ...], words: str, action: Callable[[], Any]) -> None:
    """Checks that the action raises vicinal.Error of one of these kinds, with these words in its
    message."""
    kinds = (kinds,) if isinstance(kinds, str) else kinds
    try:
        action()
    except vicinal.Error as error:
        assert error.kind in kinds, f"an error of kind {error.kind!r} and not {kinds}: {error}"
        assert words in str(error), f"{words!r} is not in: {error}"
        return
    raise AssertionError(f"no error was raised, but {kinds} with {words!r} was expected")


def run() -> None:
    """Runs all cases, or those whose name contains the argument; prints the totals last."""
    comm = MPI.COMM_WORLD
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    cases = [(f"{each.__module__}.{each.__name__}", each) for each in CASES]
    cases = [(name, each) for name, each in cases if wanted in name]
    skipped = 0
    for name, each in cases:
        line = f"ok {name}"
        try:
            each(comm)
        except Skipped as reason:
            line = f"skipped {name}: {reason}"
            skipped += 1
        except BaseException:
            print(f"FAILED {name} on rank {comm.rank} of {comm.size}:\n{traceback.format_exc()}", flush=True)
            comm.Abort(1)
            sys.exit(1)
        if comm.rank == 0:
            print(line, flush=True)
    if comm.allreduce(skipped, MPI.MAX) != skipped:
        print(f"FAILED rank {comm.rank} skipped {skipped} cases, and others skipped more", flush=True)
    if comm.rank == 0:
        print(f"{len(cases) - skipped} passed, 0 failed, {skipped} skipped", flush=True)
    if not cases:
        sys.exit(1)
