"""Distribution of rows by a file: its effect, and invalid files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from vicinal_command.matrices import Matrix
from vicinal_command.outputs import CommandError
from vicinal_command.partition import partitioned, read_parts


def some_matrix(rows: int = 7) -> Matrix:
    generator = np.random.default_rng(3)
    dense = csr_array(generator.random((rows, rows)) * (generator.random((rows, rows)) < 0.4))
    return Matrix("some.mtx", rows, dense.indptr.astype(np.int64), dense.indices, dense.data)


@pytest.mark.parametrize("kind", ["lines", "array"])
def test_rows_are_renumbered_part_by_part(kind: str, tmp_path: Path) -> None:
    parts = [4, 0, 1, 0, 4, 1, 0]
    file = tmp_path / ("parts.npy" if kind == "array" else "parts.txt")
    if kind == "array":
        np.save(file, np.array(parts, np.uint8))
    else:
        file.write_text("".join(f" {part}\n" for part in parts) + "\n")
    matrix = some_matrix()
    found, starts = partitioned(matrix, str(file), 6)
    # Parts 2, 3 and 5 are empty; rows of a part keep their order.
    assert starts.tolist() == [0, 3, 5, 5, 5, 7, 7]
    order = [1, 3, 6, 2, 5, 0, 4]
    expected = matrix.scipy().toarray()[np.ix_(order, order)]
    assert np.array_equal(found.scipy().toarray(), expected)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty; give a part for each of the 7 rows"),
        ("0\n" * 6, "parts for 6 rows, but some.mtx has 7"),
        ("0\n" * 8, "parts for 8 rows"),
        ("0\n0\n-1\n" + "0\n" * 4, "puts row 2 into part -1"),
        ("0\n" * 6 + "3\n", "puts row 6 into part 3, but 3 ranks have parts 0 to 2"),
        ("0\n" * 3 + "one\n" + "0\n" * 3, "line 4: 'one' is no part's number"),
        ("0\n\n" + "0\n" * 6, "line 2: '' is no part's number"),
        ("0\n" * 6 + "1.5\n", "line 7: '1.5'"),
        ("0\n" * 6 + "9" * 30 + "\n", "line 7: '999"),
    ],
)
def test_files_that_do_not_fit_are_refused(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "parts.txt"
    file.write_text(text)
    with pytest.raises(CommandError, match=says) as refused:
        read_parts(str(file), some_matrix(), 3)
    assert str(file) in str(refused.value)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "parts.npy"
    for array in (np.zeros((7, 1), np.int64), np.zeros(7)):
        np.save(file, array)
        with pytest.raises(CommandError, match="no one-dimensional array of integers"):
            read_parts(str(file), some_matrix(), 3)
    np.save(file, np.zeros(7, np.int64))
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(CommandError, match="cannot be read"):
        read_parts(str(file), some_matrix(), 3)
    file.write_bytes(b"\x80\x81\n")
    file.rename(tmp_path / "parts.txt")
    with pytest.raises(CommandError, match="is no text"):
        read_parts(str(tmp_path / "parts.txt"), some_matrix(), 3)
    with pytest.raises(CommandError, match="No such file"):
        read_parts(str(tmp_path / "none.txt"), some_matrix(), 3)
