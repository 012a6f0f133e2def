"""The critical chain of a simulation, in words: the chain of dependences that ends last.

Each operation in it waited last for the one before: for its rank's processor or link, or for data
from another rank. Consecutive operations of one rank are described together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from .prices import Simulated
from .tables import duration, listed, size
from .timelines import RECEIVES, SENDS, VERBS, spans

LINES = 10
"""Most lines for a chain."""


@dataclass(frozen=True)
class Segment:
    """Consecutive operations of one rank for one phase, on the chain."""

    rank: int
    phase: str
    since_us: float
    until_us: float
    operations: tuple[int, ...]

    def describe(self, found: Simulated) -> dict[str, Any]:
        """The segment for JSON output."""
        kinds = Counter(found.kinds[found.operations.kind[each]] for each in self.operations)
        return {
            "rank": self.rank,
            "phase": self.phase,
            "since_us": round(self.since_us, 3),
            "until_us": round(self.until_us, 3),
            "operations": dict(kinds),
        }


def segments(found: Simulated) -> list[Segment]:
    """The chain from begin to end. Each segment has its share of the time, without gaps."""
    of = found.operations
    result: list[Segment] = []
    steps = zip(found.chain.tolist(), found.since.tolist(), found.until.tolist(), strict=True)
    for operation, since, until in steps:
        rank, phase = of.rank(operation), found.phases[of.phase[operation]]
        last = result[-1] if result else None
        if last is None or (last.rank, last.phase) != (rank, phase):
            result.append(Segment(rank, phase, since, until, (operation,)))
            continue
        # An operation may have two consecutive links in the chain.
        more = () if last.operations[-1] == operation else (operation,)
        result[-1] = Segment(rank, phase, last.since_us, until, last.operations + more)
    return result


def told(found: Simulated) -> list[str]:
    """The chain in lines, with its longest parts only if it has too many."""
    parts = _by_rank(segments(found))
    lines = []
    for shown in _longest(parts):
        if isinstance(shown, int):
            part = parts[shown]
            after = parts[shown + 1] if shown + 1 < len(parts) else None
            lines.append(f"{_time(part.since_us, part.until_us)}  {_line(found, part, after)}")
        else:
            first, last = parts[shown[0]], parts[shown[1]]
            count = shown[1] - shown[0] + 1
            lines.append(f"{_time(first.since_us, last.until_us)}  ... {count} shorter part{'s' if count > 1 else ''}")
    return lines


def _by_rank(parts: Sequence[Segment]) -> list[Segment]:
    """Merges consecutive segments of one rank, with their phases listed by time, longest first."""
    result = []
    for rank, group in groupby(parts, key=lambda part: part.rank):
        row = list(group)
        phases: dict[str, float] = defaultdict(float)
        for part in row:
            phases[part.phase] += part.until_us - part.since_us
        names = ", ".join(sorted(phases, key=lambda phase: -phases[phase]))
        operations = tuple(each for part in row for each in part.operations)
        result.append(Segment(rank, names, row[0].since_us, row[-1].until_us, operations))
    return result


def _time(since: float, until: float) -> str:
    return f"{duration(until - since):>8}"


def _longest(parts: Sequence[Segment]) -> list[int | tuple[int, int]]:
    """The parts to show, in order, and the first and last of each run of omitted parts."""
    by_length = sorted(range(len(parts)), key=lambda place: parts[place].since_us - parts[place].until_us)
    for count in range(min(LINES, len(parts)), -1, -1):
        shown = _with_gaps(sorted(by_length[:count]), len(parts))
        if len(shown) <= LINES:
            break
    return shown


def _with_gaps(kept: Sequence[int], count: int) -> list[int | tuple[int, int]]:
    result: list[int | tuple[int, int]] = []
    before = -1
    for place in [*kept, count]:
        if place > before + 1:
            result.append((before + 1, place - 1))
        if place < count:
            result.append(place)
        before = place
    return result


def _line(found: Simulated, part: Segment, after: Segment | None) -> str:
    """One line: what the rank does, the last operation last, and which rank continues."""
    of = found.operations
    by_kind: dict[str, list[int]] = {}
    for operation in part.operations:
        kind = found.kinds[of.kind[operation]]
        these = by_kind.pop(kind, [])
        by_kind[kind] = these
        these.append(operation)
    doing = [text for kind, these in by_kind.items() if (text := _does(found, kind, these))]
    text = f"rank {part.rank} {listed(doing) or 'hands over'} [{part.phase}]"
    return text + (_goes_on(found, part, after) if after else "")


def _does(found: Simulated, kind: str, operations: Sequence[int]) -> str | None:
    of = found.operations
    amount = size(sum(int(of.bytes[each]) for each in operations))
    if kind in VERBS:
        return f"{VERBS[kind]} {amount}"
    if kind not in (SENDS, RECEIVES):
        return None
    if len(operations) > 1:
        return f"{kind}s {len(operations):,} messages ({amount})"
    return f"{kind}s {amount} {'to' if kind == SENDS else 'from'} rank {of.peer[operations[0]]}"


def _goes_on(found: Simulated, part: Segment, after: Segment) -> str:
    """The rank that waited for the end of a part, and its idle time."""
    of = found.operations
    last, first = part.operations[-1], after.operations[0]
    kinds = found.kinds[of.kind[last]], found.kinds[of.kind[first]]
    idle = sum(
        span.until - span.since for span in spans(found, after.rank) if span.operation == first and not span.busy
    )
    waited = f"waited {duration(idle)} for"
    if kinds == (SENDS, RECEIVES) and of.peer[last] == after.rank:
        several = sum(found.kinds[of.kind[each]] == SENDS for each in part.operations) > 1
        return f"{f', the last to rank {after.rank}' if several else ''}, which {waited} it"
    if kinds[1] == "await":
        return f"; rank {after.rank} {waited} its signal"
    if kinds[1] == SENDS and of.peer[first] == part.rank:
        return f"; only then its receive is posted, for which rank {after.rank} waits with its message"
    return f"; then rank {after.rank} has the core"
