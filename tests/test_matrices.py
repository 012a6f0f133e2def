"""Reads matrices: files as programs write them, and headers with sizes beyond any machine."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from scipy.io import mmread
from scipy.sparse import csr_array

from commanding import refused, vicinal
from launching import ROOT
from vicinal_command import matrices, matrix_market
from vicinal_command.matrices import read_matrix
from vicinal_command.memory import available_memory
from vicinal_command.outputs import CommandError

HEADER = "%%MatrixMarket matrix coordinate {} general\n"


def read(folder: Path, text: str | bytes) -> list[list[complex]]:
    file = folder / "given.mtx"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    rows: list[list[complex]] = read_matrix(str(file)).scipy().toarray().tolist()
    return rows


def test_the_last_line_need_not_end(tmp_path: Path) -> None:
    for field, value in (("pattern", ""), ("real", " 1"), ("integer", " 1")):
        for end in ("", " ", "\t", " \n", "\n\n", "\r\n"):
            text = HEADER.format(field) + f"3 3 3\n1 1{value}\n2 3{value}\n3 2{value}" + end
            assert read(tmp_path, text) == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


WRITTEN = {
    "1.5D-01": 0.15, "1.5d+2": 150, "2.5D3": 2500, "1.5-101": 1.5e-101, ".15+103": 1.5e102, "1.5e-000005": 1.5e-5, "1.5E+0250": 1.5e250,
    "+.5": 0.5, "-.5": -0.5, "5.": 5, "+5": 5, "-0": 0, "1e-999": 0, "9" * 30: 1e30, "9" * 300: 1e300, "-Infinity": -np.inf, "+inf": np.inf,
    "0.1000000000000000055511151231257827021181583404541015625": 0.1,
}


@pytest.mark.parametrize("word", WRITTEN)
def test_values_are_read_as_fortran_and_c_write_them(word: str, tmp_path: Path) -> None:
    assert read(tmp_path, HEADER.format("real") + f"2 2 2\n1 1 {word}\n2 2 1\n") == [[WRITTEN[word], 0], [0, 1]]
    assert read(tmp_path, f"%%MatrixMarket MATRIX Array Real General\n1 1\n{word}\n") == [[WRITTEN[word]]]


def test_complex_and_whole_values(tmp_path: Path) -> None:
    written = read(tmp_path, HEADER.format("complex") + "2 2 2\n1 1 1.5D-01 -2.5-101\n2 1 +1 inf\n")
    assert written == [[complex(0.15, -2.5e-101), 0], [complex(1, np.inf), 0]]
    whole = HEADER.format("integer") + f"2 2 3\n1 1 +7\n1 2 -{2**63 - 1}\n2 2 {2**64 - 1}\n"
    assert read(tmp_path, whole) == [[7, -(2.0**63)], [0, 2.0**64]]


def test_blanks_comments_and_ends_of_lines_do_not_matter(tmp_path: Path) -> None:
    text = HEADER.format("real") + "% a comment\n\n%\n 2\t2 3 \n\n\t1  1 \t1.5  \n\n  \n2 1 -3\n2 2 +4\n"
    for written in (text, text.replace("\n", "\r\n")):
        assert read(tmp_path, written) == [[1.5, 0], [-3, 4]]


@pytest.mark.parametrize(
    ("symmetry", "field", "entries", "whole"),
    [
        ("symmetric", "real", ["1 1 5", "2 1 3"], [[5, 3], [3, 0]]),
        ("symmetric", "real", ["1 2 3", "2 2 nan"], [[0, 3], [3, np.nan]]),
        ("skew-symmetric", "real", ["2 1 3", "2 2 0"], [[0, -3], [3, 0]]),
        ("hermitian", "complex", ["1 1 5 0", "2 1 3 4"], [[5, 3 - 4j], [3 + 4j, 0]]),
        ("symmetric", "pattern", ["2 1", "2 2"], [[0, 1], [1, 1]]),
    ],
)
def test_one_triangle_stands_for_both(symmetry: str, field: str, entries: list[str], whole: list, tmp_path: Path) -> None:
    start = HEADER.format(field).replace("general", symmetry)
    got = read(tmp_path, start + f"2 2 {len(entries)}\n" + "\n".join(entries))
    np.testing.assert_array_equal(got, whole)


def test_arrays_are_column_by_column(tmp_path: Path) -> None:
    start = "%%MatrixMarket matrix array real general\n2 2\n"
    assert read(tmp_path, start + "1\n2\n3\n4\n") == [[1, 3], [2, 4]]
    assert read(tmp_path, start.replace("general", "symmetric") + "1\n2\n4\n") == [[1, 2], [2, 4]]
    assert read(tmp_path, start.replace("general", "skew-symmetric") + "3\n") == [[0, -3], [3, 0]]


@pytest.mark.parametrize(
    ("field", "line", "said"),
    [
        ("real", "1 1 1.5x", "line 4, column 5: '1.5x' is no real number"),
        ("real", "1 1 0x10", "line 4, column 5: '0x10' is no real number"),
        ("real", "1 1 1,5", "line 4, column 5: '1,5' is no real number"),
        ("real", "1 1 1.5e", "line 4, column 5: '1.5e' is no real number"),
        ("real", "1 1 1.5\0", "line 4, column 5: '1.5\\x00' is no real number"),
        ("real", "1 1 1e999", "line 4, column 5: '1e999' is beyond 64 bits"),
        ("real", "1 1 1.5+309", "line 4, column 5: '1.5+309' is beyond 64 bits"),
        ("real", " 1 1  1.5 7", "line 4, column 11: '7' follows the last number of the line"),
        ("real", "1 1 1.5 % one", "line 4, column 9: '%' follows the last number of the line"),
        ("real", "1 1 ", "line 4, column 4: a real number is missing"),
        ("real", "1.0 1 5", "line 4, column 1: '1.0' is no row number"),
        ("real", "1 1e0 5", "line 4, column 3: '1e0' is no column number"),
        ("real", "1 -1 5", "line 4, column 3: '-1' is no column number"),
        ("real", "1 99999999999999999999999 5", "line 4, column 3: '99999999999999999999999' is beyond 64 bits"),
        ("real", "0 1 5", "line 4, column 1: '0' is out of bounds: there are 3 rows and 3 columns"),
        ("real", "1  9999999999 5", "line 4, column 4: '9999999999' is out of bounds"),
        ("real", "% too late", "line 4, column 1: '%' is no row number"),
        ("integer", "1 1 1e3", "line 4, column 5: '1e3' is no whole number"),
        ("integer", "1 1 1.0", "line 4, column 5: '1.0' is no whole number"),
        ("integer", "1 1 99999999999999999999999", "line 4, column 5: '99999999999999999999999' is beyond 64 bits"),
        ("complex", "1 1 1.5 2.0i", "line 4, column 9: '2.0i' is no real number"),
        ("pattern", "1 1 3", "line 4, column 5: '3' follows the last number of the line"),
        ("pattern", "1 1\n2 2\n\n3 3", "line 7, column 1: '3' is one entry more than the 2 of the header"),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(field: str, line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"given\.mtx, ") as fault:
        read(tmp_path, HEADER.format(field) + f"3 3 2\n\n{line}\n2 3 {'5 ' * (field != 'pattern')}")
    assert said in str(fault.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xef\xbb\xbf" + HEADER.format("real").encode() + b"1 1 0\n", "line 1, column 1: the file begins with a byte-order mark"),
        (HEADER.format("real") + "99999999999999999999 3 1\n1 1 1\n", "line 2, column 1: '99999999999999999999' is beyond 64 bits"),
        (HEADER.format("real") + "3 3\n1 1 1\n", "line 2, column 4: a whole number is missing"),
        (HEADER.format("real") + "%\n3 3 1 7\n1 1 1\n", "line 3, column 7: '7' follows the last number"),
        (HEADER.format("real") + "3 3 -1\n", "line 2: -1 is no number of entries"),
        (HEADER.format("quaternion") + "3 3 1\n1 1 1\n", "line 1: not a Matrix Market file of a matrix"),
        (HEADER.format("real") + "% nothing else\n", "truncated: it has no line with its size"),
        (HEADER.format("real") + "3 3 2\n1 1 1\n", "truncated: it has 1 of 2 entries"),
        (HEADER.format("real").replace("general", "symmetric") + "3 3 4\n1 1 1\n2 1 5\n3 1 5\n1 3 5\n",
         "holds both triangles: the entries (3, 1) and (1, 3) each stand for both"),
        (HEADER.format("real").replace("general", "skew-symmetric") + "2 2 2\n1 1 0\n2 2 3\n", "its entry (2, 2) differs"),
    ],
)
def test_files_that_contradict_their_header_are_refused(text: str | bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as fault:
        read(tmp_path, text)
    assert said in str(fault.value)


def test_places_are_right_beyond_the_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses blocks of a few lines each, in which every third line is empty and every value needs the
    slow path."""
    monkeypatch.setattr(matrix_market, "BLOCK_BYTES", 50)
    lines = [f"{row} {row} {row}e+100\n{chr(10) * (row % 3 == 0)}" for row in range(1, 100)]
    text = HEADER.format("real") + "99 99 99\n"
    diagonal = np.diag(read(tmp_path, text + "".join(lines)))
    assert diagonal.tolist() == [float(f"{row}e100") for row in range(1, 100)]
    for fault, said in (("90 90 9O", "'9O' is no real number"), ("90 90 9e+999", "beyond 64 bits"), ("90 100 5", "out of bounds")):
        lines[89] = fault + "\n"
        with pytest.raises(CommandError, match=f"line {3 + 89 + 29}, column [47]: .*{said}"):
            read(tmp_path, text + "".join(lines))


