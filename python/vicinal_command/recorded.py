"""Recorded patterns: the traffic between ranks in a run of a real application, from a profiler.

A file has lines of source, destination and megabytes, and may be gzipped.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrices import Integers
from .outputs import CommandError

SUFFIXES = (".csv", ".csv.gz")
LEAST_RECORDED = 1e-4
"""Megabytes below which a record is one of the profiler's own messages."""


@dataclass(frozen=True)
class Recorded:
    """A graph with weights. Its edges are sorted by source and then destination, each once."""

    name: str
    ranks: int
    sources: Integers
    destinations: Integers
    megabytes: npt.NDArray[np.float64]

    def describe(self) -> dict[str, Any]:
        """Its name and content for JSON. The hash is that of its edges, in any spelling."""
        digest = hashlib.sha256()
        for array, kind in ((self.sources, "<i8"), (self.destinations, "<i8"), (self.megabytes, "<f8")):
            digest.update(np.ascontiguousarray(array, kind).tobytes())
        edges = len(self.sources)
        return {"name": self.name, "sha256": digest.hexdigest(), "ranks": self.ranks, "edges": edges}


def is_recorded(name: str) -> bool:
    """Returns whether a file name is that of a recorded pattern."""
    return name.lower().endswith(SUFFIXES)


def read_recorded(path: str) -> Recorded:
    """The graph of a recorded run. Weights of repeated pairs are added.

    A first line `# ranks=N ...` gives the number of ranks; without it, the largest rank does.
    Messages of a rank to itself and the profiler's own (below 0.0001 MB) are omitted.
    """
    ranks = 0
    found: dict[tuple[int, int], float] = {}
    for number, line in enumerate(_lines(path), 1):
        if line.startswith("#"):
            words = [word for word in line.split() if word.startswith("ranks=")]
            ranks = max([ranks, *(_whole(path, number, word.removeprefix("ranks=")) for word in words)])
            continue
        fields = line.split(",")
        if not line.strip() or fields[:2] == ["src", "dst"]:
            continue
        if len(fields) != 3:
            raise CommandError(f"pattern {path}, line {number}: src,dst,MB is expected, not '{line[:40]}'")
        source, destination = (_whole(path, number, field) for field in fields[:2])
        megabytes = _weight(path, number, fields[2])
        ranks = max(ranks, source + 1, destination + 1)
        if megabytes >= LEAST_RECORDED and source != destination:
            found[source, destination] = found.get((source, destination), 0.0) + megabytes
    if ranks == 0:
        raise CommandError(f"pattern {path} names no ranks; give lines of src,dst,MB")
    edges = sorted(found)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    weights = np.array([found[edge] for edge in edges], np.float64)
    return Recorded(Path(path).name.split(".")[0], ranks, ends[:, 0].copy(), ends[:, 1].copy(), weights)


def _lines(path: str) -> list[str]:
    file = Path(path)
    try:
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        return text.decode().splitlines()
    except (zlib.error, gzip.BadGzipFile, EOFError, UnicodeDecodeError) as error:
        raise CommandError(f"pattern {path} cannot be read: {error}; give a whole CSV file") from error
    except OSError as error:
        raise CommandError(f"pattern {path} cannot be read: {error.strerror or error}") from error


def _whole(path: str, number: int, text: str) -> int:
    if not text.strip().isdecimal():
        raise CommandError(f"pattern {path}, line {number}: '{text}' is no rank")
    return int(text)


def _weight(path: str, number: int, text: str) -> float:
    try:
        megabytes = float(text)
    except ValueError as error:
        raise CommandError(f"pattern {path}, line {number}: '{text}' is no number") from error
    if not math.isfinite(megabytes) or megabytes < 0:
        raise CommandError(f"pattern {path}, line {number}: '{text}' is no number of megabytes; give 0 or more")
    return megabytes
