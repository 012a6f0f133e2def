"""What `vicinal spmv` makes of its times: who is fastest, what that is of MPI's own, and whether to believe it."""

from __future__ import annotations

from typing import Any

import pytest

from vicinal_command.rows import make_row
from vicinal_command.spmv import SpmvRow, compare_control, findings

NAMES = ("direct", "aggregate", "automatic", "MPI_Neighbor_alltoallv", "by hand", "direct again")


def rows_with(best: list[float], median: list[float] | None = None) -> list[SpmvRow]:
    rows = []
    for name, time, middle in zip(NAMES, best, median or best, strict=True):
        row = make_row(name, None, 8, True)
        row["exchange_us"], row["exchange_median_us"] = time, middle
        more: dict[str, Any] = {
            "exchange_lower_quartile_us": time, "exchange_upper_quartile_us": middle,
            "ratio_to_mpi": time / best[3], "empty_call_us": 1.0, "predicted_us": None,
        }
        rows.append(SpmvRow(**row, **more))
    return rows


def test_the_best_and_mpis_share_stand_out() -> None:
    rows = rows_with([30, 10, 12, 40, 20, 30.3])
    assert findings(rows, compare_control(rows)) == [
        "fastest: aggregate, 10.0 µs, 0.25 of MPI_Neighbor_alltoallv's time and 0.50 of that by hand",
        "automatic takes 0.30 of MPI_Neighbor_alltoallv's time and 0.60 of that by hand",
    ]


def test_mpi_may_win_and_a_control_never_does() -> None:
    rows = rows_with([30, 25, 24, 22, 20, 1])
    said = findings(rows, compare_control(rows))
    assert said[0] == "fastest: by hand, 20.0 µs, 0.91 of MPI_Neighbor_alltoallv's time"
    assert said[1].startswith("automatic takes 1.09 of MPI_Neighbor_alltoallv's time and 1.20 of that by hand")


@pytest.mark.parametrize(
    ("again", "median", "spread"), [(33.5, 33.5, 0.1167), (26, 30, 0.1538), (30, 40, 0.3333), (31, 32, 0.0667)]
)
def test_a_control_that_is_far_off_is_a_warning(again: float, median: float, spread: float) -> None:
    rows = rows_with([30, 10, 12, 40, 20, again], [30, 10, 12, 40, 20, median])
    control = compare_control(rows)
    assert control == {"strategy": "direct", "spread": spread, "noisy": spread > 0.1}
    warnings = [line for line in findings(rows, control) if "too noisy to believe" in line]
    assert len(warnings) == control["noisy"] and all(f"{100 * spread:.0f} %" in line for line in warnings)
