"""Starts the ranks of a command, and waits for their end.

Only the command reads input files. It puts the ranks' input into a folder, which they map into
memory, and where they store their results. The command removes the folder when it ends, and ranks
that find it gone end, too. If the command is killed, it loses its lock on a file there, and the
ranks remove the folder. The ranks' side is ranks/process.py.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .launch import LauncherError, Mpi, command, find_mpi
from .outputs import CommandError, progress
from .ranks.process import ELSEWHERE, HOLD, SAID

POLL_SECONDS = 0.1


def find_launcher(name: str | None) -> Mpi:
    """The MPI to start ranks with. Raises CommandError if the ranks would lack something."""
    if importlib.util.find_spec("mpi4py") is None:
        raise CommandError("mpi4py is not installed, and the ranks need it: run `pip install mpi4py`")
    try:
        mpi = find_mpi(name)
    except LauncherError as error:
        raise CommandError(str(error)) from error
    if importlib.util.find_spec(f"vicinal._mpi_{mpi.abi}") is None:
        raise CommandError(
            f"vicinal was not built for {mpi.abi}: build it with MPI={mpi.abi}, or give another --mpi"
        )
    return mpi


def check_regions(regions: str, ranks: int) -> None:
    """Refuses a text that gives no regions for this number of ranks."""
    from vicinal import _core

    if regions not in ("node", "numa"):
        _core.read_regions(regions, ranks)


@contextmanager
def run_folder() -> Iterator[Path]:
    """The folder that the command shares with its ranks, for the lifetime of the command."""
    with tempfile.TemporaryDirectory(prefix="vicinal-", ignore_cleanup_errors=True) as name:
        with Path(name, HOLD).open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:  # a file system without locks
                Path(name, HOLD).unlink()
            yield Path(name)


def write_run(folder: Path, task: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Writes the ranks' input into the folder: `task.json`, and a `.npy` file for each array."""
    try:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "task.json").write_text(json.dumps(task))
    except OSError as error:
        raise CommandError(
            f"cannot write what the ranks read to {folder}: {error.strerror or error}; set TMPDIR to a "
            "folder with room"
        ) from error


def said_in(folder: Path) -> dict[str, Any]:
    """Facts from the ranks for the JSON output: `mpi` with `name` and `version`, and others."""
    said: dict[str, Any] = json.loads((folder / SAID).read_text())
    return said


def run_ranks(
    folder: Path, program: str, ranks: int, mpi: Mpi, steps: int, doing: str = "exchanging", profile: str | None = None,
    without: Sequence[str] = (),
) -> None:
    """Starts ranks that run the module `program`, waits for their end and shows progress.

    They are done after `steps` calls of RankProcess.report. `profile` is the profile for the choice
    of plans, if not the environment's. `without` names settings of the environment that do not
    apply.
    """
    argv = [sys.executable, "-m", program, str(folder)]
    line, environment = command(mpi, ranks, argv)
    packages = (sys.modules[name].__path__[0] for name in (__package__, program.partition(".")[0]))
    places = dict.fromkeys(str(Path(package).resolve().parent) for package in packages)
    paths = [path for path in (os.environ.get("PYTHONPATH"), *places) if path]
    environment.update(PYTHONPATH=os.pathsep.join(paths), PYTHONSAFEPATH="1")
    # There are usually more ranks than cores, so threads of a BLAS would only slow them down.
    environment.setdefault("OMP_NUM_THREADS", "1")
    # Virtual ranks have a core each unless the profile says otherwise. The real ranks must choose
    # alike.
    environment.setdefault("VICINAL_CORES", "0")
    # The command line overrides these settings of the environment.
    for name in ("STRATEGY", "ALLGATHER", "EXCHANGE", "REGIONS", "DEVICE_WAY", *without):
        environment.pop(f"VICINAL_{name}", None)
    if profile:
        environment["VICINAL_PROFILE"] = profile

    done = folder / "progress"
    done.touch()
    with (folder / "output").open("wb") as output, progress(doing, steps) as advance:
        try:
            process = subprocess.Popen(
                line, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            text = f"cannot start {line[0]}: {error.strerror or error}; give another --mpi"
            raise CommandError(text) from error
        try:
            while True:
                try:
                    status = process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    advance(done.stat().st_size)
        finally:
            _end(process)
    faults = sorted(folder.glob("fault-*"), key=lambda path: path.stat().st_mtime_ns)
    if faults or status != 0:
        raise CommandError(_what_failed(faults, status, (folder / "output").read_text(errors="replace")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a running launcher. Its ranks end when they find the folder gone."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _what_failed(faults: Sequence[Path], status: int, output: str) -> str:
    """One line for possibly many errors: that of a rank that found it itself, if there is one."""
    messages = [path.read_text() for path in faults]
    own = [message for message in messages if not message.startswith(ELSEWHERE)]
    for message in own or messages:
        return message.removeprefix(ELSEWHERE)
    lines = [" ".join(line.split()) for line in output.splitlines() if re.search(r"\w", line)]
    telling = [line for line in lines if re.search("signal|error|fail|not enough|No such", line, re.IGNORECASE)]
    said = (telling or lines[-1:] or ["it said nothing"])[0]
    return f"the ranks ended with status {status}; the launcher said: {said}"
