"""Findings of `vicinal spmv`: the fastest contestant, its ratio to MPI's own, and the noise."""

from __future__ import annotations

from typing import Any

import pytest

from vicinal_command.rows import make_row
from vicinal_command.spmv import SpmvRow, compare_control, findings

NAMES = ("direct", "aggregate", "automatic", "MPI_Neighbor_alltoallv", "by hand", "direct again")


def rows_with(medians: list[float], best: list[float] | None = None, *, apart: float = 0.01) -> list[SpmvRow]:
    """Returns rows whose quartiles differ from the median by the fraction `apart`."""
    rows = []
    for name, time, least in zip(NAMES, medians, best or medians, strict=True):
        row = make_row(name, None, 8, True)
        row["exchange_us"], row["exchange_median_us"] = least, time
        more: dict[str, Any] = {
            "exchange_lower_quartile_us": time * (1 - apart), "exchange_upper_quartile_us": time * (1 + apart),
            "ratio_to_mpi": least / (best or medians)[3], "median_ratio_to_mpi": time / medians[3],
            "median_ratio_to_direct": time / medians[0], "empty_call_us": 1.0, "predicted_us": None,
        }
        rows.append(SpmvRow(**row, **more))
    return rows


def told(rows: list[SpmvRow]) -> list[str]:
    return findings(rows, compare_control(rows), 5)


def test_the_fastest_and_mpis_share_stand_out() -> None:
    assert told(rows_with([30, 10, 12, 40, 20, 30.3])) == [
        "fastest: aggregate, 10.0 µs, 0.25 of MPI_Neighbor_alltoallv's time and 0.50 of that by hand",
        "automatic: 0.30 of MPI_Neighbor_alltoallv's time and 0.60 of that by hand",
    ]


def test_a_lucky_turn_is_no_verdict() -> None:
    """The minimum of all times belongs to aggregate, whose median is above MPI's."""
    medians, best = [60, 62, 45, 40, 50, 60], [50, 19, 42, 39, 45, 50]
    said = told(rows_with(medians, best))
    assert said[0] == "fastest: MPI_Neighbor_alltoallv, 40.0 µs, 0.80 of that by hand"
    assert said[1] == "automatic: 1.12 of MPI_Neighbor_alltoallv's time and 0.90 of that by hand"


def test_what_quartiles_do_not_carry_is_not_told() -> None:
    said = told(rows_with([30, 10, 11, 40, 10.5, 30], apart=0.04))
    assert said == [
        "no difference beyond the noise between aggregate and by hand; least median: aggregate, 10.0 µs, 0.25 of "
        "MPI_Neighbor_alltoallv's time and no difference beyond the noise from by hand",
        "automatic: 0.28 of MPI_Neighbor_alltoallv's time and no difference beyond the noise from by hand",
    ]
    [alike, automatic] = told(rows_with([30, 28, 31, 29, 32, 30], apart=0.2))
    assert automatic == "automatic: no difference beyond the noise from MPI_Neighbor_alltoallv and by hand"
    assert alike.startswith("no difference beyond the noise between aggregate, direct, automatic, MPI_Neighbor_alltoallv and by hand;")


def test_what_the_control_differs_by_is_noise() -> None:
    """The control's difference is noise, however close each contestant's quartiles are."""
    said = told(rows_with([30, 10, 14, 40, 10.8, 32.7], apart=0))
    assert said[0].startswith("no difference beyond the noise between aggregate and by hand;")
    assert told(rows_with([30, 10, 14, 40, 11, 32.7], apart=0))[0].startswith("fastest: aggregate")


def test_few_repetitions_have_no_verdict() -> None:
    rows = rows_with([30, 10, 12, 40, 20, 30])
    assert findings(rows, compare_control(rows), 3) == ["no verdict from 3 repetitions; give --repetitions 4 or more"]


def test_mpi_may_win_and_a_control_never_does() -> None:
    said = told(rows_with([30, 25, 24, 22, 20, 29.9]))
    assert said[0] == "fastest: by hand, 20.0 µs, 0.91 of MPI_Neighbor_alltoallv's time"
    assert said[1].startswith("automatic: 1.09 of MPI_Neighbor_alltoallv's time and 1.20 of that by hand")
    assert told(rows_with([30, 25, 24, 22, 20, 1]))[0].startswith("no difference")


@pytest.mark.parametrize(("again", "best", "spread"), [(33.5, 33.5, 0.1167), (26, 30, 0.1538), (40, 30, 0.3333), (32, 90, 0.0667)])
def test_a_control_that_is_far_off_is_a_warning(again: float, best: float, spread: float) -> None:
    """The control's median decides, whatever its best time."""
    rows = rows_with([30, 10, 12, 40, 20, again], [30, 10, 12, 40, 20, best])
    control = compare_control(rows)
    assert control == {"strategy": "direct", "spread": spread, "noisy": spread > 0.1}
    warnings = [line for line in told(rows) if "too noisy to believe" in line]
    assert len(warnings) == control["noisy"] and all(f"{100 * spread:.0f} %" in line for line in warnings)
