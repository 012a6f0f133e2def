"""Model-checks calls with counts that use a plan with capacities, in every order of events.

The model is one edge from a sender over a leader to a receiver. Its rules are those of
call_queue.cpp, edge_call.cpp and replan.cpp in src/collectives. Messages carry the number of their
call, so that mixed calls are detected. Each broken rule must cause a violation. Left out: other
edges (except a message that delays a failed sender), agreement on eras, transport of words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import pytest

pytestmark = pytest.mark.full

Value = TypeVar("Value")

SENDER, LEADER, RECEIVER = RANKS = range(3)
NAMES = ("sender", "leader", "receiver")

# Sizes of calls: FAULT is a call with an error, REFUSED has data that MPI refuses to send.
FAULT, ONE, TWO, THREE, FOUR, REFUSED = range(6)
OVERFLOW, NOTHING = -1, -2  # words that are no size
# Conditions that a call waits for: its turn; the word (sender: its receipt by the leader); the
# receipt of the word by the receiver; messages.
TURN, WORD, HANDOVER, MESSAGE, PROBE = 1, 2, 4, 8, 16

LEAD = 1  # calls between the begin of a replan and the first call that it affects
NO_ERA = -1  # for calls that no replan affects
PROMPT = ("leader", "replan")  # prefixes of events that nothing can prevent


class Call(NamedTuple):
    number: int
    size: int
    era: int
    waits: int


class Message(NamedTuple):
    number: int  # of the call
    size: int  # of the sender's data in that call
    says: int  # the word, or the length


class Tag(NamedTuple):
    sent: tuple[Message, ...] = ()  # not yet matched by a receive
    posted: tuple[int, ...] = ()  # calls whose receives are not yet matched


class State(NamedTuple):
    entered: tuple[int, ...]  # number of calls entered, by rank
    replans: tuple[int, ...]  # number of replans completed, by rank
    calls: tuple[tuple[Call, ...], ...]  # calls in progress, by rank
    to_leader: tuple[Message | None, ...]  # the word in transit, by channel
    to_receiver: tuple[Message | None, ...]
    tags: tuple[Tag, ...]  # of direct calls, then of overflow messages


class Violation(Exception):
    """Holds the kind of a violation and its details."""


def put(values: tuple[Value, ...], place: int, value: Value) -> tuple[Value, ...]:
    return (*values[:place], value, *values[place + 1 :])


@dataclass(frozen=True)
class Protocol:
    """The behavior of the ranks, and the rule that they break, if any."""

    calls: int
    eras: tuple[tuple[int, int], ...]  # first call and capacity; with 0 its calls are direct
    sent: tuple[int, ...] = (ONE, THREE, FAULT)  # sizes, each tried in each call
    expected: tuple[int, ...] = (ONE, THREE, FAULT)
    window: int = 9  # calls that a rank enters before it waits for the oldest one
    straight_tags: int = 2
    channels: int = 2
    eager: bool = False  # whether MPI completes a send before it is matched
    reserves: bool = True  # whether a receive can be posted for any length
    strict: tuple[int, ...] = ()  # calls that may not use a plan; if any, all others block
    plan_awaits_tag: bool = True  # whether a planned call begins only when a direct one could
    leader_at_fault: bool = False
    prompt: bool = False  # whether leader and replans are never late
    broken: str = ""

    def start(self) -> State:
        words: tuple[Message | None, ...] = (None,) * self.channels
        tags = (Tag(),) * (self.straight_tags + self.channels)
        return State((0, 0, 0), (0, 0, 0), ((), (), ()), words, words, tags)

    def capacity(self, call: Call) -> int:
        return 0 if call.era == NO_ERA else self.eras[call.era][1]

    def swallows(self, call: Call) -> bool:
        """Returns whether the receiver discards a message that arrives in this call."""
        return call.size <= self.capacity(call)

    def tag(self, call: Call) -> int:
        if not self.capacity(call):
            return call.number % self.straight_tags
        channel = 0 if self.broken == "one overflow tag" else call.number % self.channels
        return channel if self.broken == "same tags" else self.straight_tags + channel

    def user_waits(self, state: State, rank: int) -> bool:
        """Returns whether the user waits for an old or blocking call. Failed calls end at once."""
        due = [call.number for call in state.calls[rank] if call.size != FAULT]
        last = state.entered[rank] - self.window
        return any(number <= last or (self.strict and number not in self.strict) for number in due)

    def may_replan(self, state: State, rank: int) -> bool:
        """Returns whether a replan may end here: all ranks began it and ended the one before."""
        replan = state.replans[rank]
        begins = self.eras[replan][0] - LEAD if replan < len(self.eras) else self.calls
        return all(state.entered[other] > begins and state.replans[other] >= replan for other in RANKS)

    def holds_tag(self, state: State, rank: int, number: int) -> bool:
        call = next((call for call in state.calls[rank] if call.number == number), None)
        if call is None or self.broken == "free tags":
            return False
        return bool(call.waits & TURN) or bool(call.waits & PROBE and not self.capacity(call))

    def may_begin(self, state: State, rank: int, call: Call) -> bool:
        before = call.number - self.straight_tags
        if call.era == NO_ERA:
            return all(other.number != before for other in state.calls[rank])
        if state.replans[rank] <= call.era:
            return False
        holding = {"no order": 0, "order of words": TURN | WORD | HANDOVER}.get(self.broken, -1)
        for other in state.calls[rank]:
            on_channel = other.era != NO_ERA and (call.number - other.number) % self.channels == 0
            if on_channel and other.number < call.number and other.waits & holding:
                return False
        at_once = self.capacity(call) > 0 and not self.plan_awaits_tag
        return at_once or not self.holds_tag(state, rank, before)

    def moves(self, state: State) -> Iterator[tuple[str, State]]:
        """Returns the possible events; a prompt leader and prompt replans come first."""
        moves = list(self.all_moves(state))
        return iter((self.prompt and [move for move in moves if move[0].startswith(PROMPT)][:1]) or moves)

    def all_moves(self, state: State) -> Iterator[tuple[str, State]]:
        for rank in (LEADER, SENDER, RECEIVER):
            name, number, replan = NAMES[rank], state.entered[rank], state.replans[rank]
            if number < self.calls and not self.user_waits(state, rank):
                if self.broken == "entry waits" and any(call.waits & TURN for call in state.calls[rank]):
                    raise Violation("entry waits", f"{name}, with call {number}")
                for size in (self.sent, (FAULT if self.leader_at_fault else ONE,), self.expected)[rank]:
                    yield f"{name} enters call {number} of size {size}", self.enter(state, rank, size)
            if self.may_replan(state, rank):
                yield f"replan {replan} ends at {name}", state._replace(replans=put(state.replans, rank, replan + 1))
            for call in state.calls[rank]:
                if call.waits & TURN and self.may_begin(state, rank, call):
                    yield f"{name} begins call {call.number}", self.begin(state, rank, call)
                elif call.waits & PROBE and rank == SENDER:
                    yield f"another edge's message comes to call {call.number}", self.settle(state, rank, call, PROBE)
                elif call.waits & PROBE and state.tags[self.tag(call)].sent and not state.tags[self.tag(call)].posted:
                    yield f"receiver swallows what comes to call {call.number}", self.take(state, call)
                elif call.waits & WORD and rank == LEADER and state.to_leader[call.number % self.channels]:
                    yield f"leader forwards the word of call {call.number}", self.forward(state, call)
                elif call.waits & WORD and rank == RECEIVER and state.to_receiver[call.number % self.channels]:
                    yield f"receiver reads the word of call {call.number}", self.read(state, call)
        for place, tag in enumerate(state.tags):
            if tag.sent and tag.posted:
                call = next(call for call in state.calls[RECEIVER] if call.number == tag.posted[0])
                yield f"a message with tag {place} comes to call {call.number}", self.take(state, call)

    def enter(self, state: State, rank: int, size: int) -> State:
        number = state.entered[rank]
        era = state.replans[rank] - 1 if self.broken == "on arrival" else sum(e[0] <= number for e in self.eras) - 1
        call = Call(number, size, NO_ERA if number in self.strict else era, TURN)
        held = self.holds_tag(state, rank, number - self.straight_tags)
        calls = put(state.calls, rank, (*state.calls[rank], call))
        state = state._replace(entered=put(state.entered, rank, number + 1), calls=calls)
        return self.begin(state, rank, call) if call.era == NO_ERA and not held else state

    def begin(self, state: State, rank: int, call: Call) -> State:
        if rank == SENDER:
            return self.send(state, call)
        by_plan = self.capacity(call) > 0 and not (rank == LEADER and self.broken == "lazy leader")
        state = self.settle(state, rank, call, TURN, WORD if by_plan else MESSAGE if rank == RECEIVER else 0)
        early = self.broken == "expectation" and not self.swallows(call)
        return self.receive(state, call) if rank == RECEIVER and (early or not by_plan) else state

    def send(self, state: State, call: Call) -> State:
        says = 0 if call.size in (FAULT, REFUSED) else call.size
        waits = 0
        if self.capacity(call):
            if call.size == FAULT and self.broken == "silent fault":
                return self.settle(state, SENDER, call, TURN)
            word = OVERFLOW if call.size > self.capacity(call) else says or NOTHING
            message = Message(call.number, call.size, word)
            state = state._replace(to_leader=self.write(state.to_leader, message))
            waits = WORD
            if word != OVERFLOW:
                return self.settle(state, SENDER, call, TURN, waits)
        elif call.size == FAULT and not self.reserves:
            waits = PROBE  # for a message of another edge
        place = self.tag(call)
        sent = (*state.tags[place].sent, Message(call.number, call.size, says))
        state = state._replace(tags=put(state.tags, place, state.tags[place]._replace(sent=sent)))
        return self.settle(state, SENDER, call, TURN, waits | (MESSAGE if says and not self.eager else 0))

    def forward(self, state: State, call: Call) -> State:
        channel = call.number % self.channels
        message = self.meet(state.to_leader[channel], call)
        state = self.settle(state, SENDER, message, WORD)
        to_leader, to_receiver = put(state.to_leader, channel, None), self.write(state.to_receiver, message)
        state = state._replace(to_leader=to_leader, to_receiver=to_receiver)
        return self.settle(state, LEADER, call, WORD, HANDOVER)

    def read(self, state: State, call: Call) -> State:
        channel = call.number % self.channels
        message = self.meet(state.to_receiver[channel], call)
        state = state._replace(to_receiver=put(state.to_receiver, channel, None))
        state = self.settle(state, LEADER, message, HANDOVER)
        if message.says != OVERFLOW or self.swallows(call):
            self.judge(call, message)
        left = self.broken == "expectation" if not self.swallows(call) else self.broken == "not swallowed"
        if message.says == OVERFLOW and not left:
            state = self.receive(state, call)
        return self.settle(state, RECEIVER, call, WORD)

    def receive(self, state: State, call: Call) -> State:
        """Posts a receive, or probes for a message to discard."""
        place = self.tag(call)
        for other in state.calls[RECEIVER]:
            overflow = self.capacity(call) and self.capacity(other) and other.waits & (MESSAGE | PROBE)
            if overflow and self.tag(other) == place:
                raise Violation("two receives", f"of calls {other.number} and {call.number}")
        if self.swallows(call) and not self.reserves:
            return self.settle(state, RECEIVER, call, MESSAGE, PROBE)
        posted = (*state.tags[place].posted, call.number)
        state = state._replace(tags=put(state.tags, place, state.tags[place]._replace(posted=posted)))
        return self.settle(state, RECEIVER, call, 0, MESSAGE)

    def take(self, state: State, call: Call) -> State:
        """Takes the next message with the call's tag."""
        place = self.tag(call)
        sent, posted = state.tags[place]
        message = self.meet(sent[0], call)
        if not self.swallows(call):
            self.judge(call, message)
        state = state._replace(tags=put(state.tags, place, Tag(sent[1:], posted[1:])))
        state = self.settle(state, SENDER, message, MESSAGE)
        return self.settle(state, RECEIVER, call, MESSAGE | PROBE)

    def settle(self, state: State, rank: int, which: Call | Message, done: int, begun: int = 0) -> State:
        """Replaces the condition `done` by `begun`; a call without conditions ends."""
        calls = list(state.calls[rank])
        for place, call in enumerate(calls):
            if call.number == which.number:
                calls[place] = call._replace(waits=call.waits & ~done | begun)
        return state._replace(calls=put(state.calls, rank, tuple(call for call in calls if call.waits)))

    def write(self, words: tuple[Message | None, ...], message: Message) -> tuple[Message | None, ...]:
        channel = message.number % self.channels
        if words[channel]:
            raise Violation("overwritten", f"{words[channel]} by {message}")
        return put(words, channel, message)

    def meet(self, message: Message | None, call: Call) -> Message:
        assert message is not None
        if message.number != call.number:
            raise Violation("mixed", f"{message} has come to {call}")
        return message

    def judge(self, call: Call, message: Message) -> None:
        """Checks the error that the receiver reports."""
        if call.size == FAULT:
            return
        fits = message.says == call.size or (self.broken == "no comparison" and message.says > 0)
        told = "elsewhere" if message.says in (NOTHING, 0) else "nothing" if fits else "count"
        due = {call.size: ["nothing"], FAULT: ["elsewhere"], REFUSED: ["elsewhere", "count"]}
        if told not in due.get(message.size, ["count"]):
            raise Violation("wrong end", f"{message} is told as {told} in {call}")


