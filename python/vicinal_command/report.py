"""What the command leaves for programs: rows as JSON that says of itself where they are from.

Whoever finds such a file a year later can tell what was asked for, of which matrix, on which machine, with
which MPI and which vicinal.  docs/versioning.md says how the form may change.
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
    """Where rows go as JSON: a file, or standard output, which then holds nothing else."""

    def __init__(self, path: str, kind: str, command: str) -> None:
        """`kind` says which subcommand's rows they are, `command` the whole line that was given."""
        self._file = None if path == STANDARD_OUTPUT else OutputFile(path)
        self._kind, self._command = kind, command

    @property
    def tables(self) -> TextIO:
        """Where what is for people goes beside it."""
        return sys.stderr if self._file is None else sys.stdout

    def write(
        self, rows: Sequence[Mapping[str, Any]], facts: Mapping[str, Any], profile: str | None = None
    ) -> None:
        """Write the rows, after `facts` (what they are of, where it ran) and all that the report knows itself.

        `profile` is the name of the one by which plans were chosen, by default that of the environment.
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
    """Where tables go where that is the report."""
    return report.tables if report else sys.stdout


def _vicinal() -> dict[str, str]:
    """The version, and where it is a tree of git's, the commit, which ends in -dirty where files differ from it."""
    from vicinal import __version__

    known = {"version": __version__}
    # An installed package may lie inside somebody else's tree, whose commit would say nothing.
    if (TREE / ".git").exists():
        line = ["git", "-C", str(TREE), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        try:
            answer = subprocess.run(line, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired):
            return known
        if answer.returncode == 0:
            known["commit"] = answer.stdout.strip()
    return known
