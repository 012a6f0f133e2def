"""The only exception class of the package.

It is written in Python, so that every compiled module raises the same class.
"""

from __future__ import annotations


class Error(Exception):
    """An error of vicinal. The message says what was given, what was expected and what to do.

    `kind` is the word for the fault: `argument`, `buffer`, `count`, `rank`, `datatype`, `topology`,
    `communicator`, `info`, `request`, `operation`, `memory`, `device`, `unsupported-operation`, `remote`
    (another rank reported it) or `internal`.
    """

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.kind = kind


def fault_of(error: Exception) -> tuple[str, str]:
    """Kind and message of an error in this rank's arguments, as other ranks learn of it."""
    if isinstance(error, Error):
        return error.kind, str(error)
    if isinstance(error, (AttributeError, TypeError, ValueError)):
        return "argument", str(error)
    return "argument", f"{type(error).__name__}: {error}"  # the text alone may say little
