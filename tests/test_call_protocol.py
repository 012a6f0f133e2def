"""How calls with counts go by a plan with capacities, searched through in every order of events.

The model is one edge from a sender over a leader, a rank between, to a receiver, as src/collectives/counted_call.cpp,
call_queue.cpp and review.hpp have it, with smaller numbers. Messages carry the number of their call, so that it is seen
where one meets another call. Each way to break the protocol must be found out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest

SENDER, LEADER, RECEIVER = RANKS = range(3)
NAMES = ("sender", "leader", "receiver")

# Sizes of data; those of calls at fault, and of data that MPI refuses to send. What fits depends on the plan.
FAULT, ONE, TWO, THREE, FOUR, REFUSED = range(6)
# What a word says that is no size.
DEPARTED, NOTHING = -1, -2
# What a call waits for: its turn; the word (the sender: that the leader has it); that the receiver has the word; that
# MPI has finished its message; a message that it must swallow, for which no receive is posted.
TURN, WORD, HANDOVER, MESSAGE, PROBE = 1, 2, 4, 8, 16

LEAD = 1  # calls from where a review begins to where it takes effect
STRAIGHT = -1  # the era of calls that no review concerns


class Call(NamedTuple):
    number: int
    size: int
    era: int
    waits: int


class Message(NamedTuple):
    number: int
    size: int
    says: int  # the word, or the length


class Tag(NamedTuple):
    sent: tuple[Message, ...] = ()
    posted: tuple[int, ...] = ()  # the calls of receives that have met no message


class State(NamedTuple):
    entered: tuple[int, ...]  # calls, by rank
    reviews: tuple[int, ...]  # that are over, by rank
    calls: tuple[tuple[Call, ...], ...]  # that are not over, by rank
    to_leader: tuple[Message | None, ...]  # words under way, by channel
    to_receiver: tuple[Message | None, ...]
    tags: tuple[Tag, ...]  # those of straight calls, then those of what has departed


@dataclass(frozen=True)
class Program:
    """What ranks do, and how the protocol is broken, if it is."""

    calls: int
    eras: tuple[tuple[int, int], ...]  # the first call of each, and the capacity; 0 where calls go straight
    sent: tuple[int, ...] = (ONE, THREE, FAULT)  # any of them in any call
    expected: tuple[int, ...] = (ONE, THREE, FAULT)
    window: int = 9  # calls that a rank has in flight before it waits for the first of them
    tags: int = 2
    channels: int = 2
    eager: bool = False  # whether MPI finishes sends that have met no receive
    reserves: bool = True  # whether a receive can be posted for a message of unknown length
    strict: frozenset[int] = frozenset()  # calls that may not go by a plan
    leader_at_fault: bool = False
    broken: str = ""

    def era_of(self, number: int) -> int:
        if number in self.strict:
            return STRAIGHT
        return sum(first <= number for first, _ in self.eras) - 1

    def capacity(self, call: Call) -> int:
        return 0 if call.era == STRAIGHT else self.eras[call.era][1]

    def straight_tag(self, number: int) -> int:
        return number % self.tags

    def departed_tag(self, number: int) -> int:
        if self.broken == "same tags":
            return self.straight_tag(number)
        return self.tags + (0 if self.broken == "one departed tag" else number % self.channels)


class Violation(Exception):
    pass


def put[T](values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[:place], value, *values[place + 1 :])
