"""Predicted costs of plans on a machine's profile. No other module computes prices."""

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
    """Time of one exchange by the profile, and its busiest rank."""

    microseconds: float
    phases: dict[str, float]
    """Microseconds by phase, along the critical chain: they add up to the total."""
    busiest: int
    """The rank whose processor is busy longest."""


def profile_of(path: str | None) -> Profile:
    """The profile in the file, or the one named by VICINAL_PROFILE, or the built-in default."""
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
    """The price of one exchange of elements of this size, from and to host or device memory.

    Device memory uses `device_way`; "automatic" is the fastest transport in the profile.
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
    """All operations of all ranks, rank after rank, as arrays. Times are in microseconds."""

    first: Array
    """By rank its first operation, and the total number at the end."""
    kind: Array
    """Indices into `Simulated.kinds`."""
    phase: Array
    """Indices into `Simulated.phases`."""
    peer: Array
    """The rank at the other end of a message, else -1."""
    bytes: Array
    begun: Array
    """When it begins to occupy its processor; without processor time, equal to `done`."""
    done: Array
    complete: Array
    """When later operations may begin; for a send, when its bytes have left."""

    def of(self, rank: int) -> slice:
        """The operations of a rank."""
        return slice(int(self.first[rank]), int(self.first[rank + 1]))

    def rank(self, operation: int) -> int:
        """The rank of an operation."""
        return int(np.searchsorted(self.first, operation, side="right")) - 1


@dataclass(frozen=True)
class Simulated:
    """One exchange of all ranks, event by event, in microseconds."""

    microseconds: float
    chain_phases: dict[str, float]
    """By phase, along the critical chain."""
    busiest: int
    finished: Array
    """By rank, when it is done."""
    kinds: tuple[str, ...]
    phases: tuple[str, ...]
    busy: Array
    """Ranks by phases: time for which the phase's operations occupy the rank's processor."""
    waiting: Array
    """Ranks by phases: time for which the rank waits for operations of the phase."""
    operations: Operations
    chain: Array
    """Operations of the critical chain, from begin to end."""
    since: Array
    """Begin of each one's part of the time; `until` is its end."""
    until: Array


def follow(plans: PlanSet, profile: Profile, element_bytes: int) -> Simulated:
    """Simulates one exchange of elements of this size."""
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
    """Total time, and time by phase."""
    phases = {name: round(seconds * 1e6, 3) for name, seconds in price["phases"].items()}
    return round(price["seconds"] * 1e6, 3), phases
