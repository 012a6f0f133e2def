"""Runs the `vicinal` command from a test and checks the parts that all its outputs have in
common."""

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
HERE = {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT / "bench")])}
"""The environment variables with which a process finds the packages of this source tree."""


def vicinal(
    *arguments: object, env: Mapping[str, str] | None = None, timeout: float = 100
) -> subprocess.CompletedProcess[str]:
    """Runs the command to completion."""
    environment = {**os.environ, **HERE, "VICINAL_MPI": requested_mpis()[0], **(env or {})}
    return run_apart([sys.executable, "-m", "vicinal_command", *map(str, arguments)], environment, timeout)


def described(content: dict[str, Any], kind: str, ran: bool) -> None:
    """Checks the provenance that a JSON file records for its rows."""
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
    """Removes progress lines, which appear only on a busy machine."""
    return re.sub(r"^vicinal: .*: \d+ % after \d+ s\n", "", errors, flags=re.MULTILINE)


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Checks that the command refused with exactly one line, which contains `words`, and printed
    nothing else."""
    assert result.returncode == 2, result.stdout + result.stderr
    assert result.stdout == ""
    errors = without_progress(result.stderr)
    assert errors.startswith("vicinal: ") and errors.count("\n") == 1, errors
    for word in words:
        assert word in errors


def is_ratio(ratio: float, part: float, whole: float, digits: int = 4, of_digits: int = 3) -> bool:
    """Returns whether `ratio` can be the rounded quotient of `part` and `whole`, which are rounded
    themselves.

    `ratio` has `digits` decimals, the other two have `of_digits`.
    """
    error, half = 0.5 * 10.0**-of_digits, 0.5 * 10.0**-digits
    least = (part - error) / (whole + error) - half
    most = (part + error) / (whole - error) + half if whole > error else math.inf
    return least * (1 - 1e-12) <= ratio <= most * (1 + 1e-12)


def write_matrix(folder: Path) -> Path:
    """Writes an unsymmetric complex matrix, plain and gzipped, with one row and one column without
    entries."""
    generator = np.random.default_rng(7)
    size, entries = 203, 1200
    places = generator.integers(0, size - 1, (2, entries))
    values = generator.random(entries) + 1j * generator.random(entries)
    file = folder / "random.mtx"
    mmwrite(file, coo_array((values, places), shape=(size, size)).tocsr())
    with file.open("rb") as plain, gzip.open(f"{file}.gz", "wb") as zipped:
        shutil.copyfileobj(plain, zipped)
    return file
