"""The library exports the symbols that docs/versioning.md promises to keep."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from launching import BUILD, ROOT, mpi_called

sys.path.insert(0, str(ROOT / "tools"))

from check_install import unresolved  # noqa: E402  (found through the path set above)

LIBRARIES = sorted((BUILD / "lib").glob("libvicinal-*.so"))
WITH_MPI = [*LIBRARIES, *sorted((BUILD / "lib").glob("libvicinal_mpi-*.so")), *sorted((BUILD / "python").glob("_mpi_*.so"))]
"""Every library that is built for one MPI."""
EXPECTED = (ROOT / "tests" / "abi" / "symbols.txt").read_text().split()


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.stem)
def test_the_library_exports_what_is_promised_and_nothing_else(library: Path) -> None:
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    exported = {line.split()[-1] for line in lines}
    assert exported == set(EXPECTED), "tests/abi/symbols.txt; see docs/versioning.md"


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("library", WITH_MPI, ids=lambda path: path.name.partition(".")[0])
def test_each_library_needs_only_what_its_mpi_defines(library: Path) -> None:
    """Headers of some MPIs bring in C++ bindings, whose library C programs do not link."""
    [abi] = re.findall(r"^(?:libvicinal-|libvicinal_mpi-|_mpi_)(\w+)", library.name)
    assert unresolved(library, Path(mpi_called(abi).env["MPI4PY_LIBMPI"])) == []


def test_all_that_the_header_declares_is_exported() -> None:
    header = (ROOT / "include" / "vicinal" / "vicinal.h").read_text()
    declared = {name for name in EXPECTED if name.startswith("vicinal_")}
    assert all(f" {name}(" in header or f"*{name}(" in header for name in declared)
    assert header.count("VICINAL_API ") - header.count("define VICINAL_API ") == len(declared)
