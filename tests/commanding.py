"""Running the `vicinal` command from a test, and what all its tests look at."""

from __future__ import annotations

import gzip
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array

from launching import ROOT, requested_mpis, run_apart

KEYS = [
    "strategy", "setup_us", "exchange_us", "ratio_to_direct", "nonlocal_messages", "nonlocal_messages_max",
    "nonlocal_bytes", "nonlocal_bytes_max", "local_bytes", "correct",
]
HERE = {"PYTHONPATH": str(ROOT / "python")}
"""What a process needs in its environment to find this tree's package."""


def vicinal(
    *arguments: object, env: Mapping[str, str] | None = None, timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    environment = {**os.environ, **HERE, "VICINAL_MPI": requested_mpis()[0], **(env or {})}
    return run_apart([sys.executable, "-m", "vicinal_command", *map(str, arguments)], environment, timeout)


def described(content: dict[str, Any], kind: str, ran: bool) -> None:
    """What a JSON file says of where its rows are from."""
    assert (content["format"], content["kind"]) == (1, kind)
    assert list(content)[:2] == ["format", "kind"] and list(content)[-1] == "rows"
    assert datetime.fromisoformat(content["date"]).tzinfo is not None
    assert content["host"] == platform.node() and content["command"].startswith(f"vicinal {kind}")
    assert content["vicinal"]["version"] and content["profile"]
    if (ROOT / ".git").exists():
        assert re.fullmatch("[0-9a-f]{40}(-dirty)?", content["vicinal"]["commit"])
    for what in (content.get("matrix"), content.get("pattern"), *content.get("matrices", [])):
        assert what is None or (what["name"] and re.fullmatch("[0-9a-f]{64}", what["sha256"]))
    assert isinstance(content["ranks"], int) and isinstance(content["regions"], str)
    assert ("mpi" in content) == ran
    if ran:
        assert content["mpi"]["name"] and re.match(r"\d", content["mpi"]["version"])


def rows_of(file: Path) -> list[dict[str, Any]]:
    content = json.loads(file.read_text())
    described(content, content["kind"], ran=content["kind"] == "spmv")
    for row in content["rows"]:
        assert list(row)[: len(KEYS)] == KEYS
    rows: list[dict[str, Any]] = content["rows"]
    return rows


def without_progress(errors: str) -> str:
    """Leave out the lines that say how far the work is, which a busy machine has."""
    return re.sub(r"^vicinal: .*: \d+ % after \d+ s\n", "", errors, flags=re.MULTILINE)


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """It said so in exactly one line, with these words in it, and printed nothing else."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    errors = without_progress(result.stderr)
    assert errors.startswith("vicinal: ") and errors.count("\n") == 1, errors
    for word in words:
        assert word in errors


def is_ratio(ratio: float, part: float, whole: float, digits: int = 4, of_digits: int = 3) -> bool:
    """Whether `ratio`, rounded to `digits`, can be that of two figures of which these are the roundings."""
    error, half = 0.5 * 10.0**-of_digits, 0.5 * 10.0**-digits
    least = (part - error) / (whole + error) - half
    most = (part + error) / (whole - error) + half if whole > error else math.inf
    return least * (1 - 1e-12) <= ratio <= most * (1 + 1e-12)


def write_matrix(folder: Path) -> Path:
    """A matrix, also zipped, that is unsymmetric and complex, with a row and a column that nobody refers to."""
    generator = np.random.default_rng(7)
    size, entries = 203, 1200
    places = generator.integers(0, size - 1, (2, entries))
    values = generator.random(entries) + 1j * generator.random(entries)
    file = folder / "random.mtx"
    mmwrite(file, coo_array((values, places), shape=(size, size)).tocsr())
    with file.open("rb") as plain, gzip.open(f"{file}.gz", "wb") as zipped:
        shutil.copyfileobj(plain, zipped)
    return file
