"""Program of one rank of `vicinal spmv`, started by spmv.py of the parent folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from vicinal import Halo, Settings

from .halo_exchanges import BY_HAND, KINDS, MPI_OWN, ByHand, Own, Planned, Sides
from .process import AGAIN, Exchange, RankProcess, in_turn, run, settle


class Rank:
    """One rank's part of the matrix, and its exchanges."""

    def __init__(self, process: RankProcess) -> None:
        from scipy.sparse import csr_array

        self.process = process
        self.comm, self.task, load = process.comm, process.task, process.load
        self.settings = Settings(regions=self.task["regions"])
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

        # The exchanged vector, always in the same place, since requests are set up for it.
        self.vector = np.concatenate([self.x, np.empty_like(self.ghosts)])
        self.sides = self._sides(load)

    def run(self) -> None:
        """Sets up, checks and times every contestant's exchange, and stores the results."""
        task = self.task
        contestants = task["contestants"]
        # Work that is done once per communicator is no contestant's set-up.
        for contestant in (contestants[0], MPI_OWN):
            self._form(contestant).free()
        setup = np.zeros((len(contestants), task["builds"]))
        exchanges: list[Exchange] = []
        for build in range(task["builds"]):
            for exchange in exchanges:
                exchange.free()
            exchanges = []
            for index, contestant in enumerate(contestants):
                self.process.meet()
                begin = time.perf_counter()
                exchanges.append(self._form(contestant))
                setup[index, build] = time.perf_counter() - begin
                self.process.report()
        empty = [self._form_empty(kind) for kind in KINDS]

        correct = np.array([self._check(exchange, 1.0) for exchange in exchanges])
        settle(self.process, contestants, [exchange.run for exchange in exchanges])
        times = np.zeros((len(contestants), task["repetitions"]))
        calls = np.zeros((len(KINDS), task["repetitions"]))
        for repetition in range(task["repetitions"]):
            for index, exchange in in_turn(exchanges, repetition):
                times[index, repetition] = self._time(exchange)
                self.process.report()
            for index, exchange in enumerate(empty):
                calls[index, repetition] = self._time(exchange)
        # A second check with other values detects stale ghosts.
        correct &= np.array([self._check(exchange, 2.0) for exchange in exchanges])

        counts = np.array([exchange.counts() for exchange in exchanges])
        self.process.leave(setup=setup, exchange=times, calls=calls, correct=correct, counts=counts)
        for exchange in (*exchanges, *empty):
            exchange.free()

    def _sides(self, load: Callable[[str], Any]) -> Sides:
        """Neighbors and sent entries, from the command's input and this rank's ghosts."""
        rank = self.comm.rank
        owners = np.searchsorted(load("starts"), self.needed, side="right") - 1
        sources, received = np.unique(owners, return_counts=True)
        first, last = load("asked_starts")[rank : rank + 2]
        destinations, sent = np.unique(load("asked_by")[first:last], return_counts=True)
        places = np.array(load("asked")[first:last]) - self.owned[0]
        return Sides(sources, received, destinations, sent, places)

    def _form(self, contestant: str) -> Exchange:
        if contestant == MPI_OWN:
            return Own(self.comm, self.sides, self.vector, len(self.x))
        if contestant == BY_HAND:
            return ByHand(self.comm, self.sides, self.vector, len(self.x))
        strategy = contestant.removesuffix(AGAIN)
        halo = Halo(self.comm, owned=self.owned, needed=self.needed, strategy=strategy, settings=self.settings)
        return Planned(halo, self.vector)

    def _form_empty(self, kind: str) -> Exchange:
        """An exchange of no data, which measures the calls' own cost."""
        if kind == MPI_OWN:
            return Own(self.comm, Sides.empty(), self.x, len(self.x))
        if kind == BY_HAND:
            return ByHand(self.comm, Sides.empty(), self.x, len(self.x))
        halo = Halo(self.comm, owned=self.owned, needed=[], strategy="direct", settings=self.settings)
        return Planned(halo, self.x)

    def _time(self, exchange: Exchange) -> float:
        """Mean seconds of one iteration."""
        self.process.meet()
        begin = time.perf_counter()
        for _ in range(self.task["iterations"]):
            exchange.run()
        return (time.perf_counter() - begin) / float(self.task["iterations"])

    def _check(self, exchange: Exchange, factor: float) -> bool:
        """Returns whether an exchange brings the right ghosts, and the right y = A x with them.

        `factor` is a power of two, so that everything scales exactly.
        """
        count, vector = len(self.x), self.vector
        vector[:count] = self.x * factor
        vector[count:] = np.nan
        exchange.run()
        ghosts_right = np.array_equal(vector[count:], self.ghosts * factor)
        off = np.abs(self.matrix @ vector - self.y * factor)
        self.process.report()
        return ghosts_right and bool((off <= self.bound * factor).all())


if __name__ == "__main__":
    run(lambda process: Rank(process).run())
