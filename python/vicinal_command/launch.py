"""Finding an MPI and starting ranks with it.

mpi4py's wheel holds a build for each MPI ABI and takes the one that fits the libmpi it loads; which
libmpi that is, is decided by the environment of the ranks (MPI4PY_LIBMPI), not by the launcher.  So
a launcher and a library that do not belong together start N processes that each believe to be
alone.  Everything about that pairing, and about how each launcher wants to be called, is kept here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

SONAMES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40", "abi": "libmpi_abi.so.1"}
NAMES = ("mpich", "openmpi", "abi", "system")
TREE = Path(__file__).resolve().parents[2]

# Open MPI refuses to start as root unless told twice, by either of its two launchers.
ROOT_CONSENT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1"
    for prefix in ("OMPI", "PRTE")
    for suffix in ("", "_CONFIRM")
}


class LauncherError(RuntimeError):
    """No MPI launcher could be found, or the one named cannot be used; the message has the remedy."""


@dataclass(frozen=True)
class Mpi:
    """One MPI: its ABI, its launcher, and what its ranks need in their environment."""

    abi: str
    """`mpich`, `openmpi` or `abi`, the MPI standard's own: which of vicinal's and mpi4py's builds fits."""
    mpiexec: Path
    kind: str
    """How the launcher is called: `hydra` (MPICH, Intel MPI), `prrte` (Open MPI 5), `orte` (4)."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> Path:
        """The folder whose `bin`, `lib` and `include` hold this MPI."""
        return self.mpiexec.parent.parent


def find_mpi(name: str | None = None) -> Mpi:
    """Find the MPI called `name`: `mpich`, `openmpi`, `system` (whatever is on PATH) or a prefix; `abi`: one that has a
    library of the MPI standard's own ABI beside its own, as MPICH 5 does, to be run on that.

    Without a name, the environment variable VICINAL_MPI, then MPI, gives it.  Without those the
    first found of: the source tree's own MPIs, the Python environment's, PATH's.
    """
    name = name or os.environ.get("VICINAL_MPI") or os.environ.get("MPI") or None
    if name is None:
        return _first([*_own_prefixes(NAMES[:2]), *_path_prefixes()], "MPI")
    if name == "system":
        return _first(_path_prefixes(), "system MPI")
    if name == "abi":
        return _with_standard_abi([*_own_prefixes(NAMES[:2]), *_path_prefixes()])
    if name in SONAMES:
        found = [*_own_prefixes([name]), *_path_prefixes()]
        return _first(found, name, abi=name)
    if Path(name, "bin", "mpiexec").exists():
        return _first([Path(name).absolute()], name)
    raise LauncherError(
        f"unknown MPI {name!r}: give one of {', '.join(NAMES)}, or a folder that holds bin/mpiexec"
    )


def command(
    mpi: Mpi, ranks: int, argv: Sequence[str], *, oversubscribe: bool = True
) -> tuple[list[str], dict[str, str]]:
    """The command line that starts `argv` on `ranks` ranks, and the whole environment to give it.

    With `oversubscribe`, more ranks than cores are allowed, and waiting ranks give way to working
    ones where the MPI can do that.  VICINAL_MPIEXEC_ARGS, where set, is what mpiexec is told besides the
    number of ranks, in the place of all that; it may name hosts.
    """
    if ranks < 1:
        raise LauncherError(f"cannot start {ranks} ranks: at least one is needed")
    launcher = [str(mpi.mpiexec), "-n", str(ranks)]
    given = os.environ.get("VICINAL_MPIEXEC_ARGS")
    if given:
        launcher += shlex.split(given)
    elif mpi.kind == "prrte":
        launcher += ["--bind-to", "none"]
        if oversubscribe:
            launcher += ["--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"]
    elif mpi.kind == "orte":
        launcher += ["--bind-to", "none"]
        if oversubscribe:
            launcher += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    elif not oversubscribe and ranks > (os.cpu_count() or 1):
        raise LauncherError(f"{ranks} ranks on {os.cpu_count()} cores need oversubscribe=True")
    return [*launcher, *map(str, argv)], {**os.environ, **mpi.env}


def _with_standard_abi(prefixes: Sequence[Path]) -> Mpi:
    """The first that has a library of that ABI."""
    for prefix in prefixes:
        library = _library("abi", prefix)
        mpi = _inspect(prefix) if os.sep in library["MPI4PY_LIBMPI"] else None
        if mpi is not None:
            return replace(mpi, abi="abi", env={**mpi.env, **library})
    raise LauncherError(
        f"no MPI with {SONAMES['abi']}, of the MPI standard's own ABI, found: run `pip install mpich` (5.0 or newer)"
    )


def _own_prefixes(names: Sequence[str]) -> list[Path]:
    """Where MPIs that came with vicinal or with the Python environment may be."""
    in_tree = [TREE / ".mpi" / name for name in names]
    return [prefix for prefix in (*in_tree, Path(sys.prefix)) if (prefix / "bin" / "mpiexec").exists()]


def _path_prefixes() -> list[Path]:
    found = shutil.which("mpiexec") or shutil.which("mpirun")
    # Distributions link mpiexec to a versioned name, but the prefix is that of the link.
    return [Path(found).absolute().parent.parent] if found else []


def _first(prefixes: Sequence[Path], wanted: str, abi: str | None = None) -> Mpi:
    for prefix in prefixes:
        mpi = _inspect(prefix)
        if mpi is not None and abi in (None, mpi.abi):
            return mpi
    package = wanted if wanted in SONAMES else "mpich"
    others = f" ({', '.join(map(str, prefixes))} is another)" if prefixes else ""
    raise LauncherError(
        f"no launcher (mpiexec) of {wanted} found{others}: run `pip install {package}`, or put the "
        "folder of your MPI's mpiexec on PATH and give MPI=system"
    )


def _inspect(prefix: Path) -> Mpi | None:
    """What the launcher under `prefix` says it is; None when it is none that vicinal knows."""
    launchers = [prefix / "bin" / name for name in ("mpiexec", "mpirun")]
    mpiexec = next((path for path in launchers if path.exists()), None)
    if mpiexec is None:
        return None
    environment = {**os.environ, **ROOT_CONSENT}
    try:
        answer = subprocess.run(
            [str(mpiexec), "--version"],
            capture_output=True, text=True, timeout=60, env=environment, stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = answer.stdout + answer.stderr
    openmpi = re.search(r"Open ?MPI\)? *v?(\d+)|OpenRTE\)? *v?(\d+)|PRRTE|prterun", text)
    if openmpi:
        major = int(openmpi.group(1) or openmpi.group(2) or 5)
        kind = "prrte" if major >= 5 else "orte"
        return Mpi("openmpi", mpiexec, kind, {**_library("openmpi", prefix), **ROOT_CONSENT})
    if re.search(r"HYDRA|MPICH|Intel\(R\) MPI|MVAPICH", text):
        return Mpi("mpich", mpiexec, "hydra", _library("mpich", prefix))
    return None


def _library(abi: str, prefix: Path) -> dict[str, str]:
    """The libmpi that mpi4py is to load, so that it is the launcher's own.

    Given by path where it lies beside the launcher.  Elsewhere by soname alone: the loader knows
    the place, and mpi4py's own search would take an MPI of the Python environment first.
    """
    for folder in ("lib", "lib64"):
        library = prefix / folder / SONAMES[abi]
        if library.exists():
            return {"MPI4PY_LIBMPI": str(library)}
    return {"MPI4PY_LIBMPI": SONAMES[abi]}
