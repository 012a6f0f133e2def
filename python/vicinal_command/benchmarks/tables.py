"""Rows of `vicinal bench`, one for each case and contestant, and the columns that they have in common.

The keys are what the JSON form promises; what a contestant does not tell is None there and a dash in
the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from ..tables import VERIFIED, Column, ratio, timed


class Measured(TypedDict):
    """Times of one contestant in one case."""

    exchange_us: float
    exchange_median_us: float
    ratio_to_mpi: float
    """Of the best times: what share of the time of MPI's own this contestant takes."""
    median_ratio_to_mpi: float


class Timed(Measured):
    """What every benchmark's rows tell."""

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
    """The mean over the ranks of a number for all of them."""
    return lambda row: f"{row[key] / row['ranks']:.1f}"
