"""Strict reader of Matrix Market files, which refuses a word that is not wholly a number.

SciPy's reader (fast_matrix_market) converts the longest numeric prefix of a word and skips the rest
of the line. It reads 1.5D-01 and 1.5-101, as Fortran programs write them, as 1.5. Here a regular
expression finds the lines that do not match the header, and NumPy converts all others. The format
is described in https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .outputs import Advance

Numbers = npt.NDArray[Any]

BLOCK_BYTES = 1 << 22
"""Bytes of a file that are converted in one step."""
LONGEST_LINE = 1 << 16
MOST = 2**63 - 1


class FormatError(ValueError):
    """An error in a file, with its position."""


@dataclass(frozen=True)
class Kind:
    """A kind of word in a line."""

    name: str
    usual: bytes
    """Matches only words of the kind, and only such that certainly fit into 64 bits."""
    every: bytes
    """Matches all numbers of the kind, however large."""
    is_whole: bool = True

    def fault(self, word: bytes) -> str | None:
        """Describes the error in a word; None if it is valid."""
        if re.fullmatch(self.usual, word):
            return None
        shown = f"{word.decode(errors='replace')[:40]!r}"
        if not re.fullmatch(self.every, word):
            return f"{shown} is no {self.name}"
        # Unsigned 64-bit numbers are allowed, too: both become float64.
        fits = -MOST <= int(word) <= 2 * MOST + 1 if self.is_whole else np.isfinite(float(_plain(word)))
        return None if fits else f"{shown} is beyond 64 bits"


_MANTISSA = rb"(?:%b(?:\.[0-9]*)?|\.[0-9]+)"
ROW, COLUMN = (Kind(f"{name} number", rb"\+?[0-9]{1,18}", rb"\+?[0-9]+") for name in ("row", "column"))
WHOLE = Kind("whole number", rb"[+-]?[0-9]{1,18}", rb"[+-]?[0-9]+")
REAL = Kind(
    "real number",
    rb"[+-]?(?:" + _MANTISSA % rb"[0-9]{1,200}" + rb"(?:[eEdD]?(?:-[0-9]+|\+0*[0-9]{1,2})|[eEdD]0*[0-9]{1,2})?"
    rb"|(?i:inf(?:inity)?|nan))",
    rb"[+-]?" + _MANTISSA % rb"[0-9]+" + rb"(?:[eEdD]?[+-][0-9]+|[eEdD][0-9]+)?",
    is_whole=False,
)
FIELDS: dict[str, Sequence[Kind]] = {
    "real": [REAL], "double": [REAL], "complex": [REAL, REAL], "integer": [WHOLE], "unsigned-integer": [WHOLE],
    "pattern": [],
}
MIRRORED = {"symmetric": np.positive, "skew-symmetric": np.negative, "hermitian": np.conjugate}
"""Value of entry (j, i), from that of (i, j)."""
BANNER = re.compile(
    rf"%%MatrixMarket\s+(?i:matrix\s+(coordinate|array)\s+({'|'.join(FIELDS)})\s+"
    rf"(general|{'|'.join(MIRRORED)}))\s*".encode()
)
WORD = re.compile(rb"[^ \t\r\n]+")
WITHOUT_LETTER = re.compile(rb"[+-](?<=[0-9.][+-])")
"""Sign of a three-digit exponent, before which Fortran omits the letter."""
LETTERS = bytes.maketrans(b"dD", b"ee")


@dataclass(frozen=True)
class Header:
    """Contents of a file's header."""

    rows: int
    columns: int
    stored: int
    """Number of entries in the file."""
    is_array: bool
    """True if all entries are in the file, column by column, without positions."""
    field: str
    symmetry: str

    @property
    def entries(self) -> int:
        """Most entries of the matrix, including those that follow from symmetry."""
        return self.stored * (1 if self.symmetry == "general" else 2)


