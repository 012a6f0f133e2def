"""Reading matrices: files as people write them, and headers that promise what no machine has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commanding import refused, vicinal
from vicinal_command import matrices
from vicinal_command.matrices import read_matrix
from vicinal_command.memory import available_memory
from vicinal_command.outputs import CommandError

HEADER = "%%MatrixMarket matrix coordinate {} general\n"


@pytest.mark.parametrize("field", ["pattern", "real", "integer"])
def test_the_last_line_need_not_end(field: str, tmp_path: Path) -> None:
    """In a process of its own: SciPy's reader may end it."""
    value = "" if field == "pattern" else " 2"
    files = [tmp_path / f"{number}.mtx" for number in range(5)]
    for file, end in zip(files, ["", " ", "\t", " \n", "\n\n"], strict=True):
        file.write_text(HEADER.format(field) + f"3 3 3\n1 1{value}\n2 3{value}\n3 2{value}" + end)
    code = (
        "import sys; from vicinal_command.matrices import read_matrix\n"
        "for name in sys.argv[1:]: print(read_matrix(name).columns.tolist())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, files)], env={"PYTHONPATH": str(Path(matrices.__file__).parents[1])},
        capture_output=True, text=True, timeout=200,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n") == ["[0, 2, 1]"] * len(files) + [""]


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
    # A group without a limit, in one that has one; what the kernel can take back counts as free.
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
