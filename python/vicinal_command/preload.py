"""`vicinal preload -- COMMAND`: runs a program that does not use vicinal with the preload library.

The command, a launcher or a program, gets the library by LD_PRELOAD, and so does every process that
it starts. The library affects only processes that call MPI.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from .outputs import CommandError, OutputFile

LIBRARY = "libvicinal_mpi.so"
ABIS = {"libmpi.so.12": "mpich", "libmpich.so.12": "mpich", "libmpi.so.40": "openmpi", "libmpi_abi.so": "abi"}
"""Builds of the library, by the prefix of the MPI library's name."""
TO_BE_PASSED_ON = ("LD_PRELOAD", "VICINAL_")


@dataclass(frozen=True)
class Request:
    """The command to run, and the file of the report."""

    command: Sequence[str]
    report: str | None


def library() -> Path:
    """Path of the preload library."""
    path = Path(str(files("vicinal"))) / "_preload" / LIBRARY
    if path.exists():
        return path
    raise CommandError(f"{LIBRARY} is not installed with vicinal; it is built on Linux, with binutils' objcopy")


def built_for(path: Path) -> list[str]:
    """The ABIs for which there are builds beside the library."""
    stem = path.stem + "-"
    return sorted(each.stem.removeprefix(stem) for each in path.parent.glob(f"{stem}*.so"))


@dataclass(frozen=True)
class Binary:
    """Properties of an executable."""

    is_static: bool
    mpi: str | None  # the name of the MPI library that it is linked with


def binary_at(path: str) -> Binary | None:
    """Reads an executable; None if it is no ELF file."""
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
            elf = ELFFile(file)
            needed = [
                str(tag.needed)  # type: ignore[attr-defined]
                for section in elf.iter_sections() if isinstance(section, DynamicSection)
                for tag in section.iter_tags("DT_NEEDED")
            ]
            is_static = all(segment.header.p_type != "PT_INTERP" for segment in elf.iter_segments())
    except (OSError, ELFError):
        return None
    return Binary(is_static, next((name for name in needed if name.startswith("libmpi")), None))


def objections(command: Iterable[str], builds: Sequence[str]) -> list[str]:
    """Warnings about the words of a command line that the library cannot serve."""
    found = []
    for word in command:
        path = shutil.which(word)
        binary = binary_at(path) if path else None
        if binary is None:
            continue
        if binary.is_static:
            found.append(f"{word} is linked statically, so nothing can be put before it; it runs without vicinal")
        elif binary.mpi is not None:
            abi = next((abi for name, abi in ABIS.items() if binary.mpi.startswith(name)), None)
            if abi not in builds:
                known = ", ".join(builds) or "none"
                found.append(f"{word} uses {binary.mpi}, for which vicinal was not built (it was for: {known})")
    return found


def environment_for(request: Request, path: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The command's environment, in which the library follows those already preloaded.

    A profiler then sees the program's calls, and forwards them to PMPI_, which the library also
    serves.
    """
    environment = dict(given)
    tools = [
        each for each in re.split("[: ]+", environment.get("LD_PRELOAD", "")) if each and Path(each).name != LIBRARY
    ]
    environment["LD_PRELOAD"] = ":".join([*tools, str(path)])
    if request.report is not None:
        environment["VICINAL_REPORT"] = str(Path(request.report).absolute())
    return environment


def with_environment_passed_on(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Adds -x options for Open MPI's launchers, which pass only named variables to other nodes."""
    name = Path(shutil.which(command[0]) or command[0]).resolve().name
    if not any(part in name for part in ("openmpi", "orterun", "prterun")) and not _is_openmpi_launcher(command[0]):
        return list(command)
    names = sorted(name for name in environment if name.startswith(TO_BE_PASSED_ON))
    return [command[0], *(word for name in names for word in ("-x", name)), *command[1:]]


def _is_openmpi_launcher(word: str) -> bool:
    path = shutil.which(word)
    if path is None or Path(path).name not in ("mpiexec", "mpirun"):
        return False
    prefix = Path(path).absolute().parent.parent
    return any((prefix / folder / "libmpi.so.40").exists() for folder in ("lib", "lib64"))


def preload(request: Request) -> int:
    """Replaces this process by the command, or with a report runs it. Returns its exit status."""
    if not request.command:
        raise CommandError("no command given: `vicinal preload -- mpiexec -n 4 ./program`")
    path = library()
    if shutil.which(request.command[0]) is None:
        raise CommandError(f"{request.command[0]}: no such command")
    for objection in objections(request.command, built_for(path)):
        print("vicinal:", objection, file=sys.stderr)
    environment = environment_for(request, path, os.environ)
    line = with_environment_passed_on(request.command, environment)
    sys.stdout.flush()
    report = environment.get("VICINAL_REPORT")
    if report is None:
        os.execvpe(line[0], line, environment)
    OutputFile(report)  # checks it before any computation
    return run_reported(line, environment, Path(report))


def run_reported(line: Sequence[str], environment: Mapping[str, str], report: Path) -> int:
    """Runs the command to its end, and reports a missing report. Returns its exit status."""
    before = _written(report)
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if process is None:
            early.append(number)
        else:
            process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(number) == signal.SIG_IGN:
            continue  # the program must ignore it, too, as under nohup
        # A terminal itself interrupts the program.
        signal.signal(number, pass_on if number != signal.SIGINT else lambda *_: None)
    process = subprocess.Popen(line, env=environment)
    for each in early:
        process.send_signal(each)
    status = process.wait()
    status = status if status >= 0 else 128 - status
    if _written(report) == before:
        why = "the program never started MPI, or not one that vicinal serves"
        if status != 0:
            why += f", or ended before MPI_Finalize, with status {status}"
        print(f"vicinal: no report was written to {report}: {why}", file=sys.stderr)
    return status


def _written(report: Path) -> tuple[int, int] | None:
    """Inode and modification time of the report; None if there is none."""
    try:
        found = report.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
