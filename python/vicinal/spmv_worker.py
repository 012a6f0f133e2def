"""What one rank of `vicinal spmv` does.  Started by spmv.py, not by hand.

A timed stretch holds nothing but exchanges: ranks are brought together before it by a barrier that
gives way to the others while it waits, because a barrier that spins, with more ranks than cores, takes
longer than what is to be measured.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .tables import COUNTED

if TYPE_CHECKING:
    from mpi4py import MPI

    from . import Halo

FOLDER_CHECK_SECONDS = 1.0
ELSEWHERE = "elsewhere: "
"""Marks the fault of a rank that only reports another's."""


class Rank:
    """One rank's part of the matrix, and its exchanges."""

    def __init__(self, comm: MPI.Intracomm, folder: Path) -> None:
        from scipy.sparse import csr_array

        self.comm = comm
        self.folder = folder
        self.task: dict[str, Any] = json.loads((folder / "task.json").read_text())
        if comm.size != self.task["ranks"]:
            raise RuntimeError(
                f"{self.task['ranks']} ranks were started, but MPI says that there are {comm.size}: the "
                "launcher and the MPI library that mpi4py loads are not of one kind; give another --mpi"
            )

        def load(name: str) -> Any:
            return np.load(folder / f"{name}.npy", mmap_mode="r")

        first, last = (int(start) for start in load("starts")[comm.rank : comm.rank + 2])
        row_starts = load("row_starts")[first : last + 1]
        columns = load("columns")[row_starts[0] : row_starts[-1]].astype(np.int64)
        foreign = (columns < first) | (columns >= last)
        self.owned = (first, last)
        self.needed = np.unique(columns[foreign])
        self.x = np.array(load("x")[first:last])
        self.y = np.array(load("y")[first:last])
        self.bound = np.array(load("bound")[first:last])
        self.ghosts = np.array(load("x")[self.needed])

        # The local matrix refers to the owned entries of x, then to the ghosts.
        count = last - first
        places = np.where(foreign, count + np.searchsorted(self.needed, columns), columns - first)
        values = np.array(load("values")[row_starts[0] : row_starts[-1]])
        shape = (count, count + len(self.needed))
        self.matrix = csr_array((values, places, row_starts - row_starts[0]), shape=shape)

    def run(self) -> None:
        """Form, check and time every strategy's halo, and leave the results in the folder."""
        task, strategies = self.task, self.task["strategies"]
        # What is done once per communicator is not any strategy's set-up.
        self._form(strategies[0])
        setup = np.zeros((len(strategies), task["builds"]))
        halos: list[Halo] = []
        for build in range(task["builds"]):
            halos = []
            for index, strategy in enumerate(strategies):
                self._meet()
                begin = time.perf_counter()
                halos.append(self._form(strategy))
                setup[index, build] = time.perf_counter() - begin
                self._report()

        vector = np.concatenate([self.x, np.empty_like(self.ghosts)])
        correct = np.array([self._check(halo, vector, 1.0) for halo in halos])
        exchange = np.zeros((len(strategies), task["repetitions"]))
        for repetition in range(task["repetitions"]):
            for index, halo in enumerate(halos):
                self._meet()
                begin = time.perf_counter()
                for _ in range(task["iterations"]):
                    halo.start(vector)
                    halo.wait()
                exchange[index, repetition] = (time.perf_counter() - begin) / task["iterations"]
                self._report()
        # Once more with other values, which a stale ghost would not have.
        correct &= np.array([self._check(halo, vector, 2.0) for halo in halos])

        counts = np.array([[getattr(halo.statistics, name) for name in COUNTED] for halo in halos])
        np.savez(
            self.folder / f"result-{self.comm.rank}.npz",
            setup=setup, exchange=exchange, correct=correct, counts=counts,
        )

    def _form(self, strategy: str) -> Halo:
        from . import Halo

        return Halo(
            self.comm, owned=self.owned, needed=self.needed, strategy=strategy, regions=self.task["regions"]
        )

    def _check(self, halo: Halo, vector: Any, factor: float) -> bool:
        """Whether an exchange brings the right ghosts, and y = A x with them.

        `factor` is a power of two, so that all scales exactly.
        """
        count = len(self.x)
        vector[:count] = self.x * factor
        vector[count:] = np.nan
        halo.start(vector)
        halo.wait()
        ghosts_right = np.array_equal(vector[count:], self.ghosts * factor)
        off = np.abs(self.matrix @ vector - self.y * factor)
        self._report()
        return ghosts_right and bool((off <= self.bound * factor).all())

    def _meet(self) -> None:
        """A barrier that leaves the core to ranks that are not there yet."""
        request = self.comm.Ibarrier()
        while not request.Test():
            os.sched_yield()

    def _report(self) -> None:
        """Tell the launching process that another step is done."""
        if self.comm.rank == 0:
            with (self.folder / "progress").open("ab") as file:
                file.write(b".")


def leave_with(folder: Path) -> None:
    """End this process when the folder is gone: the command that it worked for has ended."""

    def watch() -> None:
        while folder.exists():
            time.sleep(FOLDER_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _world() -> MPI.Intracomm:
    try:
        from mpi4py import MPI
    except Exception as error:
        text = f"mpi4py cannot load MPI ({error}); install mpi4py again, or give another --mpi"
        raise RuntimeError(text) from error
    return MPI.COMM_WORLD


def main(folder: Path) -> None:
    """Run one rank; a fault is left in the folder as one line, and ends all ranks."""
    leave_with(folder)
    comm = None
    try:
        comm = _world()
        Rank(comm, folder).run()
    except Exception as error:  # whatever it is, the other ranks must not wait for this one
        text = " ".join(str(error).split()) or type(error).__name__
        where = f"rank {comm.rank}" if comm is not None else "a rank"
        kind = ELSEWHERE if getattr(error, "kind", None) == "remote" else ""
        (folder / f"fault-{os.getpid()}").write_text(f"{kind}{where}: {text}")
        if comm is None:
            sys.exit(1)
        comm.Abort(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
