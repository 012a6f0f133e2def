"""Shared parts of the reproductions of papers: published numbers, results, and figures.

A paper's figures are pictures, and its text gives few of their numbers. A table of `Published`
holds these, each with its place in the paper. A reproduction computes `Found` with the same keys,
and whole `Figure`s that mark the published numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from vicinal_command.outputs import Advance

if TYPE_CHECKING:
    from vicinal._core import Profile

HERE = "vicinal"
"""Prefix of the keys of vicinal's own results, for which nothing is published."""


@dataclass(frozen=True)
class Published:
    """A number or range in the paper's text. A range is open if only a lower bound is given."""

    key: str
    what: str
    place: str
    """Its place in the paper."""
    low: float
    high: float
    unit: str = "×"

    @staticmethod
    def one(key: str, what: str, place: str, value: float, unit: str = "×") -> Published:
        """Makes a single number."""
        return Published(key, what, place, value, value, unit)


@dataclass(frozen=True)
class Found:
    """A number found here. `what` describes it if the paper has no such number."""

    key: str
    low: float
    high: float
    what: str = ""
    unit: str = "×"

    @staticmethod
    def one(key: str, value: float, what: str = "", unit: str = "×") -> Found:
        """Makes a single number."""
        return Found(key, value, value, what, unit)


class Point(NamedTuple):
    """A value of one series in one panel of a figure."""

    panel: str
    series: str
    x: float
    value: float


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures, or one of vicinal's own in their style."""

    name: str
    """Base name of its files, such as figure-11a."""
    title: str
    x_label: str
    y_label: str
    points: Sequence[Point]
    published: Sequence[Point] = ()
    """Numbers given in the text."""
    log_x: bool = False
    log_y: bool = False


@dataclass
class Outcome:
    """Results of a reproduction."""

    figures: list[Figure] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Omitted parts, and differences from the paper."""


@dataclass(frozen=True)
class Scope:
    """Extent of a reproduction."""

    fraction: int
    """Divisor of the paper's nodes, rows and the like."""
    memory: float | None
    """Gigabytes that may be used; None: all that is available."""
    matrices: Sequence[str]
    """Matrices from the command line, for papers whose matrices are not included."""


@dataclass(frozen=True)
class Paper:
    """A paper, and how to reproduce it."""

    name: str
    title: str
    published: Sequence[Published]
    reproduce: Callable[[Scope, Profile, Advance], Outcome]
    """Runs the reproduction, and advances to 1."""
    rules: Sequence[str]
    """Notes on the simulated parts, and on the parts of the paper that they represent."""