class Found(NamedTuple):
    states: Collection[State]
    violation: str  # its kind
    story: str


def search(protocol: Protocol) -> Found:
    """Visits all states up to the first violation, with a shortest sequence of events to it."""
    ways: dict[State, tuple[State | None, str]] = {protocol.start(): (None, "nothing has happened")}
    due = deque(ways)
    while due:
        state = due.popleft()
        try:
            moves = list(protocol.moves(state))
            if not moves:
                require_end(protocol, state)
            for event, after in moves:
                if after not in ways:
                    ways[after] = (state, event)
                    due.append(after)
        except Violation as violation:
            kind, what = violation.args
            story = [f"{kind}: {what}"]
            at: State | None = state
            while at is not None:
                at, event = ways[at]
                story.append(event)
            return Found(ways.keys(), kind, "\n".join(reversed(story)))
    return Found(ways.keys(), "", "")


def require_end(protocol: Protocol, state: State) -> None:
    if any(state.calls) or min(state.entered) < protocol.calls:
        raise Violation("deadlock", str(state))
    if state != State(state.entered, state.replans, *protocol.start()[2:]):
        raise Violation("left over", str(state))


ONES: dict[str, Any] = {"sent": (ONE,), "expected": (ONE,)}
THREES: dict[str, Any] = {"sent": (THREE,), "expected": (THREE,)}
SOME: dict[str, Any] = {"sent": (ONE, FOUR, FAULT), "expected": (ONE, THREE, FOUR)}
NOT_LARGE: dict[str, Any] = {"sent": (ONE, FAULT), "expected": (ONE, FAULT)}
ALL: dict[str, Any] = {"sent": (ONE, THREE, FAULT, REFUSED), "expected": (ONE, TWO, THREE, FOUR, FAULT)}
ONE_EACH: dict[str, Any] = {"straight_tags": 1, "channels": 1}
AT_ONCE = ((0, 2),)

