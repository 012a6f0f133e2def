"""Starts ranks from a test and leaves none behind.

A launcher that is killed does not always end its ranks, because they may have sessions of their
own. Each run therefore carries an identifier in its environment. A run that exceeds its timeout is
ended by that identifier.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from allpairspy import AllPairs
from vicinal_command.launch import Mpi, command, find_mpi

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")
TOKEN = "VICINAL_TEST_RUN"
RANKS = (1, 2, 3, 4, 7)
MANY_RANKS = (8, 16)
"""Only for MPIs whose waiting ranks yield the core; spinning ranks would keep a few cores busy."""
PATIENCE = float(os.environ.get("VICINAL_TEST_PATIENCE", "3"))
"""Factor on every timeout, which is the longest time on a quiet machine. It costs time only where a
run hangs."""
QUIET = {"OMPI_MCA_osc": "^ucx", "OMPI_MCA_btl": "^ofi"}
"""Disables Open MPI components for networks that a single machine lacks.

The one-sided component for UCX prints a warning per window and rank. The libfabric transport sleeps
for a second in each MPI_Init (5.0.11).
"""
PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


@dataclass(frozen=True)
class Result:
    """The result of a run: the launcher's exit code, and all output in order."""

    code: int
    output: str


def built_abis() -> list[str]:
    """Returns the ABIs of the MPIs in the build folder, without the standard ABI, which has its own
    tests."""
    libraries = sorted(BUILD.glob("lib/libvicinal-*.so")) + sorted(BUILD.glob("lib/libvicinal-*.dylib"))
    return sorted({library.stem.removeprefix("libvicinal-").split(".")[0] for library in libraries} - {"abi"})


def requested_mpis() -> list[str]:
    """Returns the MPIs that the tests loop over: those in VICINAL_TEST_MPI, or all that were
    built."""
    names = os.environ.get("VICINAL_TEST_MPI", "")
    return [name.strip() for name in names.split(",") if name.strip()] or built_abis()


@cache
def mpi_called(name: str) -> Mpi:
    """Returns the MPI of that name, and caches it, so that its launcher is queried once."""
    return find_mpi(name)


def mpis_that_give_way() -> list[str]:
    """Returns the requested MPIs whose waiting ranks yield the core."""
    return [name for name in requested_mpis() if mpi_called(name).kind != "hydra"]


def numbers_of_ranks(name: str) -> tuple[int, ...]:
    """Returns the numbers of ranks for long tests on the MPI called `name`."""
    return RANKS + MANY_RANKS if name in mpis_that_give_way() else RANKS


def quick_runs() -> list[tuple[str, int]]:
    """Returns the MPIs and numbers of ranks for long tests in `make test`."""
    return [(name, 4 if name in mpis_that_give_way() else 3) for name in requested_mpis()]


def pairs(quick: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]],
          allowed: Callable[[list[Any]], bool] = lambda row: True) -> list[Any]:
    """Returns test parameters in which any two values of two parameters meet in some row.

    `allowed` excludes rows by their first values. `make test` runs the rows in `quick`, `make
    test-full` also the others.
    """
    more = AllPairs([list(each) for each in values], filter_func=allowed, previously_tested=[list(row) for row in quick])
    return [pytest.param(*row) for row in quick] + [pytest.param(*row, marks=pytest.mark.full) for row in more]


def in_turn(values: Sequence[Any], number: int) -> Any:
    """Returns the value for test `number`; consecutive tests cycle through the values."""
    return values[number % len(values)]


def abi_of(name: str) -> str:
    """Returns the ABI for which the MPI called `name` was built; programs are called NAME_<abi>."""
    return mpi_called(name).abi


def processes_with(token: str, name: str = TOKEN) -> list[int]:
    """Returns the processes with `token` in their environment (on Linux; elsewhere none)."""
    mark = f"{name}={token}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it has ended, or belongs to another user
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Waits until the condition holds; returns whether it holds. PATIENCE scales the timeout."""
    end = time.monotonic() + seconds * PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def kill(processes: Sequence[int]) -> None:
    for pid in processes:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def end_run(process: subprocess.Popen[str], token: str) -> None:
    """Ends a launcher and its ranks: with SIGTERM first, so that it can clean up."""
    process.terminate()
    wait_until(lambda: process.poll() is not None and not processes_with(token), 3)
    kill(processes_with(token))
    process.kill()


def as_from_a_terminal(parent: int) -> None:
    """Sets up a child process of `parent`: restores SIGINT, and ends the child when `parent` is
    killed.

    A background parent ignores SIGINT, and its children inherit that.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # the parent ended before prctl took effect
            os._exit(1)


def run_apart(argv: Sequence[str], env: Mapping[str, str], timeout: float, errors: int = subprocess.PIPE) \
        -> subprocess.CompletedProcess[str]:
    """Runs `argv` to completion. After `timeout` times PATIENCE seconds it ends every process and
    fails with the output."""
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        list(argv), env={**env, TOKEN: token}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
        text=True, errors="replace", start_new_session=True, cwd=ROOT, preexec_fn=partial(as_from_a_terminal, os.getpid()),
    )
    try:
        said = process.communicate(timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        end_run(process, token)
        text = "".join(part or "" for part in process.communicate())
        raise AssertionError(
            f"{' '.join(argv)}\nran past {timeout * PATIENCE:g} s and was ended; it printed:\n{text}"
        ) from None
    except BaseException:
        end_run(process, token)
        raise
    return subprocess.CompletedProcess(list(argv), process.returncode, *said)


def run_command(argv: Sequence[str], env: Mapping[str, str], timeout: float) -> Result:
    """As run_apart(), with one stream for stdout and stderr."""
    done = run_apart(argv, env, timeout, errors=subprocess.STDOUT)
    return Result(done.returncode, done.stdout)


def run_ranks(
    mpi: str, ranks: int, argv: Sequence[object], env: Mapping[str, str] | None = None,
    timeout: float = 120, check: bool = True,
) -> Result:
    """Runs `argv` on `ranks` ranks of the MPI called `mpi`.

    With `check`, a nonzero exit status fails the test, with the output in the message.
    """
    line, environment = command(mpi_called(mpi), ranks, [str(word) for word in argv])
    result = run_command(line, {**QUIET, **environment, **(env or {})}, timeout)
    if check:
        assert result.code == 0, f"{' '.join(line)}\nended with {result.code}; it printed:\n{result.output}"
    return result
