"""JSON output of the command: rows with a description of their origin.

A reader of such a file can tell, a year later, the command line, the matrix, the machine, the MPI
and the version of vicinal. See docs/versioning.md for changes of the format.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from .outputs import OutputFile
from .prices import profile_of

FORMAT = 1
STANDARD_OUTPUT = "-"
TREE = Path(__file__).resolve().parents[2]


class Report:
    """Destination of the JSON rows: a file, or standard output, which then holds nothing else."""

    def __init__(self, path: str, kind: str, command: str) -> None:
        """`kind` is the subcommand of the rows, `command` the whole command line."""
        self._file = None if path == STANDARD_OUTPUT else OutputFile(path)
        self._kind, self._command = kind, command

    @property
    def tables(self) -> TextIO:
        """The stream for text for people."""
        return sys.stderr if self._file is None else sys.stdout

    def write(
        self, rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], profile: str | None = None
    ) -> None:
        """Writes the rows, after `facts` (about the problem and the run) and the report's own.

        `profile` is the name of the profile that chose the plans, by default that of the
        environment.
        """
        content = {
            "format": FORMAT,
            "kind": self._kind,
            **facts,
            "host": platform.node(),
            "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "command": self._command,
            "vicinal": _vicinal(),
            "profile": profile or profile_of(None).name,
            "rows": rows,
        }
        text = json.dumps(content, indent=2) + "\n"
        if self._file is None:
            sys.stdout.write(text)
        else:
            self._file.write_text(text)


def tables_beside(report: Report | None) -> TextIO:
    """The stream for tables, given this report."""
    return report.tables if report else sys.stdout


def _vicinal() -> dict[str, str]:
    """The version and, in a git tree, the commit, which ends in -dirty if files differ from it."""
    from vicinal import __version__

    known = {"version": __version__}
    # An installed package may lie inside an unrelated tree, whose commit would be misleading.
    if (TREE / ".git").exists():
        line = ["git", "-C", str(TREE), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        try:
            answer = subprocess.run(line, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return known
        if answer.returncode == 0:
            known["commit"] = answer.stdout.strip()
    return known