DATA = Path(os.environ.get("VICINAL_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("path", sorted((DATA / "matrices").glob("*.mtx.gz")), ids=lambda path: path.name)
def test_real_matrices_are_those_of_scipy(path: Path) -> None:
    ours, theirs = read_matrix(str(path)).scipy(), csr_array(mmread(path))
    theirs.sum_duplicates()
    assert (ours != theirs).nnz == 0 and ours.nnz == theirs.nnz


def test_many_rows_are_compared_with_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.mtx"
    file.write_text(HEADER.format("pattern") + "3000000000000 3000000000000 1\n1 1\n")
    refused(
        vicinal("explain", file, "--ranks", 2, "--ranks-per-region", 1), str(file), "3,000,000,000,000 rows",
        "48000.0 GB", "available",
    )


def test_what_is_available_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "small.mtx"
    file.write_text(HEADER.format("real") + "1000 1000 1\n1 1 2.5\n")
    monkeypatch.setattr(matrices, "available_memory", lambda: 16_100)
    assert read_matrix(str(file)).rows == 1000
    monkeypatch.setattr(matrices, "available_memory", lambda: 16_000)
    with pytest.raises(CommandError, match="1,000 rows"):
        read_matrix(str(file))
    monkeypatch.setattr(matrices, "available_memory", lambda: None)
    assert read_matrix(str(file)).values.tolist() == [2.5]


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def fake_machine(folder: Path, groups: str) -> tuple[Path, Path]:
    proc, cgroups = folder / "proc", folder / "cgroup"
    write(proc, meminfo="MemTotal: 9000 kB\nMemAvailable: 8000 kB\n")
    write(proc / "self", cgroup=groups)
    cgroups.mkdir()
    return proc, cgroups


def test_the_least_of_machine_and_groups_is_available(tmp_path: Path) -> None:
    proc, cgroups = fake_machine(tmp_path, "0::/job/step\n")
    assert available_memory(proc, cgroups) == 8000 * 1024
    # A group without a limit, inside a group with one; reclaimable memory counts as free.
    write(cgroups / "job" / "step", memory__max="max\n", memory__current="5\n")
    write(
        cgroups / "job", memory__max="3000\n", memory__current="2500\n", memory__stat="anon 2000\ninactive_file 400\n"
    )
    assert available_memory(proc, cgroups) == 900
    write(cgroups / "job" / "step", memory__max="600\n", memory__current="500\n")
    assert available_memory(proc, cgroups) == 100
    write(cgroups / "job" / "step", memory__current="700\n")
    assert available_memory(proc, cgroups) == 0


def test_groups_of_version_1(tmp_path: Path) -> None:
    proc, cgroups = fake_machine(tmp_path, "4:memory:/job\n3:cpu:/elsewhere\n0::/\n")
    write(
        cgroups / "memory", memory__limit_in_bytes="5000\n", memory__usage_in_bytes="1000\n",
        memory__stat="inactive_file 1\ntotal_inactive_file 200\n",
    )
    assert available_memory(proc, cgroups) == 4200
    write(cgroups / "memory" / "job", memory__limit_in_bytes="100\n", memory__usage_in_bytes="30\n")
    assert available_memory(proc, cgroups) == 70


def test_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "none", tmp_path / "none") is None


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_values_matter_only_where_they_are_multiplied(value: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.mtx"
    file.write_text(HEADER.format("real") + f"4 4 3\n1 1 {value}\n2 3 1.0\n4 1 1.0\n")
    explained = vicinal("explain", file, "--ranks", 2, "--ranks-per-region", 1)
    assert explained.returncode == 0, explained.stderr
    counted = vicinal("bench", "sdde", "--count", "--ranks", 2, "--ranks-per-region", 1, "--matrix", file)
    assert counted.returncode == 0, counted.stderr
    refused(vicinal("spmv", file, "--ranks", 2), "not finite")
    refused(vicinal("bench", "neighbor-allgather", "--ranks", 2, "--matrix", file), "not finite")
    assert not np.isfinite(read_matrix(str(file)).values).all()
