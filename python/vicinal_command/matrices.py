"""Matrices for the command: sources, owners of rows, and the values that ranks need.

A matrix is a Matrix Market file or one of PyAMG's examples. Its rows, and the entries of the vector
in a product with it, are distributed in near-equal blocks. A rank then needs each entry of the
vector that its rows use and that lies in another rank's block.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrix_market import FormatError, MatrixMarketFile
from .memory import available_memory
from .outputs import CommandError, progress

Integers = npt.NDArray[np.int64]

LONGEST_GZIP_RATIO = 1032
"""Most bytes that one byte of gzip can represent."""
SHORTEST_ENTRY = 2
"""Bytes of the shortest line with an entry in a Matrix Market file."""
ENTRIES_AT_ONCE = 1 << 22
"""Entries of a matrix in one step. This limits the memory, not the speed."""


@dataclass(frozen=True)
class Matrix:
    """A square sparse matrix in rows (CSR), in float64 or complex128."""

    name: str
    rows: int
    row_starts: Integers
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def scipy(self) -> Any:
        """The matrix as a SciPy array that shares the memory."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self.columns, self.row_starts), shape=(self.rows, self.rows))

    @property
    def value_bytes(self) -> int:
        """Bytes of one entry, of the matrix and of the vectors that it is multiplied with."""
        return int(self.values.dtype.itemsize)

    def describe(self) -> dict[str, Any]:
        """Its name and content for JSON. The hash is that of the entries, zipped or not."""
        digest = hashlib.sha256()
        kind = "<c16" if np.iscomplexobj(self.values) else "<f8"
        for array, of_kind in ((self.row_starts, "<i8"), (self.columns, "<i8"), (self.values, kind)):
            digest.update(np.ascontiguousarray(array, of_kind).data)
        name = Path(self.name).name
        return {"name": name, "sha256": digest.hexdigest(), "rows": self.rows, "nonzeros": len(self.columns)}


def read_matrix(name: str) -> Matrix:
    """Reads the Matrix Market file (or .mtx.gz) `name`, or loads the PyAMG example of that name."""
    path = Path(name)
    try:
        if path.is_file():
            return in_rows(name, _read_file(path))
        if path.exists() or path.suffix or len(path.parts) != 1:
            what = "is no file" if path.exists() else "does not exist"
            raise CommandError(
                f"matrix {name} {what}; give a Matrix Market file (.mtx, .mtx.gz) or a PyAMG example"
            )
        return in_rows(name, _load_example(name))
    except (MemoryError, OverflowError) as error:
        raise CommandError(f"matrix {name} does not fit into memory; check the sizes in its header") from error


def require_finite(matrix: Matrix) -> None:
    """Refuses a matrix whose products with a vector cannot be checked."""
    if not np.isfinite(matrix.values).all():
        raise CommandError(
            f"matrix {matrix.name} has entries that are not finite; y = A x could not be checked"
        )


def block_starts(matrix: Matrix, ranks: int, *, idle: bool = False) -> Integers:
    """The first row of each rank's block, and the number of rows at the end.

    With `idle` there may be more ranks than rows, as on the coarse levels of a multigrid hierarchy.
    Ranks that own a row are then spread evenly.
    """
    if ranks > matrix.rows and not idle:
        raise CommandError(
            f"{ranks} ranks are more than the {matrix.rows} rows of {matrix.name}; give at most {matrix.rows}"
        )
    return np.arange(ranks + 1, dtype=np.int64) * matrix.rows // ranks


