"""What a rank does from the begin of a simulated exchange until it is done: what occupies it, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .prices import Simulated
from .tables import size

SENDS, RECEIVES = "send", "receive"
VERBS = {"copy": "copies", "reduce": "adds up"}


@dataclass(frozen=True)
class Span:
    """A part of a rank's time, in microseconds."""

    since: float
    until: float
    operation: int
    """What occupies the rank, or ends its waiting."""
    busy: bool


def spans(found: Simulated, rank: int) -> list[Span]:
    """All of a rank's time until it is done, without gaps; what takes no time is left out."""
    of = found.operations
    mine = of.of(rank)
    begun, done, complete = of.begun[mine], of.done[mine], of.complete[mine]
    late = np.flatnonzero(complete > done)  # sends, whose bytes leave after their processor's part
    since, until = np.concatenate([begun, complete[late]]), np.concatenate([done, complete[late]])
    which = np.concatenate([np.arange(mine.start, mine.stop), mine.start + late])
    result: list[Span] = []
    told = 0.0
    for place in np.lexsort((which, until, since)).tolist():
        begin, end, operation = float(since[place]), float(until[place]), int(which[place])
        if begin > told:
            result.append(Span(told, begin, operation, False))
        if end > begin:
            result.append(Span(begin, end, operation, True))
        told = max(told, end)
    return result


def named(found: Simulated, operation: int) -> str:
    """An operation in a few words, such as "send 3.00 kB to rank 803"."""
    of = found.operations
    kind, amount = found.kinds[of.kind[operation]], size(int(of.bytes[operation]))
    if kind == SENDS:
        return f"send {amount} to rank {of.peer[operation]}"
    if kind == RECEIVES:
        return f"receive {amount} from rank {of.peer[operation]}"
    return f"{kind} {amount}" if kind in VERBS else kind
