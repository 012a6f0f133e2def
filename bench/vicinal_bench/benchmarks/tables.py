"""Rows of `vicinal bench`, one for each case and contestant, and their shared columns.

The JSON output has these keys. A value that a contestant does not give is None there, and a dash in
the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from vicinal_command.tables import VERIFIED, Column, ratio, timed


class Measured(TypedDict):
    """Times of one contestant in one case."""

    exchange_us: float
    exchange_median_us: float
    ratio_to_mpi: float
    """Ratio of the best times: this contestant's over MPI's own."""
    median_ratio_to_mpi: float


class Timed(Measured):
    """Fields of every benchmark's rows."""

    workload: str
    ranks: int
    strategy: str
    """The contestant: a strategy, a method, or MPI's own."""
    correct: bool


WORKLOAD = Column("workload", lambda row: str(row["workload"]), of_case=True, left=True)
CONTESTANT = Column("contestant", lambda row: str(row["strategy"]), left=True)
TIMES = (
    Column("best", timed("exchange_us")),
    Column("median", timed("exchange_median_us"), kept=True),
    Column("to\nMPI", lambda row: ratio(row["median_ratio_to_mpi"]), kept=True),
)
VERDICT = Column("verified", lambda row: VERIFIED[row["correct"]], kept=True)


def per_rank(key: str) -> Callable[[Any], str]:
    """Formats a total of all ranks as the mean per rank."""
    return lambda row: f"{row[key] / row['ranks']:.1f}"