def needed_pairs(matrix: Matrix, starts: Integers) -> tuple[npt.NDArray[np.int32], Integers]:
    """Ranks, and the vector entries that they need: each pair once, in order."""
    ranks = len(starts) - 1
    entry_starts = matrix.row_starts[starts]
    needers, needed = [], []
    first = 0
    while first < ranks:
        enough = np.searchsorted(entry_starts, entry_starts[first] + ENTRIES_AT_ONCE, side="right") - 1
        last = min(max(int(enough), first + 1), ranks)
        columns = matrix.columns[entry_starts[first] : entry_starts[last]].astype(np.int64)
        ranks_here = np.repeat(np.arange(first, last), np.diff(entry_starts[first : last + 1]))
        foreign = (columns < starts[ranks_here]) | (columns >= starts[ranks_here + 1])
        pairs = ranks_here[foreign] * matrix.rows + columns[foreign]
        pairs.sort()
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        needers.append((pairs // matrix.rows).astype(np.int32))
        needed.append(pairs % matrix.rows)
        first = last
    return np.concatenate(needers), np.concatenate(needed)


def _read_file(path: Path) -> Any:
    """Reads a Matrix Market file. Checks its header before it reads the entries."""
    size = path.stat().st_size
    try:
        with progress(f"reading {path.name}", size) as advance, MatrixMarketFile(path, advance) as file:
            header = file.read_header()
            _require_square(str(path), header.rows, header.columns)
            if header.stored * SHORTEST_ENTRY > size * (LONGEST_GZIP_RATIO if path.suffix == ".gz" else 1):
                raise EOFError(f"its header announces {header.stored:,} entries")
            _require_memory(str(path), header.rows, header.entries, 16 if header.field == "complex" else 8)
            return file.read_entries(header)
    except EOFError as error:
        raise CommandError(f"matrix {path} is truncated: {error}; {_REMEDY}") from error
    except FormatError as error:
        raise CommandError(f"matrix {path}, {error}") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise CommandError(f"matrix {path} cannot be read: {error}; {_REMEDY}") from error
    except OSError as error:
        raise CommandError(f"matrix {path} cannot be read: {error.strerror or error}") from error


_REMEDY = "give a whole Matrix Market file (.mtx, .mtx.gz)"


def _load_example(name: str) -> Any:
    try:
        from pyamg import gallery
    except ImportError as error:
        raise CommandError(
            f"matrix {name} is no file, and PyAMG, which may have an example of that name, is not "
            "installed: run `pip install pyamg`, or give a Matrix Market file"
        ) from error
    try:
        return gallery.load_example(name)["A"]
    except (ValueError, OSError) as error:
        known = sorted(path.stem for path in Path(gallery.__file__).parent.glob("example_data/*.mat"))
        raise CommandError(
            f"matrix {name} is neither a file nor a PyAMG example; the examples are {', '.join(known)}"
        ) from error


def in_rows(name: str, given: Any) -> Matrix:
    """Converts a square sparse matrix of SciPy."""
    from scipy.sparse import csr_array

    _require_square(name, *given.shape)
    matrix = csr_array(given)
    matrix.sum_duplicates()
    values = matrix.data.astype(np.complex128 if np.iscomplexobj(matrix.data) else np.float64, copy=False)
    row_starts = matrix.indptr.astype(np.int64)
    return Matrix(name, int(matrix.shape[0]), row_starts, matrix.indices, values)


def _require_memory(name: str, rows: int, entries: int, value_bytes: int) -> None:
    """Refuses a matrix that needs more memory than is available."""
    index_bytes = 4 if max(rows, entries) < 1 << 31 else 8
    # Triples, and then the rows beside them. The row starts exist twice while they are counted.
    needed = entries * (3 * index_bytes + 2 * value_bytes) + 2 * 8 * (rows + 1)
    available = available_memory()
    if available is not None and needed > available:
        raise CommandError(
            f"matrix {name} has {rows:,} rows and {entries:,} entries by its header, and reading it takes about "
            f"{needed / 1e9:.1f} GB of memory, but {available / 1e9:.1f} GB are available; check its header, or "
            "use a machine with more memory"
        )


def _require_square(name: str, rows: int, columns: int) -> None:
    if rows != columns:
        raise CommandError(
            f"matrix {name} is not square: it has {rows} rows and {columns} columns; a halo needs as "
            "many of each"
        )
    if rows == 0:
        raise CommandError(f"matrix {name} is empty; give one with rows")
