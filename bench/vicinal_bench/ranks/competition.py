"""Program of one rank of a benchmark: sets up, checks and times every contestant in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from vicinal_command.ranks.process import Exchange, RankProcess, in_turn, settle


class Case(Protocol):
    """One rank's side of a case: its sent and received data."""

    def fill(self, round_: int) -> None:
        """Sets sent data, different for each rank and round, and overwrites received data."""

    def delivered(self) -> Any:
        """The received data, for comparison."""

    def compute(self) -> None:
        """Runs a program's work between two exchanges, if that is timed, too."""

    def right(self, round_: int) -> bool:
        """Returns whether the computed result is right."""


OneCase = TypeVar("OneCase", bound=Case)
SetUp = Callable[[OneCase, "str | None"], Exchange]
"""Sets a contestant up for a case; None is MPI's own."""
Turn = Callable[[OneCase, Any, int], float]
"""Runs a contestant's exchanges in a row. Returns the mean seconds of one."""


def in_a_row(case: Case, exchange: Exchange, iterations: int) -> float:
    """Runs exchanges from Python, each with the program's work. Returns the mean seconds."""
    begin = time.perf_counter()
    for _ in range(iterations):
        exchange.run()
        case.compute()
    return (time.perf_counter() - begin) / iterations


def compete(
    process: RankProcess, case_of: Callable[[int], OneCase], set_up: SetUp[OneCase], turn: Turn[OneCase] = in_a_row
) -> None:
    """Runs all contestants on all cases, made by `case_of`, and stores the results."""
    _Competition(process, case_of, set_up, turn).run()


class _Competition(Generic[OneCase]):
    def __init__(
        self, process: RankProcess, case_of: Callable[[int], OneCase], set_up: SetUp[OneCase], turn: Turn[OneCase]
    ) -> None:
        self.process, self.task = process, process.task
        self.case_of, self.set_up, self.turn = case_of, set_up, turn
        # MPI's own, each contestant, and MPI's own again.
        self.contestants = [None, *self.task["contestants"], None]
        shape = (len(self.task["cases"]), len(self.contestants))
        self.setup = np.zeros((*shape, self.task["builds"]))
        self.exchange = np.zeros((*shape, self.task["repetitions"]))
        self.correct = np.zeros(shape, bool)
        self.counts: list[list[Sequence[int]]] = []

    def run(self) -> None:
        for number in range(len(self.task["cases"])):
            case = self.case_of(number)
            if number == 0:
                # Work that is done once per communicator is no contestant's set-up.
                for contestant in self.contestants:
                    self.set_up(case, contestant).free()
            self._measure(number, case)
        self.process.leave(
            setup=self.setup, exchange=self.exchange, correct=self.correct, counts=np.array(self.counts)
        )

    def _measure(self, number: int, case: OneCase) -> None:
        exchanges: list[Exchange] = []
        for build in range(self.task["builds"]):
            for exchange in exchanges:
                exchange.free()
            exchanges = []
            for index, contestant in enumerate(self.contestants):
                self.process.meet()
                begin = time.perf_counter()
                exchanges.append(self.set_up(case, contestant))
                self.setup[number, index, build] = time.perf_counter() - begin
                self.process.report()

        self.correct[number] = self._check(case, exchanges, 1)
        settle(self.process, self.contestants, [exchange.run for exchange in exchanges])
        iterations = self._iterations(case, exchanges)
        for repetition in range(self.task["repetitions"]):
            for index, exchange in in_turn(exchanges, repetition):
                self.exchange[number, index, repetition] = self._time(case, exchange, iterations)
                self.process.report()
        # A second check with other values detects stale data from before.
        self.correct[number] &= self._check(case, exchanges, 2)
        self.counts.append([exchange.counts() for exchange in exchanges])
        for exchange in exchanges:
            exchange.free()

    def _iterations(self, case: OneCase, exchanges: list[Exchange]) -> int:
        """Number of exchanges in a turn: fewer than requested if the slowest takes too long."""
        most, limit = int(self.task["iterations"]), self.task["turn_seconds"]
        if limit is None:
            return most
        slowest = max(self._time(case, exchange, 1) for exchange in exchanges)
        return min(most, max(1, int(limit / max(self.process.most_of(slowest), 1e-9))))

    def _time(self, case: OneCase, exchange: Exchange, iterations: int) -> float:
        """Mean seconds of one of these exchanges in a row."""
        self.process.meet()
        return self.turn(case, exchange, iterations)

    def _check(self, case: OneCase, exchanges: list[Exchange], round_: int) -> npt.NDArray[np.bool_]:
        """Returns for each contestant whether it delivers the same data as the first, MPI's own."""
        right = np.zeros(len(exchanges), bool)
        expected = None
        for index, exchange in enumerate(exchanges):
            case.fill(round_)
            exchange.run()
            if expected is None:
                expected = case.delivered()
            case.compute()
            right[index] = case.delivered() == expected and case.right(round_)
            self.process.report()
        return right
