"""What the library exports is what docs/versioning.md promises to keep."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from launching import ROOT

LIBRARIES = sorted((ROOT / "build" / "release" / "lib").glob("libvicinal-*.so"))
EXPECTED = (ROOT / "tests" / "abi" / "symbols.txt").read_text().split()


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
@pytest.mark.parametrize("library", LIBRARIES, ids=lambda path: path.stem)
def test_the_library_exports_what_is_promised_and_nothing_else(library: Path) -> None:
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    exported = {line.split()[-1] for line in lines}
    assert exported == set(EXPECTED), "tests/abi/symbols.txt; see docs/versioning.md"


def test_all_that_the_header_declares_is_exported() -> None:
    header = (ROOT / "include" / "vicinal" / "vicinal.h").read_text()
    declared = {name for name in EXPECTED if name.startswith("vicinal_")}
    assert all(f" {name}(" in header or f"*{name}(" in header for name in declared)
    assert header.count("VICINAL_API ") - header.count("define VICINAL_API ") == len(declared)
