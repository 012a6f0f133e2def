"""Runs programs that know nothing of vicinal with the preload library."""

from __future__ import annotations

from pathlib import Path

import pytest
from launching import BUILD, QUIET, abi_of

LIBRARY = BUILD / "lib" / "libvicinal_mpi.so"
needs_library = pytest.mark.skipif(not LIBRARY.exists(), reason="the preload library is built on Linux only")


def program(name: str, mpi: str) -> Path:
    return BUILD / "preload" / f"{name}_preload_{abi_of(mpi)}"


def preloaded(**more: str) -> dict[str, str]:
    """Returns the environment of ranks, with regions of two ranks, because a single region is left
    to MPI."""
    return {"LD_PRELOAD": str(LIBRARY), "VICINAL_REGIONS": "blocks:2", **QUIET, **more}