HOLD = {
    "blocking, to a plan": Protocol(4, ((2, 2),), window=1),
    "to a plan": Protocol(3, ((2, 2),)),
    "one channel": Protocol(3, AT_ONCE, channels=1, window=2),
    "eager": Protocol(2, AT_ONCE, channels=1, eager=True),
    "two channels": Protocol(3, AT_ONCE, prompt=True),
    "longer": Protocol(4, ((2, 2),), window=2, prompt=True),
    "straight": Protocol(4, (), prompt=True),
    "straight, swallowing": Protocol(3, (), straight_tags=1, reserves=False, prompt=True),
    "all sizes": Protocol(2, AT_ONCE, channels=1, **ALL),
    "all sizes, straight": Protocol(2, (), straight_tags=1, **ALL),
    "by plan, swallowing": Protocol(3, AT_ONCE, channels=1, eager=True, reserves=False, prompt=True),
    "leader at fault": Protocol(3, AT_ONCE, channels=1, leader_at_fault=True, prompt=True),
    "kept, then larger": Protocol(3, ((0, 2), (1, 2), (2, 3)), channels=1, prompt=True, **SOME),
    "straight and back": Protocol(4, ((0, 2), (1, 0), (2, 2)), window=2, prompt=True, **ONE_EACH, reserves=False),
    "plan to straight": Protocol(3, ((1, 2), (2, 0)), prompt=True, **ONE_EACH),
}

