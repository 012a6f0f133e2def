"""Search for an MPI, and start of ranks with it.

mpi4py's wheel has a build for each MPI ABI, and uses the build that fits the libmpi that it loads.
The environment of the ranks (MPI4PY_LIBMPI) decides which libmpi that is, not the launcher. With a
mismatch of launcher and library, each of N processes believes that it is alone. This module keeps
everything about that pairing, and about the options of each launcher.
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

# Open MPI refuses to run as root without both variables, of either of its two launchers.
ROOT_CONSENT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1"
    for prefix in ("OMPI", "PRTE")
    for suffix in ("", "_CONFIRM")
}


class LauncherError(RuntimeError):
    """No MPI launcher was found, or the given one cannot be used. The message has the remedy."""


@dataclass(frozen=True)
class Mpi:
    """One MPI: its ABI, its launcher, and the environment of its ranks."""

    abi: str
    """`mpich`, `openmpi` or `abi` (the MPI standard's): selects builds of vicinal and mpi4py."""
    mpiexec: Path
    kind: str
    """Kind of launcher: `hydra` (MPICH, Intel MPI), `prrte` (Open MPI 5), `orte` (Open MPI 4)."""
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def prefix(self) -> Path:
        """The folder whose `bin`, `lib` and `include` hold this MPI."""
        return self.mpiexec.parent.parent


def find_mpi(name: str | None = None) -> Mpi:
    """Finds the MPI `name`: `mpich`, `openmpi`, `system` (the one on PATH), `abi` or a prefix.

    `abi` is an MPI that also has a library of the MPI standard's own ABI, as MPICH 5 has; ranks run
    on that library. Without a name, the environment variable VICINAL_MPI gives it, else MPI.
    Without both, the first found of these is taken: the source tree's own MPIs, the Python
    environment's, PATH's.
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
    """The command line that starts `argv` on `ranks` ranks, and its whole environment.

    With `oversubscribe`, more ranks than cores are allowed, and waiting ranks yield to working ones
    if the MPI supports that. VICINAL_MPIEXEC_ARGS, if set, replaces all these options of mpiexec
    except the number of ranks; it may name hosts.
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
    """The first MPI that has a library of that ABI."""
    for prefix in prefixes:
        library = _library("abi", prefix)
        mpi = _inspect(prefix) if os.sep in library["MPI4PY_LIBMPI"] else None
        if mpi is not None:
            return replace(mpi, abi="abi", env={**mpi.env, **library})
    raise LauncherError(
        f"no MPI with {SONAMES['abi']}, of the MPI standard's own ABI, found: run `pip install mpich` (5.0 or newer)"
    )


def _own_prefixes(names: Sequence[str]) -> list[Path]:
    """Prefixes of MPIs installed with vicinal or with the Python environment."""
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
    """The MPI of the launcher under `prefix`, from its version text; None if it is unknown."""
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
    """The libmpi that mpi4py must load, so that it is the launcher's own.

    Its path if it lies beside the launcher. Otherwise its soname: the loader knows the place, and
    mpi4py's own search would prefer an MPI of the Python environment.
    """
    for folder in ("lib", "lib64"):
        library = prefix / folder / SONAMES[abi]
        if library.exists():
            return {"MPI4PY_LIBMPI": str(library)}
    return {"MPI4PY_LIBMPI": SONAMES[abi]}
