"""The one exception of the package.

It is written in Python so that every compiled module, whichever of them is loaded, raises the same
class.
"""

from __future__ import annotations


class Error(Exception):
    """What vicinal reports: the message says what was given, what was expected and what to do.

    `kind` is the word for the fault: `argument`, `buffer`, `count`, `rank`, `datatype`, `topology`,
    `communicator`, `info`, `request`, `operation`, `memory`, `device`, `unsupported-operation`, `remote`
    (another rank reported it) or `internal`.
    """

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.kind = kind


def fault_of(error: Exception) -> tuple[str, str]:
    """What the other ranks are told of an error in reading this rank's arguments: its kind, and words."""
    if isinstance(error, Error):
        return error.kind, str(error)
    if isinstance(error, (AttributeError, TypeError, ValueError)):
        return "argument", str(error)
    return "argument", f"{type(error).__name__}: {error}"  # whose text alone may say little
