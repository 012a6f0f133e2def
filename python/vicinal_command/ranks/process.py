"""Shared parts of all ranks that a command starts: their task, progress and end.

A timed stretch contains only exchanges. A barrier precedes it, which yields the core while it
waits: with more ranks than cores, a spinning barrier takes longer than the measured exchange.
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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from mpi4py import MPI

OneContestant = TypeVar("OneContestant")

COUNTED = ("nonlocal_messages", "nonlocal_elements", "local_messages", "local_elements", "shared_elements")
"""Counts of an exchange, in the order in which ranks store them for the command."""
FOLDER_CHECK_SECONDS = 1.0
HOLD = "held"
"""A file that the command keeps locked. The system releases the lock if the command is killed."""
SAID = "said.json"
"""A file in the folder in which the first rank stores its MPI and further facts about the run."""
ELSEWHERE = "elsewhere: "
"""Prefix of a rank's error message that only reports another rank's error."""
AUTOMATIC = "automatic"
AGAIN = " again"
"""Suffix of a strategy's second contestant."""
SETTLED_AFTER = 260
"""Number of executions after which `automatic` has tried its alternatives and keeps the fastest."""


class Exchange(Protocol):
    """A contestant's exchange, set up and ready to run."""

    def run(self) -> None:
        """Runs one exchange to completion."""

    def counts(self) -> Sequence[int]:
        """Counts of one exchange on this rank, equally many for each contestant; 0 if unknown."""

    def free(self) -> None:
        """Frees its resources."""


def in_turn(contestants: Sequence[OneContestant], repetition: int) -> list[tuple[int, OneContestant]]:
    """All contestants with their numbers, in the order of this repetition.

    A contestant after a slow one is up to a quarter faster or slower than after a fast one. So each
    comes after each other equally often, in as many repetitions as there are contestants (twice as
    many for an odd number). See Williams 1949, designs balanced for residual effects.
    """
    count = len(contestants)
    order = [(repetition + (place + 1) // 2 * (1 if place % 2 else -1)) % count for place in range(count)]
    if count % 2 and repetition % 2:
        order.reverse()
    return [(number, contestants[number]) for number in order]


class RankProcess:
    """One rank of a command: its communicator, and the folder that it shares with the command."""

    def __init__(self, comm: MPI.Intracomm, folder: Path) -> None:
        self.comm = comm
        self.folder = folder
        self.facts: dict[str, Any] = {}
        """Facts of the first rank about the run, besides its MPI."""
        self.task: dict[str, Any] = json.loads((folder / "task.json").read_text())
        if comm.size != self.task["ranks"]:
            raise RuntimeError(
                f"{self.task['ranks']} ranks were started, but MPI says that there are {comm.size}: the "
                "launcher and the MPI library that mpi4py loads are not of one kind; give another --mpi"
            )

    def load(self, name: str) -> Any:
        """Maps an array of the command into memory."""
        return np.load(self.folder / f"{name}.npy", mmap_mode="r")

    def meet(self) -> None:
        """Waits in a barrier that yields the core to ranks that have not arrived."""
        request = self.comm.Ibarrier()
        while not request.Test():
            os.sched_yield()

    def most_of(self, value: float) -> float:
        """The largest of all ranks' values, on every rank."""
        return max(self.comm.allgather(value))

    def report(self) -> None:
        """Reports to the command that another step is done."""
        if self.comm.rank == 0:
            with (self.folder / "progress").open("ab") as file:
                file.write(b".")

    def leave(self, **results: Any) -> None:
        """Stores results for the command, and facts about the run."""
        if self.comm.rank == 0:
            from mpi4py import MPI

            name, version = MPI.get_vendor()
            mpi = {"name": name, "version": ".".join(map(str, version))}
            (self.folder / SAID).write_text(json.dumps({"mpi": mpi, **self.facts}))
        np.savez(self.folder / f"result-{self.comm.rank}.npz", **results)


def settle(process: RankProcess, contestants: Sequence[str | None], runs: Sequence[Callable[[], None]]) -> None:
    """Runs each contestant until its trials end, so that timed runs are those of a long loop."""
    for contestant, run_once in zip(contestants, runs, strict=True):
        process.meet()
        if contestant is not None and contestant.removesuffix(AGAIN) == AUTOMATIC:
            for _ in range(SETTLED_AFTER):
                run_once()
        process.report()


def run(body: Callable[[RankProcess], None]) -> None:
    """Runs one rank in the folder that the command line names.

    An error is stored there as one line, and ends all ranks.
    """
    folder = Path(sys.argv[1])
    _leave_with(folder)
    comm = None
    try:
        comm = _world()
        body(RankProcess(comm, folder))
    except Exception as error:  # any error, since the other ranks must not wait for this one
        text = " ".join(str(error).split()) or type(error).__name__
        where = f"rank {comm.rank}" if comm is not None else "a rank"
        kind = ELSEWHERE if getattr(error, "kind", None) == "remote" else ""
        # Renamed once it is complete, since another rank's error may end this process at any time.
        unfinished = folder / f"unfinished-{os.getpid()}"
        unfinished.write_text(f"{kind}{where}: {text}")
        unfinished.rename(folder / f"fault-{os.getpid()}")
        if comm is None:
            sys.exit(1)
        comm.Abort(1)


def _leave_with(folder: Path) -> None:
    """Ends this process when its command has ended."""

    def watch() -> None:
        while not _is_deserted(folder):
            time.sleep(FOLDER_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _is_deserted(folder: Path) -> bool:
    """Returns whether the folder is gone, after removing it if its command was killed."""
    if not folder.exists():
        return True
    try:
        with (folder / HOLD).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False  # the command holds the lock; or without file locks, only the folder counts
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _world() -> MPI.Intracomm:
    try:
        from mpi4py import MPI
    except Exception as error:
        text = f"mpi4py cannot load MPI ({error}); install mpi4py again, or give another --mpi"
        raise RuntimeError(text) from error
    return MPI.COMM_WORLD
