"""Outputs of the command: files, a progress bar, one-line errors.

A file is written beside its place and then moved there. A run that fails or is interrupted leaves
the old file, or none, but never a partial one. A check that it can be written precedes the work.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Advance = Callable[[float], None]
Result = TypeVar("Result")

SIGNAL_CHECK_SECONDS = 0.2
LINE_SECONDS = 10.0
"""Seconds between two progress lines."""


class CommandError(Exception):
    """An error that the user can correct. The message names error and remedy in one line."""


class OutputFile:
    """A file that appears whole or not at all."""

    def __init__(self, path: str) -> None:
        """Checks that `path` can be written. Raises CommandError with the reason if not."""
        self.given = path
        self.path = Path(os.path.realpath(path))
        self.kind = self.path.suffix.removeprefix(".").lower()
        """The suffix of the name without its dot, such as `png`."""
        self._beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            mode = self.path.stat().st_mode if self.path.exists() else stat.S_IFREG
            if stat.S_ISDIR(mode):
                raise CommandError(f"cannot write {path}: it is a folder; give the name of a file")
            self._special = not stat.S_ISREG(mode)
            """True if it is a device or a pipe, which must not be replaced."""
            if not self.path.parent.is_dir():
                raise CommandError(f"cannot write {path}: there is no folder {self.path.parent}; make it first")
            if self._special:
                self.path.open("wb").close()
            else:
                self._beside.open("wb").close()
                self._beside.unlink()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, writer: Callable[[Path], None]) -> None:
        """Lets `writer` write a file at the path that it gets, then moves that to its place."""
        try:
            if self._special:
                writer(self.path)
                return
            try:
                writer(self._beside)
                os.replace(self._beside, self.path)
            finally:
                self._beside.unlink(missing_ok=True)
        except OSError as error:
            raise self._refused(error) from error

    def write_text(self, text: str) -> None:
        """Writes `text` as the whole content of the file."""

        def writer(path: Path) -> None:
            path.write_text(text, encoding="utf-8")

        self.write(writer)

    def _refused(self, error: OSError) -> CommandError:
        return CommandError(f"cannot write {self.given}: {error.strerror or error}; choose another place")


def interruptible(call: Callable[[], Result]) -> Result:
    """Returns the result of `call`, which may block signals for long. Ctrl-C ends the wait.

    Python handles signals between its own instructions, and so never while a compiled function runs.
    """
    outcome: list[Result] = []
    faults: list[Exception] = []

    def run() -> None:
        try:
            outcome.append(call())
        except Exception as fault:  # raised again in the caller's thread
            faults.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(SIGNAL_CHECK_SECONDS)
    if faults:
        raise faults[0]
    return outcome[0]


@contextmanager
def progress(doing: str, total: float) -> Iterator[Advance]:
    """Shows the progress: by a bar after one second, or by lines if stderr is no terminal.

    Gives a function to call with the completed part of `total`.
    """
    if not sys.stderr.isatty():
        with _lines(doing, total) as advance:
            yield advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, refresh_per_second=4,
    )
    task = bar.add_task(doing, total=total)
    begin = threading.Timer(1.0, bar.start)
    begin.daemon = True
    begin.start()
    try:
        yield lambda done: bar.update(task, completed=done)
    finally:
        begin.cancel()
        begin.join()
        bar.stop()


@contextmanager
def _lines(doing: str, total: float) -> Iterator[Advance]:
    begin = time.monotonic()
    share = 0.0
    is_over = threading.Event()

    def advance(done: float) -> None:
        nonlocal share
        share = min(1.0, done / total) if total > 0 else 1.0

    def tell() -> None:
        while not is_over.wait(LINE_SECONDS):
            took = time.monotonic() - begin
            print(f"vicinal: {doing}: {100 * share:.0f} % after {took:.0f} s", file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        is_over.set()
        thread.join()