THERE_AND_BACK = {  # calls that are direct, planned and direct again, with one tag
    "replanned": Protocol(3, ((1, 2), (2, 0)), prompt=True, **ONE_EACH, reserves=False),
    "strict": Protocol(3, AT_ONCE, strict=(0, 2), prompt=True, **ONE_EACH, reserves=False),
    "after one at fault": Protocol(4, AT_ONCE, strict=(1, 3), straight_tags=1, channels=3, prompt=True, **NOT_LARGE),
}

BROKEN = {
    "one overflow tag": (Protocol(2, AT_ONCE, **THREES), "mixed"),
    "expectation": (Protocol(2, AT_ONCE, channels=1, sent=(ONE, THREE), expected=(THREE,)), "mixed"),
    "expectation, once": (Protocol(1, AT_ONCE, sent=(ONE,), expected=(THREE,)), "deadlock"),
    "no comparison": (Protocol(1, AT_ONCE, sent=(ONE,), expected=(TWO,)), "wrong end"),
    "not swallowed": (Protocol(1, AT_ONCE, sent=(THREE,), expected=(ONE,), eager=True), "left over"),
    "not swallowed, rendezvous": (Protocol(1, AT_ONCE, sent=(THREE,), expected=(ONE,)), "deadlock"),
    "silent fault": (Protocol(2, AT_ONCE, channels=1, sent=(ONE, FAULT), expected=(ONE,)), "mixed"),
    "silent fault, once": (Protocol(1, AT_ONCE, sent=(FAULT,), expected=(ONE,)), "deadlock"),
    "lazy leader": (Protocol(1, AT_ONCE, **ONES), "deadlock"),
    "on arrival": (Protocol(2, ((1, 2),), **ONES), "deadlock"),
    "entry waits": (Protocol(4, ((2, 2),), **ONES), "entry waits"),
    "no order": (Protocol(2, AT_ONCE, channels=1, **ONES), "overwritten"),
    "order of words": (Protocol(2, AT_ONCE, channels=1, **THREES), "two receives"),
    "same tags": (Protocol(3, ((0, 2), (2, 0)), channels=3, **THREES), "mixed"),
    "free tags": (Protocol(2, (), straight_tags=1, sent=(ONE,), expected=(ONE, FAULT), reserves=False), "mixed"),
}


