"""Rows of results, one for each contestant, with the same first keys in `spmv` and `explain`.

The JSON output has these keys (docs/versioning.md). A value that was not measured, or that a
contestant does not give, is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

import numpy.typing as npt

Counts = Mapping[str, npt.NDArray[Any]]
"""For each quantity counted in a plan, a number per rank."""

LOCAL_NOTE = "local bytes: what ranks of a region hand each other, as messages or through shared memory"


class Row(TypedDict):
    """One contestant's results. Bytes and messages are those sent, per exchange."""

    strategy: str
    setup_us: float | None
    exchange_us: float | None
    ratio_to_direct: float | None
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None
    nonlocal_bytes: int | None
    nonlocal_bytes_max: int | None
    local_bytes: int | None
    correct: bool | None
    exchange_median_us: float | None
    local_messages: int | None


def make_row(strategy: str, counts: Counts | None, value_bytes: int, correct: bool | None) -> Row:
    """The row of a strategy without times, from the counts of each rank if known."""

    def total(name: str) -> int | None:
        return None if counts is None else int(counts[name].sum())

    def most(name: str) -> int | None:
        return None if counts is None else int(counts[name].max())

    def in_bytes(elements: int | None) -> int | None:
        return None if elements is None else elements * value_bytes

    local = None if counts is None else int(counts["local_elements"].sum() + counts["shared_elements"].sum())
    return Row(
        strategy=strategy,
        setup_us=None,
        exchange_us=None,
        ratio_to_direct=None,
        nonlocal_messages=total("nonlocal_messages"),
        nonlocal_messages_max=most("nonlocal_messages"),
        nonlocal_bytes=in_bytes(total("nonlocal_elements")),
        nonlocal_bytes_max=in_bytes(most("nonlocal_elements")),
        local_bytes=in_bytes(local),
        correct=correct,
        exchange_median_us=None,
        local_messages=total("local_messages"),
    )
