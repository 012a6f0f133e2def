"""Settings as keyword arguments.

They are the info keys of the C interface under shorter names.  The environment variable of a setting
wins over the argument, so that a program can be tried out differently without touching it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def given_settings(**settings: Any) -> dict[str, str]:
    """The info keys and values for those arguments that are not None."""
    given = {}
    for name, value in settings.items():
        if value is None:
            continue
        if name == "regions" and not isinstance(value, str) and isinstance(value, Iterable):
            value = "list:" + ",".join(str(int(label)) for label in value)
        given[f"vicinal_{name}"] = str(value)
    return given
