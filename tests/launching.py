"""Starting ranks from a test, and never leaving one behind.

A launcher that is killed does not always take its ranks along (they may have been given sessions of
their own), and a test that hangs is a common result while a library is being written.  So each run
carries a token in its environment, and a run that passes its time is ended by that token.
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
"""On MPIs whose waiting ranks give way to others: where they spin, a few cores are busy with little else."""
PATIENCE = float(os.environ.get("VICINAL_TEST_PATIENCE", "3"))
"""How many times what a quiet machine needs at most a run may take; it costs time only where one hangs."""
QUIET = {"OMPI_MCA_osc": "^ucx", "OMPI_MCA_btl": "^ofi"}
"""Parts of Open MPI for networks that a machine by itself does not have. Its one-sided component for UCX complains of that,
once per window and rank; its transport by libfabric sleeps for a second in each MPI_Init (5.0.11)."""
PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


@dataclass(frozen=True)
class Result:
    """How a run ended: `code` as the launcher gave it, and all it printed, in order."""

    code: int
    output: str


def built_abis() -> list[str]:
    """The MPIs in the build folder by their ABIs; the standard's own, which is one of these again, has tests of its own."""
    libraries = sorted(BUILD.glob("lib/libvicinal-*.so")) + sorted(BUILD.glob("lib/libvicinal-*.dylib"))
    return sorted({library.stem.removeprefix("libvicinal-").split(".")[0] for library in libraries} - {"abi"})


def requested_mpis() -> list[str]:
    """The MPIs that the tests loop over: VICINAL_TEST_MPI's, or those built."""
    names = os.environ.get("VICINAL_TEST_MPI", "")
    return [name.strip() for name in names.split(",") if name.strip()] or built_abis()


@cache
def mpi_called(name: str) -> Mpi:
    """The MPI of that name, whose launcher is asked once what it is."""
    return find_mpi(name)


def mpis_that_give_way() -> list[str]:
    """Those of them whose waiting ranks do."""
    return [name for name in requested_mpis() if mpi_called(name).kind != "hydra"]


def numbers_of_ranks(name: str) -> tuple[int, ...]:
    """For long tests on the MPI called `name`."""
    return RANKS + MANY_RANKS if name in mpis_that_give_way() else RANKS


def quick_runs() -> list[tuple[str, int]]:
    """On how many ranks of which MPI long tests run in `make test`."""
    return [(name, 4 if name in mpis_that_give_way() else 3) for name in requested_mpis()]


def pairs(quick: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]],
          allowed: Callable[[list[Any]], bool] = lambda row: True) -> list[Any]:
    """Parameters of a test: rows of one of each parameter's values, in which any two values of two parameters meet, unless a
    row that starts with them is not allowed.  `make test` has those in `quick`, `make test-full` the others too."""
    more = AllPairs([list(each) for each in values], filter_func=allowed, previously_tested=[list(row) for row in quick])
    return [pytest.param(*row) for row in quick] + [pytest.param(*row, marks=pytest.mark.full) for row in more]


def in_turn(values: Sequence[Any], number: int) -> Any:
    """The value for the test of that number, where each has one of them."""
    return values[number % len(values)]


def abi_of(name: str) -> str:
    """The ABI under which the MPI called `name` was built: programs are called NAME_<abi>."""
    return mpi_called(name).abi


def processes_with(token: str, name: str = TOKEN) -> list[int]:
    """The processes that carry `token` in their environment (Linux; elsewhere none are seen)."""
    mark = f"{name}={token}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition holds at last; patient where the machine is busy."""
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
    """End a launcher and its ranks: politely first, so that it can clean up after itself."""
    process.terminate()
    wait_until(lambda: process.poll() is not None and not processes_with(token), 3)
    kill(processes_with(token))
    process.kill()


def as_from_a_terminal(parent: int) -> None:
    """In a process that `parent` starts: heed SIGINT, which a parent in the background ignores and bequeaths, and end with
    it, should it be killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it was, before this process could ask for the signal
            os._exit(1)


def run_apart(argv: Sequence[str], env: Mapping[str, str], timeout: float, errors: int = subprocess.PIPE) \
        -> subprocess.CompletedProcess[str]:
    """Run `argv` to its end; past `timeout` seconds, times PATIENCE, end all it started and fail with its output."""
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
    """The same with one stream for all that was printed."""
    done = run_apart(argv, env, timeout, errors=subprocess.STDOUT)
    return Result(done.returncode, done.stdout)


def run_ranks(
    mpi: str, ranks: int, argv: Sequence[object], env: Mapping[str, str] | None = None,
    timeout: float = 120, check: bool = True,
) -> Result:
    """Run `argv` on `ranks` ranks of the MPI called `mpi`.

    With `check`, an exit status that is not zero fails the test, with the output in the message.
    """
    line, environment = command(mpi_called(mpi), ranks, [str(word) for word in argv])
    result = run_command(line, {**QUIET, **environment, **(env or {})}, timeout)
    if check:
        assert result.code == 0, f"{' '.join(line)}\nended with {result.code}; it printed:\n{result.output}"
    return result
