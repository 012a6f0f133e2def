"""How calls with counts go by a plan with capacities, searched through in every order of events.

The model is one edge from a sender over a leader, a rank between, to a receiver, with the rules of
src/collectives/call_queue.cpp, counted_call.cpp, direct_call.cpp and review.cpp, and smaller numbers. Messages carry the
number of their call, so that it is seen where one meets another call. Each way to break the rules must be found out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import pytest

Value = TypeVar("Value")

SENDER, LEADER, RECEIVER = RANKS = range(3)
NAMES = ("sender", "leader", "receiver")

# The size of what a call sends or expects; a call at fault; data that MPI refuses to send. What fits depends on the era.
FAULT, ONE, TWO, THREE, FOUR, REFUSED = range(6)
# What a word says that is no size.
DEPARTED, NOTHING = -1, -2
# What a call waits for: its turn; the word (the sender: that the leader has it); that the receiver has the word; the end
# of a message; a message that it must swallow, and for which MPI has no receive.
TURN, WORD, HANDOVER, MESSAGE, PROBE = 1, 2, 4, 8, 16

LEAD = 1  # calls between the one that begins a review and the first that it concerns
NO_ERA = -1  # of calls that no review concerns


class Call(NamedTuple):
    number: int
    size: int
    era: int
    waits: int


class Message(NamedTuple):
    number: int  # of the call
    size: int  # of what the sender was to send in it
    says: int  # the word, or the length


class Tag(NamedTuple):
    sent: tuple[Message, ...] = ()  # that have met no receive
    posted: tuple[int, ...] = ()  # calls, of receives that have met no message


class State(NamedTuple):
    entered: tuple[int, ...]  # calls, by rank
    reviews: tuple[int, ...]  # that are over, by rank
    calls: tuple[tuple[Call, ...], ...]  # that are not over, by rank
    to_leader: tuple[Message | None, ...]  # the word under way, by channel
    to_receiver: tuple[Message | None, ...]
    tags: tuple[Tag, ...]  # those of straight calls, then those of what has departed


class Violation(Exception):
    """With its kind, and what has happened."""


def put(values: tuple[Value, ...], place: int, value: Value) -> tuple[Value, ...]:
    return (*values[:place], value, *values[place + 1 :])


@dataclass(frozen=True)
class Protocol:
    """What ranks do, and how they break the rules, if they do."""

    calls: int
    eras: tuple[tuple[int, int], ...]  # the first call of each, and the capacity; 0 where its calls go straight
    sent: tuple[int, ...] = (ONE, THREE, FAULT)  # each of them in each call
    expected: tuple[int, ...] = (ONE, THREE, FAULT)
    window: int = 9  # calls that a rank enters before it waits for the first of them
    straight_tags: int = 2
    channels: int = 2
    eager: bool = False  # whether MPI finishes what is sent before it meets a receive
    reserves: bool = True  # whether there is address space to post a receive for a message of any length
    strict: tuple[int, ...] = ()  # calls that may not go by a plan
    plan_awaits_tag: bool = False  # whether a call by the plan begins only when it could go straight as well
    leader_at_fault: bool = False
    prompt: bool = False  # whether leader and reviews are never late
    broken: str = ""

    def start(self) -> State:
        words: tuple[Message | None, ...] = (None,) * self.channels
        tags = (Tag(),) * (self.straight_tags + self.channels)
        return State((0, 0, 0), (0, 0, 0), ((), (), ()), words, words, tags)

    def era(self, number: int) -> int:
        return NO_ERA if number in self.strict else sum(first <= number for first, _ in self.eras) - 1

    def capacity(self, call: Call) -> int:
        return 0 if call.era == NO_ERA else self.eras[call.era][1]

    def swallows(self, call: Call) -> bool:
        """Whether the receiver wants no message in this call, should one come."""
        return call.size <= self.capacity(call)

    def tag(self, call: Call) -> int:
        if not self.capacity(call):
            return call.number % self.straight_tags
        channel = 0 if self.broken == "one departed tag" else call.number % self.channels
        return channel if self.broken == "same tags" else self.straight_tags + channel

    def user_waits(self, state: State, rank: int) -> bool:
        """For a call that is too long ago. Nobody waits for one at fault: its user has been told at once."""
        last = state.entered[rank] - self.window
        return any(call.number <= last and call.size != FAULT for call in state.calls[rank])

    def may_review(self, state: State, rank: int) -> bool:
        """Whether the next review may end here: all ranks have begun it, and ended the one before."""
        review = state.reviews[rank]
        if review == len(self.eras):
            return False
        begins = self.eras[review][0] - LEAD
        return all(state.entered[other] > begins and state.reviews[other] >= review for other in RANKS)

    def holds_tag(self, state: State, rank: int, number: int) -> bool:
        call = next((call for call in state.calls[rank] if call.number == number), None)
        if call is None or self.broken == "free tags":
            return False
        return bool(call.waits & TURN) or bool(call.waits & PROBE and not self.capacity(call))

    def may_begin(self, state: State, rank: int, call: Call) -> bool:
        before = call.number - self.straight_tags
        if call.era == NO_ERA:
            return all(other.number != before for other in state.calls[rank])
        if state.reviews[rank] <= call.era:
            return False
        holding = {"no order": 0, "order of words": TURN | WORD | HANDOVER}.get(self.broken, -1)
        for other in state.calls[rank]:
            on_channel = other.era != NO_ERA and (call.number - other.number) % self.channels == 0
            if on_channel and other.number < call.number and other.waits & holding:
                return False
        by_plan_at_once = self.capacity(call) and not self.plan_awaits_tag
        return bool(by_plan_at_once) or not self.holds_tag(state, rank, before)

    def moves(self, state: State) -> Iterator[tuple[str, State]]:
        """What may happen next. Of what leader and reviews do nothing can be undone, prevented or overtaken by what others
        do, in whatever order: where they are prompt, one such event stands for all orders."""
        moves = self.all_moves(state)
        if not self.prompt:
            return moves
        listed = list(moves)
        return iter([move for move in listed if move[0].startswith(("leader", "review"))][:1] or listed)

    def all_moves(self, state: State) -> Iterator[tuple[str, State]]:
        for rank in (LEADER, SENDER, RECEIVER):
            name, number, review = NAMES[rank], state.entered[rank], state.reviews[rank]
            if number < self.calls and not self.user_waits(state, rank):
                if self.broken == "entry waits" and any(call.waits & TURN for call in state.calls[rank]):
                    raise Violation("entry waits", f"{name}, with call {number}")
                for size in (self.sent, (FAULT if self.leader_at_fault else ONE,), self.expected)[rank]:
                    yield f"{name} enters call {number} of size {size}", self.enter(state, rank, size)
            if self.may_review(state, rank):
                yield f"review {review} ends at {name}", state._replace(reviews=put(state.reviews, rank, review + 1))
            for call in state.calls[rank]:
                if call.waits & TURN and self.may_begin(state, rank, call):
                    yield f"{name} begins call {call.number}", self.begin(state, rank, call)
                elif call.waits & PROBE:
                    yield from self.probe(state, rank, call)
                elif call.waits & WORD and rank == LEADER and state.to_leader[call.number % self.channels]:
                    yield f"leader forwards the word of call {call.number}", self.forward(state, call)
                elif call.waits & WORD and rank == RECEIVER and state.to_receiver[call.number % self.channels]:
                    yield f"receiver reads the word of call {call.number}", self.read(state, call)
        for place, tag in enumerate(state.tags):
            if tag.sent and tag.posted:
                call = next(call for call in state.calls[RECEIVER] if call.number == tag.posted[0])
                yield f"a message with tag {place} comes to call {call.number}", self.take(state, place, call)

    def enter(self, state: State, rank: int, size: int) -> State:
        number = state.entered[rank]
        call = Call(number, size, state.reviews[rank] - 1 if self.broken == "on arrival" else self.era(number), TURN)
        held = self.holds_tag(state, rank, number - self.straight_tags)
        calls = put(state.calls, rank, (*state.calls[rank], call))
        state = state._replace(entered=put(state.entered, rank, number + 1), calls=calls)
        return self.begin(state, rank, call) if call.era == NO_ERA and not held else state

    def begin(self, state: State, rank: int, call: Call) -> State:
        if rank == SENDER:
            return self.send(state, call)
        by_plan = self.capacity(call) > 0 and not (rank == LEADER and self.broken == "lazy leader")
        state = self.settle(state, rank, call.number, TURN, WORD if by_plan else MESSAGE if rank == RECEIVER else 0)
        early = self.broken == "expectation" and not self.swallows(call)
        return self.receive(state, call) if rank == RECEIVER and (early or not by_plan) else state

    def send(self, state: State, call: Call) -> State:
        says = 0 if call.size in (FAULT, REFUSED) else call.size
        waits = 0
        if self.capacity(call):
            if call.size == FAULT and self.broken == "silent fault":
                return self.settle(state, SENDER, call.number, TURN)
            word = DEPARTED if call.size > self.capacity(call) else says or NOTHING
            message = Message(call.number, call.size, word)
            state = state._replace(to_leader=self.write(state.to_leader, message))
            waits = WORD
            if word != DEPARTED:
                return self.settle(state, SENDER, call.number, TURN, waits)
        elif call.size == FAULT and not self.reserves:
            waits = PROBE  # of what another edge brings
        place = self.tag(call)
        sent = (*state.tags[place].sent, Message(call.number, call.size, says))
        state = state._replace(tags=put(state.tags, place, state.tags[place]._replace(sent=sent)))
        return self.settle(state, SENDER, call.number, TURN, waits | (MESSAGE if says and not self.eager else 0))

    def forward(self, state: State, call: Call) -> State:
        channel = call.number % self.channels
        message = self.meet(state.to_leader[channel], call)
        state = self.settle(state, SENDER, message.number, WORD)
        to_leader, to_receiver = put(state.to_leader, channel, None), self.write(state.to_receiver, message)
        state = state._replace(to_leader=to_leader, to_receiver=to_receiver)
        return self.settle(state, LEADER, call.number, WORD, HANDOVER)

    def read(self, state: State, call: Call) -> State:
        channel = call.number % self.channels
        message = self.meet(state.to_receiver[channel], call)
        state = state._replace(to_receiver=put(state.to_receiver, channel, None))
        state = self.settle(state, LEADER, message.number, HANDOVER)
        if message.says != DEPARTED or self.swallows(call):
            self.judge(call, message)
        left = self.broken == "expectation" if not self.swallows(call) else self.broken == "not swallowed"
        if message.says == DEPARTED and not left:
            state = self.receive(state, call)
        return self.settle(state, RECEIVER, call.number, WORD)

    def receive(self, state: State, call: Call) -> State:
        """Posts a receive, or looks for what must be swallowed."""
        place = self.tag(call)
        for other in state.calls[RECEIVER]:
            departed = self.capacity(call) and self.capacity(other) and other.waits & (MESSAGE | PROBE)
            if departed and self.tag(other) == place:
                raise Violation("two receives", f"of calls {other.number} and {call.number}")
        if self.swallows(call) and not self.reserves:
            return self.settle(state, RECEIVER, call.number, MESSAGE, PROBE)
        posted = (*state.tags[place].posted, call.number)
        state = state._replace(tags=put(state.tags, place, state.tags[place]._replace(posted=posted)))
        return self.settle(state, RECEIVER, call.number, 0, MESSAGE)

    def probe(self, state: State, rank: int, call: Call) -> Iterator[tuple[str, State]]:
        """Finds a message that has come to no receive. What another edge brings to the sender comes at any time."""
        place = self.tag(call)
        if rank == SENDER:
            yield f"another edge's message comes to call {call.number}", self.settle(state, rank, call.number, PROBE)
        elif state.tags[place].sent and not state.tags[place].posted:
            yield f"receiver swallows what comes to call {call.number}", self.take(state, place, call)

    def take(self, state: State, place: int, call: Call) -> State:
        sent, posted = state.tags[place]
        message = self.meet(sent[0], call)
        if not self.swallows(call):
            self.judge(call, message)
        state = state._replace(tags=put(state.tags, place, Tag(sent[1:], posted[1:])))
        state = self.settle(state, SENDER, message.number, MESSAGE)
        return self.settle(state, RECEIVER, call.number, MESSAGE | PROBE)

    @staticmethod
    def settle(state: State, rank: int, number: int, done: int, begun: int = 0) -> State:
        """A call no longer waits for the one, but for the other. It is over once it waits for nothing."""
        changed = [
            call._replace(waits=call.waits & ~done | begun) if call.number == number else call for call in state.calls[rank]
        ]
        return state._replace(calls=put(state.calls, rank, tuple(call for call in changed if call.waits)))

    def write(self, words: tuple[Message | None, ...], message: Message) -> tuple[Message | None, ...]:
        channel = message.number % self.channels
        if words[channel]:
            raise Violation("overwritten", f"{words[channel]} by {message}")
        return put(words, channel, message)

    @staticmethod
    def meet(message: Message | None, call: Call) -> Message:
        assert message is not None
        if message.number != call.number:
            raise Violation("mixed", f"{message} has come to {call}")
        return message

    @staticmethod
    def judge(call: Call, message: Message) -> None:
        """What the receiver is told, and what it should be."""
        if call.size == FAULT:
            return
        told = "elsewhere" if message.says in (NOTHING, 0) else "nothing" if message.says == call.size else "count"
        due = {call.size: ["nothing"], FAULT: ["elsewhere"], REFUSED: ["elsewhere", "count"]}
        if told not in due.get(message.size, ["count"]):
            raise Violation("wrong end", f"{message} is told as {told} in {call}")


@dataclass(frozen=True)
class Found:
    states: int
    violation: str  # its kind
    story: tuple[str, ...]


def search(protocol: Protocol) -> Found:
    """Goes through all states; to the first violation, by a shortest way."""
    start = protocol.start()
    ways: dict[State, tuple[State | None, str]] = {start: (None, "all begin")}
    due = deque([start])
    while due:
        state = due.popleft()
        try:
            ends = True
            for event, after in protocol.moves(state):
                ends = False
                if after not in ways:
                    ways[after] = (state, event)
                    due.append(after)
            if ends:
                require_end(protocol, state)
        except Violation as violation:
            kind, what = violation.args
            story = [f"{kind}: {what}"]
            at: State | None = state
            while at is not None:
                at, event = ways[at]
                story.append(event)
            return Found(len(ways), kind, tuple(reversed(story)))
    return Found(len(ways), "", ())


def require_end(protocol: Protocol, state: State) -> None:
    if any(state.calls) or min(state.entered) < protocol.calls:
        raise Violation("deadlock", str(state))
    if state != State(state.entered, state.reviews, *protocol.start()[2:]):
        raise Violation("left over", str(state))
