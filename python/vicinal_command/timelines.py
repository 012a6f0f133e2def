"""A rank's time in a simulated exchange, from begin to end: its operations, and its waiting."""

from __future__ import annotations

from dataclasses import dataclass

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
    """The operation that occupies the rank, or that ends its waiting."""
    busy: bool


def spans(found: Simulated, rank: int) -> list[Span]:
    """All of a rank's time until it is done, without gaps and without empty spans."""
    from vicinal import _core

    of = found.operations
    mine = of.of(rank)
    parts = _core.spans(of.begun[mine], of.done[mine], of.complete[mine])
    columns = (parts[name].tolist() for name in ("since", "until", "operation", "busy"))
    return [
        Span(since, until, mine.start + operation, bool(busy))
        for since, until, operation, busy in zip(*columns, strict=True)
    ]


def named(found: Simulated, operation: int) -> str:
    """An operation in a few words, such as "send 3.00 kB to rank 803"."""
    of = found.operations
    kind, amount = found.kinds[of.kind[operation]], size(int(of.bytes[operation]))
    if kind == SENDS:
        return f"send {amount} to rank {of.peer[operation]}"
    if kind == RECEIVES:
        return f"receive {amount} from rank {of.peer[operation]}"
    return f"{kind} {amount}" if kind in VERBS else kind