class MatrixMarketFile:
    """A file, unzipped if necessary. Read the header first, then the entries."""

    def __init__(self, path: Path, advance: Advance) -> None:
        """Opens the file. `advance` is called with the number of bytes read so far."""
        self._raw = path.open("rb")
        self._unzipped = gzip.GzipFile(fileobj=self._raw) if path.suffix == ".gz" else self._raw
        self._advance = advance
        self._line = 1
        """Number of the next line."""

    def __enter__(self) -> MatrixMarketFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def read_header(self) -> Header:
        """Reads up to the line with the sizes."""
        banner = self._unzipped.readline(LONGEST_LINE)
        if banner.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FormatError("line 1, column 1: the file begins with a byte-order mark; save it as plain ASCII text")
        found = BANNER.fullmatch(banner)
        form, field, symmetry = (word.decode().lower() for word in found.groups()) if found else ("", "", "")
        if found is None or (form == "array" and field == "pattern"):
            raise FormatError(
                "line 1: not a Matrix Market file of a matrix, which begins with %%MatrixMarket matrix, coordinate or "
                f"array, {', '.join(FIELDS)}, and general, {' or '.join(MIRRORED)}; this begins with "
                f"{banner[:60].decode(errors='replace')!r}"
            )
        line = b"%"
        while line.startswith(b"%") or (line and not line.strip()):
            self._line += 1
            line = self._unzipped.readline(LONGEST_LINE)
        if not line:
            raise EOFError("it has no line with its size")
        is_array = form == "array"
        self._require_words(line, [ROW, COLUMN] if is_array else [ROW, COLUMN, WHOLE])
        rows, columns, *stored = map(int, line.split())
        self._line += 1
        if is_array:
            below = rows * (rows - 1) // 2
            stored = [{"general": rows * columns, "skew-symmetric": below}.get(symmetry, below + rows)]
        if stored[0] < 0:
            raise FormatError(f"line {self._line - 1}: {stored[0]} is no number of entries")
        return Header(rows, columns, stored[0], is_array, field, symmetry)

    def read_entries(self, header: Header) -> Any:
        """Reads the entries as a SciPy array of coordinates. A symmetric matrix must be square."""
        from scipy.sparse import coo_array

        kinds = FIELDS[header.field]
        shape = header.rows, header.columns
        places = np.empty((2, header.stored), np.int32 if max(*shape, header.entries) < 1 << 31 else np.int64)
        values = np.empty((header.stored, len(kinds)))
        before = 0 if header.is_array else 2
        filled = 0
        for text, numbers in self._numbers([ROW, COLUMN, *kinds] if before else kinds):
            if filled + len(numbers) > header.stored:
                raise self._refused(
                    text, header.stored - filled, 0, f"one entry more than the {header.stored:,} of the header"
                )
            outside = (numbers[:, :before] < 1) | (numbers[:, :before] > shape[:before])
            if outside.any():
                entry, which = np.argwhere(outside)[0]
                what = f"out of bounds: there are {header.rows:,} rows and {header.columns:,} columns"
                raise self._refused(text, entry, which, what)
            end = filled + len(numbers)
            if before:
                places[:, filled:end] = numbers[:, :2].T - 1
            values[filled:end] = numbers[:, before:]
            filled = end
        if filled < header.stored:
            raise EOFError(f"it has {filled:,} of {header.stored:,} entries")
        if header.is_array:
            upper = int(header.symmetry == "skew-symmetric")
            is_general = header.symmetry == "general"
            every = np.indices(shape[::-1]).reshape(2, -1) if is_general else np.triu_indices(header.rows, upper)
            places[1], places[0] = every
        of_entries: Numbers = np.ones(header.stored)
        if kinds:
            of_entries = values.view(np.complex128 if len(kinds) == 2 else np.float64)[:, 0]
        if header.is_array:
            places, of_entries = places[:, of_entries != 0], of_entries[of_entries != 0]
        if header.symmetry != "general":
            places, of_entries = _with_mirrored(header.symmetry, places, of_entries)
        return coo_array((of_entries, (places[0], places[1])), shape=shape)

    def _numbers(self, kinds: Sequence[Kind]) -> Iterator[tuple[bytes, Numbers]]:
        """Yields whole lines and their numbers, with a row for each line that is not empty."""
        words = rb"[ \t]+".join(rb"(?:" + kind.usual + rb")" for kind in kinds)
        unusual = re.compile(rb"^(?![ \t]*(?:" + words + rb")?[ \t\r]*$)", re.MULTILINE)
        while text := self._unzipped.read(BLOCK_BYTES) + self._unzipped.readline(LONGEST_LINE):
            self._advance(self._raw.tell())
            for found in unusual.finditer(text):
                end = text.find(b"\n", found.start())
                line = text[found.start() : end if end >= 0 else len(text)]
                self._require_words(line, kinds, partial(text.count, b"\n", 0, found.start()))
            numbers = np.fromstring(_plain(text), sep=" ") if text.strip() else np.empty(0)
            yield text, numbers.reshape(-1, len(kinds))
            self._line += text.count(b"\n")

    def _require_words(self, line: bytes, kinds: Sequence[Kind], lines_before: Any = lambda: 0) -> None:
        """Refuses a line that does not consist of numbers of these kinds."""
        for kind, word in zip_longest(kinds, WORD.finditer(line)):
            if kind is None:
                what: str | None = f"{word[0].decode(errors='replace')[:40]!r} follows the last number of the line"
            else:
                what = kind.fault(word[0]) if word else f"a {kind.name} is missing"
            if what is not None:
                column = 1 + (word.start() if word else len(line.rstrip()))
                raise FormatError(f"line {self._line + lines_before()}, column {column}: {what}")

    def _refused(self, text: bytes, entry: int, which: int, what: str) -> FormatError:
        """Makes the error for word `which` of entry `entry` in the text."""
        line = next(islice(re.finditer(rb"[^\n]*[^\s][^\n]*", text), int(entry), None))
        word = next(islice(WORD.finditer(line[0]), int(which), None))
        number = self._line + text.count(b"\n", 0, line.start())
        return FormatError(f"line {number}, column {word.start() + 1}: {word[0].decode()!r} is {what}")


def _plain(text: bytes) -> bytes:
    """Rewrites exponents as in C."""
    if WITHOUT_LETTER.search(text):
        text = re.sub(rb"(?<=[0-9.])([+-])", rb"e\1", text)
    return text.translate(LETTERS)


def _with_mirrored(symmetry: str, places: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Adds the entries on the other side of the diagonal."""
    mirrored = MIRRORED[symmetry]
    rows, columns = places
    apart = rows != columns
    wrong = ~apart if symmetry != "symmetric" else np.zeros_like(apart)
    wrong[wrong] = mirrored(values[wrong]) != values[wrong]
    if wrong.any():
        place = rows[wrong][0] + 1
        raise FormatError(
            f"the file says {symmetry}, but its entry ({place}, {place}) differs from its own mirror image"
        )
    below, above = rows > columns, rows < columns
    if below.any() and above.any():
        size = int(places.max()) + 1
        twice = np.intersect1d(
            rows[below] * np.int64(size) + columns[below], columns[above] * np.int64(size) + rows[above]
        )
        if twice.size:
            row, column = divmod(int(twice[0]), size)
            raise FormatError(
                f"the file says {symmetry}, but holds both triangles: the entries ({row + 1}, {column + 1}) and "
                f"({column + 1}, {row + 1}) "
                "each stand for both; leave one out, or write general in its first line"
            )
    places = np.concatenate([places, places[::-1, apart]], axis=1)
    return places, np.concatenate([values, mirrored(values[apart])])
