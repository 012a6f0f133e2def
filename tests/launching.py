"""Starting ranks from a test, and never leaving one behind.

A launcher that is killed does not always take its ranks along (they may have been given sessions of
their own), and a test that hangs is a common result while a library is being written.  So each run
carries a token in its environment, and a run that passes its time is ended by that token.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vicinal.launch import command, find_mpi

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")
TOKEN = "VICINAL_TEST_RUN"
RANKS = (1, 2, 3, 4, 7, 8, 16)


@dataclass(frozen=True)
class Result:
    """How a run ended: `code` as the launcher gave it, and all it printed, in order."""

    code: int
    output: str


def built_abis() -> list[str]:
    """The ABIs in the build folder."""
    libraries = sorted(BUILD.glob("lib/libvicinal-*.so")) + sorted(BUILD.glob("lib/libvicinal-*.dylib"))
    return sorted({library.stem.removeprefix("libvicinal-").split(".")[0] for library in libraries})


def requested_mpis() -> list[str]:
    """The MPIs that the tests loop over: VICINAL_TEST_MPI's, or those built."""
    names = os.environ.get("VICINAL_TEST_MPI", "")
    return [name.strip() for name in names.split(",") if name.strip()] or built_abis()


def abi_of(name: str) -> str:
    """The ABI under which the MPI called `name` was built: programs are called NAME_<abi>."""
    return find_mpi(name).abi


def processes_with(token: str) -> list[int]:
    """The processes that carry `token` in their environment (Linux; elsewhere none are seen)."""
    mark = f"{TOKEN}={token}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found


def end_run(process: subprocess.Popen[str], token: str, patience: float = 3.0) -> None:
    """End a launcher and its ranks: politely first, so that it can clean up after itself."""
    process.terminate()
    deadline = time.monotonic() + patience
    while processes_with(token) and time.monotonic() < deadline:
        process.poll()
        time.sleep(0.05)
    for pid in processes_with(token):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.kill()


def run_command(argv: Sequence[str], env: Mapping[str, str], timeout: float) -> Result:
    """Run `argv` to its end; past `timeout` seconds, end all it started and fail with its output."""
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        list(argv), env={**env, TOKEN: token}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True, cwd=ROOT,
    )
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_run(process, token)
        output, _ = process.communicate()
        raise AssertionError(f"{' '.join(argv)}\nran past {timeout:g} s and was ended; it printed:\n{output}")
    except BaseException:
        end_run(process, token)
        raise
    return Result(process.returncode, output)


def run_ranks(
    mpi: str, ranks: int, argv: Sequence[object], env: Mapping[str, str] | None = None,
    timeout: float = 120, check: bool = True,
) -> Result:
    """Run `argv` on `ranks` ranks of the MPI called `mpi`.

    With `check`, an exit status that is not zero fails the test, with the output in the message.
    """
    line, environment = command(find_mpi(mpi), ranks, [str(word) for word in argv])
    result = run_command(line, {**environment, **(env or {})}, timeout)
    if check:
        assert result.code == 0, f"{' '.join(line)}\nended with {result.code}; it printed:\n{result.output}"
    return result
