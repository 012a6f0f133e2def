"""Settings as keyword arguments.

They are the info keys of the C interface under shorter names. The environment variable of a setting
overrides the argument, so that a user can try other settings without changing the program.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, cast

from ._arrays import read_indices, shown
from ._errors import Error


class PlanSettings(TypedDict, total=False):
    """Settings of one plan."""

    strategy: str | None
    allgather: str | None
    local: str | None
    device_way: str | None
    split_bytes: int | None
    radix: int | None
    choice: str | None
    plan_after: int | None
    bias: str | Mapping[str, float] | None
    wisdom: str | os.PathLike[str] | None
    progress: str | None
    profile: str | os.PathLike[str] | None
    verify: bool | None


class HaloSettings(TypedDict, total=False):
    """Settings of a halo."""

    strategy: str | None
    regions: str | Sequence[int] | None
    local: str | None
    device_way: str | None
    in_flight: int | None
    split_bytes: int | None
    idle_ranks: str | None
    choice: str | None
    plan_after: int | None
    bias: str | Mapping[str, float] | None
    wisdom: str | os.PathLike[str] | None
    progress: str | None
    profile: str | os.PathLike[str] | None
    verify: bool | None


class GraphSettings(PlanSettings, total=False):
    """Settings of all plans of a graph."""

    regions: str | Sequence[int] | None
    in_flight: int | None
    exchange: str | None
    idle_ranks: str | None


def check_names(settings: Mapping[str, Any], kind: type) -> None:
    """Refuses settings that a function does not know, as Python does with arguments."""
    known = list(kind.__annotations__)
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f" (did you mean '{near[0]}'?)" if near else ""
            raise TypeError(f"there is no argument '{name}'{meant}; the settings are {', '.join(known)}")


def plan_settings(settings: PlanSettings) -> dict[str, Any]:
    """Returns the settings as a dictionary, after a check of their names."""
    check_names(settings, PlanSettings)
    return cast("dict[str, Any]", settings)


def given_settings(**settings: Any) -> dict[str, str]:
    """Info keys and values of the arguments that are not None."""
    given = {}
    for name, value in settings.items():
        if value is None:
            continue
        if name == "regions" and not isinstance(value, str) and isinstance(value, Iterable):
            value = "list:" + ",".join(map(str, read_indices(value, "regions").tolist()))
        if name == "bias" and isinstance(value, Mapping):
            value = ",".join(f"{planner}:{_factor(planner, factor)}" for planner, factor in sorted(value.items()))
        if name in ("wisdom", "profile"):
            if not isinstance(value, (str, os.PathLike)):
                raise Error(f"{name} is {shown(value)}; give the path of a file", "argument")
            value = os.fspath(value)
        if name == "verify" and isinstance(value, bool):
            value = int(value)
        given[f"vicinal_{name}"] = str(value)
    return given


def _factor(planner: str, factor: Any) -> str:
    try:
        return repr(float(factor))
    except (TypeError, ValueError):
        raise Error(f"bias[{planner!r}] is {shown(factor)}; give a number above 0", "argument") from None
