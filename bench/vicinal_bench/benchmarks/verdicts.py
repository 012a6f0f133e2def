"""Evaluation of the choice from two runs of all strategies: by case, by strategy, and in all.

A case's ratio is the median of the ratios of its turns, because a disturbance of a turn affects
both of its times. Over cases, the results are the geometric mean, the 95th percentile and the
maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import geometric_mean
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from .competition import MPI_AGAIN

Turns = npt.NDArray[Any]
"""A contestant's time in each turn."""

NEARLY = 1.05
"""Smaller ratios than this count as no slower."""


class Judged(TypedDict):
    """Results of one case. Times are medians of the second run."""

    best: str
    """The fastest strategy, other than the choice, in the first run."""
    mpi_us: float
    automatic_us: float
    best_us: float
    regret: float
    """The choice's time over that of the best."""
    control: float
    """The choice's time over its own, in other turns."""
    to_mpi: float
    mpi_control: float


class Summary(TypedDict):
    """Results of all cases."""

    regret_mean: float
    regret_95: float
    regret_most: float
    control_mean: float
    control_95: float
    """Percentile of the control or its inverse, whichever is larger."""
    to_mpi_mean: float
    to_mpi_95: float
    to_mpi_most: float
    slower_than_mpi: int
    """Number of cases in which the choice takes more than 1.05 of MPI's time."""
    said: list[str]


class OfStrategy(TypedDict):
    """One strategy in all cases; None if nothing was predicted."""

    strategy: str
    best_in: int
    over_best: float
    over_best_95: float
    over_best_most: float
    to_mpi: float
    to_mpi_most: float
    predicted: float | None
    """Median of predicted over measured."""
    predicted_least: float | None
    predicted_most: float | None
    off: float | None
    """Factor between predicted and measured, in either direction: the geometric mean."""


def judge(first: Mapping[str, Turns], second: Mapping[str, Turns], chosen: str, own: str) -> Judged:
    """Evaluates a case from the times of two runs. `chosen` and MPI's `own` are in it twice."""
    again = next(name for name in second if name != chosen and name.startswith(chosen))
    others = [name for name in first if name not in (chosen, again, own, MPI_AGAIN)]
    best = min(others, key=lambda name: float(np.median(first[name])), default=chosen)

    def over(one: str, other: str) -> float:
        return round(float(np.median(second[one] / second[other])), 4)

    def median(name: str) -> float:
        return round(float(np.median(second[name])), 3)

    return Judged(
        best=best,
        mpi_us=median(own),
        automatic_us=median(chosen),
        best_us=median(best),
        regret=over(chosen, best),
        control=over(again, chosen),
        to_mpi=over(chosen, own),
        mpi_control=over(MPI_AGAIN, own),
    )


def summarize(judged: Sequence[Judged]) -> Summary:
    """Summarizes all cases, in numbers and in sentences."""
    regret, to_mpi = ([row[key] for row in judged] for key in ("regret", "to_mpi"))  # type: ignore[literal-required]
    control = [row["control"] for row in judged]
    either_way = [max(value, 1 / value) for value in control]
    slower = sum(value > NEARLY for value in to_mpi)
    found = Summary(
        regret_mean=_mean(regret), regret_95=_most_of(regret, 95), regret_most=_most_of(regret, 100),
        control_mean=_mean(control), control_95=_most_of(either_way, 95),
        to_mpi_mean=_mean(to_mpi), to_mpi_95=_most_of(to_mpi, 95), to_mpi_most=_most_of(to_mpi, 100),
        slower_than_mpi=slower, said=[],
    )
    found["said"] = [
        f"automatic over the best strategy: geometric mean {found['regret_mean']:.3f}, 95th percentile "
        f"{found['regret_95']:.2f}, most {found['regret_most']:.2f}",
        f"automatic over itself (control): geometric mean {found['control_mean']:.3f}, 95th percentile, whichever way, "
        f"{found['control_95']:.2f}",
        f"automatic over MPI: geometric mean {found['to_mpi_mean']:.3f}, most {found['to_mpi_most']:.2f}; above "
        f"{NEARLY} in {slower} of {len(judged)} cases",
    ]
    return found


def of_strategies(
    rows: Sequence[Mapping[str, Any]], strategies: Sequence[str], bests: Sequence[str], own: str
) -> list[OfStrategy]:
    """Results of each strategy in all cases. `rows` begin each case with MPI's `own`."""
    cases: list[dict[str, Mapping[str, Any]]] = []
    for row in rows:
        if row["strategy"] == own:
            cases.append({})
        cases[-1][row["strategy"]] = row
    found = []
    for name in strategies:
        mine = [case[name]["exchange_median_us"] for case in cases]
        over_best = [
            time / case[best]["exchange_median_us"] for time, case, best in zip(mine, cases, bests, strict=True)
        ]
        to_mpi = [time / case[own]["exchange_median_us"] for time, case in zip(mine, cases, strict=True)]
        predicted = [
            case[name]["predicted_us"] / time
            for time, case in zip(mine, cases, strict=True)
            if case[name]["predicted_us"]
        ]
        found.append(OfStrategy(
            strategy=name,
            best_in=bests.count(name),
            over_best=_mean(over_best), over_best_95=_most_of(over_best, 95), over_best_most=_most_of(over_best, 100),
            to_mpi=_mean(to_mpi), to_mpi_most=_most_of(to_mpi, 100),
            predicted=_most_of(predicted, 50) if predicted else None,
            predicted_least=_most_of(predicted, 0) if predicted else None,
            predicted_most=_most_of(predicted, 100) if predicted else None,
            off=_mean([max(value, 1 / value) for value in predicted]) if predicted else None,
        ))
    return found


def _mean(ratios: Sequence[float]) -> float:
    return round(geometric_mean(ratios), 4)


def _most_of(values: Sequence[float], percent: float) -> float:
    return round(float(np.percentile(values, percent)), 4)
