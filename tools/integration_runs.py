"""Shared by the parts of `make integration`: installing packages, running programs with and without
the preload library, and reporting."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tests"):
    sys.path.insert(0, str(folder))

from launching import BUILD, QUIET, Result, run_command, wait_until  # noqa: E402  (found through the path set above)
from vicinal_command.launch import Mpi, command, find_mpi  # noqa: E402

WORK = ROOT / "build" / "integration"
SOURCES = ROOT / "tests" / "integration"
LIBRARY = "libvicinal_mpi.so"
# In containers Open MPI 4 may not read another process's memory, and warns each time.
ENVIRONMENT = {**QUIET, "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
SYSTEM_PYTHON = Path("/usr/bin/python3")


def petsc_folder() -> dict[str, str]:
    """Returns the variable that leads to Debian's petsc4py, which is not found without the
    development package."""
    folders = sorted(Path("/usr/lib/petscdir").glob("petsc*/*-real"))
    return {"PETSC_DIR": str(folders[-1])} if folders and not Path("/usr/lib/petsc").exists() else {}


class NotRunError(RuntimeError):
    """A requirement is missing that cannot be installed here; the message names it."""


@dataclass(frozen=True)
class Ran:
    """The result of a run, and the number of plans in its log."""

    code: int
    output: str
    plans: int

    @property
    def ended(self) -> str:
        return "ran past its time" if self.code == 124 else f"ended with {self.code}"


@dataclass
class Part:
    """The results of a part, with a line for each run."""

    name: str
    short: bool = False
    """Limits the part to about a minute."""
    passed: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    seconds: float = 0

    def report(self, run: str, faults: Sequence[str], figures: str) -> None:
        self.passed += not faults
        self.failures += [f"{run}: {fault}" for fault in faults]
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        state = f"FAILED: {'; '.join(faults[:3])}{more}" if faults else "passed"
        print(f"{self.name}: {run}: {state} ({figures})", flush=True)


# ---- packages and libraries -----------------------------------------------------------------------


@dataclass
class Needs:
    may_install: bool
    updated: bool = False

    def packages(self, *names: str) -> None:
        missing = [name for name in names if not is_installed(name)]
        if not missing:
            return
        print(f"vicinal: {', '.join(missing)} missing", flush=True)
        if not self.may_install or os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise NotRunError(f"install {' '.join(missing)} (Debian, Ubuntu: apt install {' '.join(missing)})")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        lines = [["apt-get", "install", "--yes", "--no-install-recommends", *missing]]
        for line in lines if self.updated else [["apt-get", "update"], *lines]:
            print(f"vicinal: {' '.join(line)}", flush=True)
            done = run_command(line, environment, timeout=600)
            if done.code != 0:
                raise NotRunError(f"`{' '.join(line)}` failed: {last_words(done.output)}")
        self.updated = True


def is_installed(package: str) -> bool:
    if shutil.which("dpkg-query") is None:
        return False
    line = ["dpkg-query", "--show", "--showformat=${Status}", package]
    return "ok installed" in subprocess.run(line, capture_output=True, text=True).stdout


def take_libraries() -> Path:
    """Copies the built libraries, so that builds during the run change nothing; returns the preload
    library."""
    folder = WORK / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    names = (LIBRARY, "libvicinal_mpi-mpich.so", "libvicinal_mpi-openmpi.so", "libvicinal_mpi-abi.so")
    built = [BUILD / "lib" / name for name in names]
    # A library that is being linked is missing for a moment.
    if not wait_until(lambda: all(path.exists() for path in built), 20):
        raise NotRunError(f"of {', '.join(names)} some are missing in {BUILD / 'lib'}: run `make build`")
    for path in built:
        shutil.copy2(path, folder)
    return folder / LIBRARY


def debian_mpi(name: str) -> Mpi:
    """Returns Debian's MPI of that name, which `mpiexec` need not belong to."""
    launcher = shutil.which(f"mpiexec.{name}")
    if launcher is None:
        raise NotRunError(f"mpiexec.{name} is missing")
    prefix = WORK / "mpi" / name
    link = prefix / "bin" / "mpiexec"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(launcher)
    # Identified by the link's name, but launched by its own.
    return replace(find_mpi(str(prefix)), mpiexec=Path(launcher))


# ---- running --------------------------------------------------------------------------------------


def run(mpi: Mpi, ranks: int, argv: Sequence[object], preload: Path | None, timeout: float,
        more: Mapping[str, str] | None = None) -> Ran:
    line, environment = command(mpi, ranks, [str(word) for word in argv])
    environment = {name: text for name, text in environment.items() if not name.startswith(("VICINAL_", "PYTHONPATH"))}
    log = WORK / "log"
    log.unlink(missing_ok=True)
    if preload is not None:
        environment |= {"LD_PRELOAD": str(preload), "VICINAL_REGIONS": "blocks:2", "VICINAL_LOG": f"info:{log}"}
    environment |= {**ENVIRONMENT, **(more or {})}
    done = run_in_time(line, environment, timeout)
    if done.code == 124 and preload is None:
        # Open MPI 4.1.4 alone sometimes hangs, which is unrelated to vicinal.
        print(f"vicinal: without the library `{' '.join(line)}` ran past its time; again", flush=True)
        done = run_in_time(line, environment, timeout)
    plans = log.read_text().count(": plan ") if log.exists() else 0
    return Ran(done.code, done.output, plans)


def run_in_time(line: Sequence[str], environment: Mapping[str, str], timeout: float) -> Result:
    """Runs a command; the status is 124 after a timeout, as with timeout(1)."""
    try:
        return run_command(line, environment, timeout)
    except AssertionError as late:
        return Result(124, str(late))


def last_words(output: str) -> str:
    said = [line.strip() for line in output.splitlines() if re.search(r"\w", line)]
    telling = [line for line in said if re.search(r"rror|ignal|vicinal:|wrong", line)]
    return (telling or said[-1:] or ["it printed nothing"])[0][:160]


def mpi4py_source(needs: Needs) -> Path:
    """Returns the source distribution of the installed mpi4py; only this has its tests."""
    name = f"mpi4py-{importlib.metadata.version('mpi4py')}"
    folder = WORK / name
    if folder.exists():
        return folder
    print(f"vicinal: the source of {name} missing", flush=True)
    if not needs.may_install:
        raise NotRunError(f"the source of {name} is missing")
    options = ["--quiet", "--no-binary", "mpi4py", "--no-deps", "--dest", str(WORK)]
    line = [sys.executable, "-m", "pip", "download", *options, name.replace("-", "==")]
    done = run_command(line, os.environ, timeout=300)
    archive = WORK / f"{name}.tar.gz"
    if done.code != 0 or not archive.exists():
        raise NotRunError(f"`{' '.join(line)}` failed: {last_words(done.output)}")
    with tarfile.open(archive) as members:
        members.extractall(WORK, filter="data")
    return folder
