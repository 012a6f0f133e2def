"""What every rank does that a command starts: it finds its task, tells how far it is, and ends in time.

A timed stretch holds nothing but exchanges: ranks are brought together before it by a barrier that
gives way to the others while it waits, because a barrier that spins, with more ranks than cores, takes
longer than what is to be measured.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI

OneContestant = TypeVar("OneContestant")

COUNTED = ("nonlocal_messages", "nonlocal_elements", "local_messages", "local_elements", "shared_elements")
"""What ranks count of an exchange, in the order in which they leave it to the command."""
FOLDER_CHECK_SECONDS = 1.0
HOLD = "held"
"""A file in the folder that the command keeps locked; the system lets go of it when the command is killed."""
SAID = "said.json"
"""A file in the folder in which the first rank says what it runs on: which MPI, and what else there is to say."""
ELSEWHERE = "elsewhere: "
"""Marks the fault of a rank that only reports another's."""
AUTOMATIC = "automatic"
AGAIN = " again"
"""Marks the second part of a strategy that has two."""
SETTLED_AFTER = 260
"""After so many executions `automatic` has tried its alternatives, and goes by the quickest of them for good."""


def in_turn(contestants: Sequence[OneContestant], repetition: int) -> list[tuple[int, OneContestant]]:
    """All of them with their numbers, in the order of this repetition.

    Whoever comes after a slow one is up to a quarter faster or slower than after a fast one, so in as many repetitions
    as there are contestants, twice as many where their number is odd, each comes after each other equally often
    (Williams 1949: designs balanced for residual effects).
    """
    count = len(contestants)
    order = [(repetition + (place + 1) // 2 * (1 if place % 2 else -1)) % count for place in range(count)]
    if count % 2 and repetition % 2:
        order.reverse()
    return [(number, contestants[number]) for number in order]


class RankProcess:
    """One rank of a command: its communicator, and the folder through which it talks to the command."""

    def __init__(self, comm: MPI.Intracomm, folder: Path) -> None:
        self.comm = comm
        self.folder = folder
        self.facts: dict[str, Any] = {}
        """What the first rank says of where it runs, beside which MPI."""
        self.task: dict[str, Any] = json.loads((folder / "task.json").read_text())
        if comm.size != self.task["ranks"]:
            raise RuntimeError(
                f"{self.task['ranks']} ranks were started, but MPI says that there are {comm.size}: the "
                "launcher and the MPI library that mpi4py loads are not of one kind; give another --mpi"
            )

    def load(self, name: str) -> Any:
        """An array of the command's, mapped into memory."""
        return np.load(self.folder / f"{name}.npy", mmap_mode="r")

    def meet(self) -> None:
        """A barrier that leaves the core to ranks that are not there yet."""
        request = self.comm.Ibarrier()
        while not request.Test():
            os.sched_yield()

    def most_of(self, value: float) -> float:
        """The largest of all ranks' values, on each of them."""
        return max(self.comm.allgather(value))

    def report(self) -> None:
        """Tell the command that another step is done."""
        if self.comm.rank == 0:
            with (self.folder / "progress").open("ab") as file:
                file.write(b".")

    def leave(self, **results: Any) -> None:
        """Leave results to the command, and what they are of."""
        if self.comm.rank == 0:
            from mpi4py import MPI

            name, version = MPI.get_vendor()
            mpi = {"name": name, "version": ".".join(map(str, version))}
            (self.folder / SAID).write_text(json.dumps({"mpi": mpi, **self.facts}))
        np.savez(self.folder / f"result-{self.comm.rank}.npz", **results)


def settle(process: RankProcess, contestants: Sequence[str | None], runs: Sequence[Callable[[], None]]) -> None:
    """Run each contestant until it makes no trials any more, so that what is timed is what a long loop takes."""
    for contestant, run_once in zip(contestants, runs, strict=True):
        process.meet()
        if contestant is not None and contestant.removesuffix(AGAIN) == AUTOMATIC:
            for _ in range(SETTLED_AFTER):
                run_once()
        process.report()


def run(body: Callable[[RankProcess], None]) -> None:
    """Run one rank in the folder that the command line names; a fault is left there as one line, and
    ends all ranks."""
    folder = Path(sys.argv[1])
    _leave_with(folder)
    comm = None
    try:
        comm = _world()
        body(RankProcess(comm, folder))
    except Exception as error:  # whatever it is, the other ranks must not wait for this one
        text = " ".join(str(error).split()) or type(error).__name__
        where = f"rank {comm.rank}" if comm is not None else "a rank"
        kind = ELSEWHERE if getattr(error, "kind", None) == "remote" else ""
        # Renamed when it is whole: another rank's fault may end this process at any time.
        unfinished = folder / f"unfinished-{os.getpid()}"
        unfinished.write_text(f"{kind}{where}: {text}")
        unfinished.rename(folder / f"fault-{os.getpid()}")
        if comm is None:
            sys.exit(1)
        comm.Abort(1)


def _leave_with(folder: Path) -> None:
    """End this process when the command that it worked for has ended."""

    def watch() -> None:
        while not _is_deserted(folder):
            time.sleep(FOLDER_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_deserted(folder: Path) -> bool:
    """Whether the folder is gone, or the command was killed and could not take it along; then it goes now."""
    if not folder.exists():
        return True
    try:
        with (folder / HOLD).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False  # the command has it; or there are no locks here, and the folder alone tells
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _world() -> MPI.Intracomm:
    try:
        from mpi4py import MPI
    except Exception as error:
        text = f"mpi4py cannot load MPI ({error}); install mpi4py again, or give another --mpi"
        raise RuntimeError(text) from error
    return MPI.COMM_WORLD
