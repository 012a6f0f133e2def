"""Explains in a sentence why a strategy is predicted to be fastest, from the table's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from .rows import Row
from .tables import duration, listed, size

SAME = 0.005
"""Predictions within this relative difference count as equal."""
TELLING = 0.1
"""Least share of the other's time at which a phase's difference is the reason."""


class ExplainRow(Row):
    """One strategy's counts and predictions. Bytes and messages are those of one exchange."""

    predicted_us: float
    """Time until the last rank is done."""
    predicted_phases_us: dict[str, float]
    """Time by phase, along the chain of events that ends last."""
    busiest_rank: int
    """The rank whose processor is predicted to be busy longest."""
    busiest_messages: int
    """Messages of that rank to and from other regions."""
    busiest_bytes: int
    saved_bytes: int
    """Saved bytes between regions, compared with each edge separately; negative for detours."""
    saved_percent: float


class Verdict(TypedDict):
    """The strategy that is predicted to be fastest, and why."""

    strategy: str
    reason: str


def verdict(rows: Sequence[ExplainRow]) -> Verdict:
    """The fastest row (the first of equal ones), and the reason. The first row is the baseline."""
    best = min(rows, key=lambda row: row["predicted_us"])
    best = next(row for row in rows if _equal(row, best))
    name = best["strategy"]
    others = [row for row in rows if not _equal(row, best)]
    equals = [row["strategy"] for row in rows if row is not best and _equal(row, best)]
    if len(rows) == 1:
        text = f"{name} is predicted to take {duration(best['predicted_us'])}; no other strategy was looked at"
        return {"strategy": name, "reason": text}
    text = f"{name} is predicted to be fastest: {duration(best['predicted_us'])}"
    if others:
        other = rows[0] if rows[0] in others else min(others, key=lambda row: row["predicted_us"])
        factor = other["predicted_us"] / best["predicted_us"] if best["predicted_us"] else float("inf")
        text += f", {factor:.2f} × faster than {other['strategy']}: {_because(best, other)}"
    if equals:
        text += f"; {listed(equals)} {'is' if len(equals) == 1 else 'are'} as fast"
    late = [row for row in others if row["strategy"] == "automatic" and best["predicted_us"] > 0]
    text += "".join(f"; automatic takes {row['predicted_us'] / best['predicted_us']:.2f} × as long" for row in late)
    return {"strategy": name, "reason": text}


def _equal(row: ExplainRow, best: ExplainRow) -> bool:
    return row["predicted_us"] <= best["predicted_us"] * (1 + SAME)


def _because(best: ExplainRow, other: ExplainRow) -> str:
    """The reason: fewer messages or bytes of the busiest rank, or less time in a phase."""
    if best["busiest_messages"] < other["busiest_messages"]:
        return (
            f"the busiest rank has {_messages(best['busiest_messages'])} to and from other regions instead of "
            f"{other['busiest_messages']:,}"
        )
    phase, more = _slowest_phase(best["predicted_phases_us"], other["predicted_phases_us"])
    if best["busiest_bytes"] < other["busiest_bytes"] and more < TELLING * other["predicted_us"]:
        return (
            f"the busiest rank has {size(best['busiest_bytes'])} to and from other regions instead of "
            f"{size(other['busiest_bytes'])}"
        )
    mine, others = best["predicted_phases_us"].get(phase, 0.0), other["predicted_phases_us"].get(phase, 0.0)
    instead = f"instead of {duration(others)}" if mine else f"and {other['strategy']} {duration(others)}"
    return f"its last rank to be done spends {duration(mine) if mine else 'nothing'} on {phase} {instead}"


def _messages(count: int) -> str:
    return f"{count:,} message" + ("" if count == 1 else "s")


def _slowest_phase(mine: Mapping[str, float], others: Mapping[str, float]) -> tuple[str, float]:
    """The phase in which the other loses most time, and how much."""
    lost = {phase: time - mine.get(phase, 0.0) for phase, time in others.items()}
    phase = max(lost, key=lambda name: lost[name], default="")
    return phase, lost.get(phase, 0.0)
