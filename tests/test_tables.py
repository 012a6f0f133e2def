"""Tables on terminals of any width and in files, and progress lines without a terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading

import pytest
from vicinal import _core

from commanding import HERE, vicinal
from vicinal_command import outputs
from vicinal_command.tables import Column, Width, show, whole

ROWS = [{"name": "first", "a": 1234567, "b": 2, "c": 3}, {"name": "second", "a": 1, "b": 22222222, "c": 3}]
COLUMNS = [
    Column("name", lambda row: str(row["name"]), left=True), Column("a number", whole("a")), Column("another", whole("b")),
    Column("verdict", whole("c"), kept=True),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(text: str) -> list[str]:
    """Returns the lines without colors."""
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()]


def shown(stream: io.StringIO, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    show("title", ROWS, COLUMNS, ["a note of a few words, " * 3], stream=stream)
    return plain(stream.getvalue())


@pytest.mark.parametrize(
    ("width", "headings"),
    [
        (40, ["name", "a number", "another", "verdict"]), (30, ["name", "a number", "verdict"]), (20, ["name", "verdict"]),
        (5, ["name", "verdict"]),
    ],
)
def test_a_narrow_terminal_has_fewer_columns(width: int, headings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(Terminal(), width, monkeypatch)
    assert " ".join(lines[1].split()) == " ".join(headings)
    assert max(map(len, lines)) <= max(width, 16)
    if width > 5:  # at this width even single words do not fit
        assert (f"shown are {len(headings)} of 4 columns" in " ".join(lines)) == (len(headings) < 4)


def test_all_columns_are_shown_where_asked_and_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "22,222,222" in "".join(shown(io.StringIO(), 20, monkeypatch))
    monkeypatch.setattr(Width, "is_wide", True)
    lines = shown(Terminal(), 20, monkeypatch)
    assert "another" in lines[1] and "--wide" not in "".join(lines)


def on_terminal(*words: object, columns: int) -> list[str]:
    """Returns the command's output on a terminal with this number of columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")} | HERE | {"TERM": "xterm"}
    line = [sys.executable, "-m", "vicinal_command", *map(str, words)]
    with subprocess.Popen(line, env=environment, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        text = b""
        try:
            while data := os.read(ours, 65536):
                text += data
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait() == 0
    return plain(text.decode())


def test_explain_fits_the_terminal() -> None:
    words = ["explain", "bar", "--ranks", 16, "--ranks-per-region", 4, "--strategy", "split"]
    narrow = on_terminal(*words, columns=80)
    assert max(map(len, narrow)) <= 80
    assert any("predicted" in line and "verified" in line and "saved" not in line for line in narrow), narrow
    assert any(line.startswith("shown are 7 of 11 columns") for line in narrow), narrow
    assert not any(line.startswith("saved:") for line in narrow), "of a column that is not there"
    for whole_table in (on_terminal(*words, "--wide", columns=80), on_terminal(*words, columns=130)):
        assert any("verified" in line and "saved" in line for line in whole_table), whole_table
        assert not any("--wide" in line for line in whole_table)


def test_strategies_are_all_listed() -> None:
    listed = [line.split()[0] for line in vicinal("strategies").stdout.splitlines()]
    assert listed == [name for name, _ in _core.strategies(complete=True)]
    assert {"direct", "tuna", "bruck", "locality-bruck"} <= set(listed)


def test_lines_say_how_far_the_work_is_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress lines also appear during a long step."""
    class Lines(io.StringIO):
        def write(self, text: str) -> int:
            count = super().write(text)
            told.set()
            return count

    told, stream = threading.Event(), Lines()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(outputs, "LINE_SECONDS", 1e-3)
    with outputs.progress("planning", 4) as advance:
        advance(1)
        while "vicinal: planning: 25 % after " not in stream.getvalue():
            assert told.wait(60)
            told.clear()
    length = len(stream.getvalue())
    with outputs.progress("nothing", 0) as advance:
        advance(0)
    assert "planning" not in stream.getvalue()[length:]
