"""The sentence that explains why a strategy is predicted to be fastest follows from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from vicinal_command.reasons import ExplainRow, verdict
from vicinal_command.rows import make_row

NOTHING = {
    name: np.zeros(1, np.int64)
    for name in ("nonlocal_messages", "nonlocal_elements", "local_messages", "local_elements", "shared_elements")
}


def row(strategy: str, messages: int = 3, size: int = 800, **phases: float) -> ExplainRow:
    more: dict[str, Any] = {
        "predicted_us": sum(phases.values()), "predicted_phases_us": phases, "busiest_rank": 0,
        "busiest_messages": messages, "busiest_bytes": size, "saved_bytes": 0, "saved_percent": 0.0,
    }
    return ExplainRow(**make_row(strategy, NOTHING, 8, True), **more)


def test_messages_are_the_reason_where_there_are_fewer() -> None:
    found = verdict([row("direct", 17, direct=17.2), row("split", 3, gather=2.0, scatter=2.0, **{"non-local": 8.3})])
    assert found["strategy"] == "split"
    assert found["reason"] == (
        "split is predicted to be fastest: 12.3 µs, 1.40 × faster than direct: the busiest rank has 3 messages to "
        "and from other regions instead of 17"
    )


def test_bytes_are_the_reason_where_messages_are_not_and_no_phase_is() -> None:
    found = verdict([row("direct", 4, 9000, direct=10.0, wait=2.0), row("split", 4, 1000, direct=9.5, wait=1.5)])
    assert "the busiest rank has 1.00 kB to and from other regions instead of 9.00 kB" in found["reason"]


def test_a_phase_is_the_reason_where_nothing_is_sent_less() -> None:
    found = verdict([row("direct", 4, direct=10.0), row("aggregate", 2, gather=5.0, **{"non-local": 8.0})])
    assert found["strategy"] == "direct"
    assert found["reason"].endswith(
        "1.30 × faster than aggregate: its last rank to be done spends nothing on non-local and aggregate 8.00 µs"
    )
    found = verdict([row("direct", 4, wait=10.0), row("aggregate", 4, wait=4.0, gather=1.0)])
    assert found["reason"].endswith("spends 4.00 µs on wait instead of 10.0 µs")


def test_of_equals_the_first_wins_and_the_others_are_told() -> None:
    rows = [row("direct", direct=10.02), row("two-step", direct=10.0), row("split", direct=10.0)]
    rows.append(row("automatic", direct=15.0))
    found = verdict(rows)
    assert found["strategy"] == "direct"
    assert "; two-step and split are as fast; automatic takes 1.50 × as long" in found["reason"]


def test_one_strategy_alone_is_no_winner() -> None:
    assert verdict([row("direct", direct=7.0)])["reason"] == (
        "direct is predicted to take 7.00 µs; no other strategy was looked at"
    )


def test_nothing_to_send_is_no_contest() -> None:
    found = verdict([row("direct", 0, 0), row("split", 0, 0)])
    assert found == {
        "strategy": "direct", "reason": "direct is predicted to be fastest: 0.00 µs; split is as fast",
    }


def test_a_phase_that_tells_is_the_reason_though_bytes_are_fewer_too() -> None:
    found = verdict([row("direct", 4, 9000, direct=20.0), row("split", 4, 1000, direct=10.0)])
    assert found["reason"].endswith("spends 10.0 µs on direct instead of 20.0 µs")


def test_exchanges_of_less_than_a_microsecond_have_reasons_too() -> None:
    found = verdict([row("direct", direct=0.5), row("automatic", direct=0.75)])
    assert found["reason"].endswith("; automatic takes 1.50 × as long")
