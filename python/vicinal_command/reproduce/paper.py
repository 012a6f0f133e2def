"""What the reproductions of papers have in common: what a paper says, what is found here, and figures of both.

A paper's figures are pictures, and its text gives few of their numbers: those stand in a table of `Published`, each with its place.  A
reproduction computes `Found` of the same keys, and whole `Figure`s, in which the published numbers are marked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..outputs import Advance

if TYPE_CHECKING:
    from vicinal._core import Profile

HERE = "vicinal"
"""What is found of vicinal's own, for which there is nothing published, has keys that begin so."""


@dataclass(frozen=True)
class Published:
    """A number of the paper's text; a range where that gives one, open where it says no more than that something is above a number."""

    key: str
    what: str
    place: str
    """Where in the paper it stands."""
    low: float
    high: float
    unit: str = "×"

    @staticmethod
    def one(key: str, what: str, place: str, value: float, unit: str = "×") -> Published:
        """A single number."""
        return Published(key, what, place, value, value, unit)


@dataclass(frozen=True)
class Found:
    """The same here, or of vicinal's own; `what` says what it is where the paper has nothing of the kind."""

    key: str
    low: float
    high: float
    what: str = ""
    unit: str = "×"

    @staticmethod
    def one(key: str, value: float, what: str = "", unit: str = "×") -> Found:
        """A single number."""
        return Found(key, value, value, what, unit)


class Point(NamedTuple):
    """A value of one series in one panel of a figure."""

    panel: str
    series: str
    x: float
    value: float


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures, or of ours after it."""

    name: str
    """Of its files, such as figure-11a."""
    title: str
    x_label: str
    y_label: str
    points: Sequence[Point]
    published: Sequence[Point] = ()
    """Those that the text gives."""
    log_x: bool = False
    log_y: bool = False


@dataclass
class Outcome:
    """What a reproduction comes to."""

    figures: list[Figure] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be looked at, or is not as in the paper."""


@dataclass(frozen=True)
class Scope:
    """How much of it is looked at."""

    fraction: int
    """Of the paper's nodes, rows and the like, one part in so many."""
    memory: float | None
    """Gigabytes that may be used; None: all that is available."""
    matrices: Sequence[str]
    """Those given on the command line, for papers whose matrices are not part of it."""


@dataclass(frozen=True)
class Paper:
    """A paper, and how to reproduce it."""

    name: str
    title: str
    published: Sequence[Published]
    reproduce: Callable[[Scope, Profile, Advance], Outcome]
    """Advances to 1."""
    rules: Sequence[str]
    """What is simulated, and what in the paper it stands for."""
