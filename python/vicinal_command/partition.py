"""Owners of the rows of a matrix: near-equal blocks, or parts from a file.

A file gives each row the number of its part, one per line or as a NumPy array (.npy). Partitioners
such as METIS write such files. Rank r owns the rows of part r. All other modules let ranks own
consecutive rows, so the matrix is renumbered: part by part, with rows of a part in their old order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .matrices import Integers, Matrix
from .outputs import CommandError


def partitioned(matrix: Matrix, path: str, ranks: int) -> tuple[Matrix, Integers]:
    """The matrix with its rows in the order of the file's parts, and the first row of each rank."""
    return by_parts(matrix, read_parts(path, matrix, ranks), ranks)


def by_parts(matrix: Matrix, parts: Integers, ranks: int) -> tuple[Matrix, Integers]:
    """As partitioned(), from the part of each row."""
    order = np.argsort(parts, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(parts, minlength=ranks))])
    return _renumbered(matrix, order), starts.astype(np.int64)


def read_parts(path: str, matrix: Matrix, ranks: int) -> Integers:
    """The part of each row of the matrix, from 0 to ranks - 1."""
    parts = _read_array(path) if path.endswith(".npy") else _read_lines(path)
    if parts.size == 0:
        raise CommandError(f"partition {path} is empty; give a part for each of the {matrix.rows} rows")
    if parts.size != matrix.rows:
        raise CommandError(
            f"partition {path} has parts for {parts.size} rows, but {matrix.name} has {matrix.rows}; give one for each"
        )
    wrong = np.flatnonzero((parts < 0) | (parts >= ranks))
    if wrong.size:
        row = int(wrong[0])
        raise CommandError(
            f"partition {path} puts row {row} into part {parts[row]}, but {ranks} ranks have parts 0 to {ranks - 1}; "
            "give --ranks as many as there are parts"
        )
    return parts


def _read_array(path: str) -> Integers:
    try:
        parts = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise CommandError(f"partition {path} cannot be read: {error}; give a whole .npy file") from error
    except OSError as error:
        raise CommandError(f"partition {path} cannot be read: {error.strerror or error}") from error
    if not isinstance(parts, np.ndarray) or parts.ndim != 1 or not np.issubdtype(parts.dtype, np.integer):
        raise CommandError(f"partition {path} is no one-dimensional array of integers; give a part for each row")
    return parts.astype(np.int64)


def _read_lines(path: str) -> Integers:
    try:
        lines = Path(path).read_text().split("\n")
    except UnicodeDecodeError as error:
        raise CommandError(f"partition {path} is no text; give a part per line, or a .npy file") from error
    except OSError as error:
        raise CommandError(f"partition {path} cannot be read: {error.strerror or error}") from error
    while lines and not lines[-1].strip():
        lines.pop()
    try:
        return np.array(lines, np.str_).astype(np.int64) if lines else np.empty(0, np.int64)
    except (ValueError, OverflowError):
        number, line = next((number, line) for number, line in enumerate(lines, 1) if not _is_whole(line))
        raise CommandError(f"partition {path}, line {number}: '{line[:40]}' is no part's number") from None


def _is_whole(text: str) -> bool:
    try:
        return abs(int(text)) < 1 << 63
    except ValueError:
        return False


def _renumbered(matrix: Matrix, order: Integers) -> Matrix:
    """The matrix with row and column order[k] renumbered to k."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    lengths = np.diff(matrix.row_starts)[order]
    row_starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    # Entry k of the new matrix is entry entries[k] of the old one.
    entries = np.repeat(matrix.row_starts[:-1][order] - row_starts[:-1], lengths) + np.arange(row_starts[-1])
    columns = place[matrix.columns[entries]].astype(matrix.columns.dtype)
    return Matrix(matrix.name, matrix.rows, row_starts, columns, matrix.values[entries])
