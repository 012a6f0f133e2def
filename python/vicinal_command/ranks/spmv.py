"""What one rank of `vicinal spmv` does.  Started by the spmv.py of the folder above."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from vicinal import Halo

from .process import COUNTED, RankProcess, run


class Rank:
    """One rank's part of the matrix, and its exchanges."""

    def __init__(self, process: RankProcess) -> None:
        from scipy.sparse import csr_array

        self.process = process
        self.comm, self.task, load = process.comm, process.task, process.load
        first, last = (int(start) for start in load("starts")[self.comm.rank : self.comm.rank + 2])
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
                self.process.meet()
                begin = time.perf_counter()
                halos.append(self._form(strategy))
                setup[index, build] = time.perf_counter() - begin
                self.process.report()

        vector = np.concatenate([self.x, np.empty_like(self.ghosts)])
        correct = np.array([self._check(halo, vector, 1.0) for halo in halos])
        exchange = np.zeros((len(strategies), task["repetitions"]))
        for repetition in range(task["repetitions"]):
            for index, halo in enumerate(halos):
                self.process.meet()
                begin = time.perf_counter()
                for _ in range(task["iterations"]):
                    halo.start(vector)
                    halo.wait()
                exchange[index, repetition] = (time.perf_counter() - begin) / task["iterations"]
                self.process.report()
        # Once more with other values, which a stale ghost would not have.
        correct &= np.array([self._check(halo, vector, 2.0) for halo in halos])

        counts = np.array([[getattr(halo.statistics, name) for name in COUNTED] for halo in halos])
        self.process.leave(setup=setup, exchange=exchange, correct=correct, counts=counts)

    def _form(self, strategy: str) -> Halo:
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
        self.process.report()
        return ghosts_right and bool((off <= self.bound * factor).all())


if __name__ == "__main__":
    run(lambda process: Rank(process).run())
