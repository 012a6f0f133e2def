"""What plans are predicted to cost on a machine's profile: the one place where the command asks for prices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vicinal import Error

from .outputs import CommandError

if TYPE_CHECKING:
    from vicinal._core import PlanSet, Profile

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


def predict(plans: PlanSet, profile: Profile, element_bytes: int) -> Prediction:
    """The price of one exchange of elements of this size."""
    found = plans.price(profile, element_bytes)
    phases = {name: round(seconds * 1e6, 3) for name, seconds in found["phases"].items()}
    return Prediction(round(found["seconds"] * 1e6, 3), phases, int(found["busiest"]))