@pytest.mark.parametrize("name", HOLD)
def test_the_rules_hold_in_every_order(name: str) -> None:
    found = search(HOLD[name])
    assert not found.violation, found.story


@pytest.mark.parametrize("name", THERE_AND_BACK)
def test_a_call_by_the_plan_hides_no_call_that_holds_its_tag(name: str) -> None:
    assert not search(THERE_AND_BACK[name]).violation
    found = search(replace(THERE_AND_BACK[name], plan_awaits_tag=False))
    assert found.violation == "mixed", found.story


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules_are_found_out(name: str) -> None:
    protocol, violation = BROKEN[name]
    assert not search(protocol).violation
    found = search(replace(protocol, broken=name.split(",")[0]))
    assert found.violation == violation, found.story


@pytest.mark.parametrize("name", ["blocking, to a plan", "eager"])
def test_where_leader_and_replans_are_prompt_nothing_is_hidden(name: str) -> None:
    """Both searches find all states in which leader and replans have nothing to do."""
    late = HOLD[name]
    found = [search(protocol).states for protocol in (late, replace(late, prompt=True))]
    busy = {state for state in found[0] if any(event.startswith(PROMPT) for event, _ in late.moves(state))}
    assert set(found[0]) - busy == set(found[1]) - busy
    assert len(found[0]) - len(busy) < len(found[1]) < len(found[0])
