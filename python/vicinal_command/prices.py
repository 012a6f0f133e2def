"""What plans are predicted to cost on a machine's profile: the one place where the command asks for prices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from vicinal import Error

from .outputs import CommandError

if TYPE_CHECKING:
    from vicinal._core import PlanSet, Profile

Array = npt.NDArray[Any]

VARIABLE = "VICINAL_PROFILE"


@dataclass(frozen=True)
class Prediction:
    """How long one exchange takes by the profile, and who is busiest meanwhile."""

    microseconds: float
    phases: dict[str, float]
    """Microseconds by phase, of the chain of events that ends last: they add up to the whole."""
    busiest: int
    """The rank whose processor is busy longest."""


def profile_of(path: str | None) -> Profile:
    """The profile in the file, or the one that VICINAL_PROFILE names, or the built-in default."""
    from vicinal import _core

    chosen = path or os.environ.get(VARIABLE)
    if not chosen:
        return _core.Profile.default()
    try:
        return _core.Profile.read(chosen)
    except (Error, OSError) as error:
        where = "--profile" if path else VARIABLE
        raise CommandError(f"{where}: {' '.join(str(error).split())}") from error


def predict(
    plans: PlanSet, profile: Profile, element_bytes: int, memory: str = "host", device_way: str = "staged"
) -> Prediction:
    """The price of one exchange of elements of this size, from and to the host's memory or a device's.

    There it goes by `device_way`, of "automatic" the one of those in the profile that takes less.
    """
    ways = [device_way]
    if device_way == "automatic":
        ways = (profile.device_ways if memory == "device" else []) or ["staged"]
    try:
        found = min((plans.price(profile, element_bytes, memory, way) for way in ways),
                    key=lambda price: price["seconds"])
    except Error as error:
        raise CommandError(str(error)) from error
    return Prediction(*_in_microseconds(found), int(found["busiest"]))


@dataclass(frozen=True)
class Operations:
    """All operations of all ranks, and when each had its turn, in microseconds: arrays over them, rank after rank."""

    first: Array
    """By rank its first operation, and the number of all at the end."""
    kind: Array
    """Numbers of `Simulated.kinds`."""
    phase: Array
    """Numbers of `Simulated.phases`."""
    peer: Array
    """Of a message the rank at its other end, else -1."""
    bytes: Array
    begun: Array
    """It begins to occupy its processor; where it takes none, it is done at the same time."""
    done: Array
    complete: Array
    """What comes after it may begin: of a send, its bytes have left."""

    def of(self, rank: int) -> slice:
        """Those of a rank."""
        return slice(int(self.first[rank]), int(self.first[rank + 1]))

    def rank(self, operation: int) -> int:
        """Whose it is."""
        return int(np.searchsorted(self.first, operation, side="right")) - 1


@dataclass(frozen=True)
class Simulated:
    """One exchange of all ranks, event by event, in microseconds."""

    microseconds: float
    chain_phases: dict[str, float]
    """By phase, of the chain of events that ends last."""
    busiest: int
    finished: Array
    """By rank, when it is done."""
    kinds: tuple[str, ...]
    phases: tuple[str, ...]
    busy: Array
    """Ranks by phases: how long operations of the phase occupy the rank's processor ..."""
    waiting: Array
    """... and how long it waits, until it is done, for what belongs to the phase."""
    operations: Operations
    chain: Array
    """The operations of the chain of what waited for what, from the begin to the end ..."""
    since: Array
    """... and the time that belongs to each."""
    until: Array


def follow(plans: PlanSet, profile: Profile, element_bytes: int) -> Simulated:
    """What happens in one exchange of elements of this size."""
    found = plans.simulate(profile, element_bytes)
    operations, chain = found["operations"], found["chain"]
    microseconds, phases = _in_microseconds(found)
    times = {name: operations[name] * 1e6 for name in ("begun", "done", "complete")}
    kept = {name: operations[name] for name in ("first", "kind", "phase", "peer", "bytes")}
    return Simulated(
        microseconds=microseconds,
        chain_phases=phases,
        busiest=int(found["busiest"]),
        finished=found["finished"] * 1e6,
        kinds=tuple(found["kinds"]),
        phases=tuple(found["phase_names"]),
        busy=found["busy_by_phase"] * 1e6,
        waiting=found["waiting_by_phase"] * 1e6,
        operations=Operations(**kept, **times),
        chain=chain["operation"],
        since=chain["since"] * 1e6,
        until=chain["until"] * 1e6,
    )


def _in_microseconds(price: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """How long, and by phase."""
    phases = {name: round(seconds * 1e6, 3) for name, seconds in price["phases"].items()}
    return round(price["seconds"] * 1e6, 3), phases
