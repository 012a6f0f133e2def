"""Runs the commands and code of README.md and docs/using.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from launching import BUILD, ROOT, abi_of, mpi_called, run_command, run_ranks
from vicinal_command.launch import ROOT_CONSENT

README = (ROOT / "README.md").read_text()
USING = (ROOT / "docs" / "using.md").read_text()
MOST_BYTES, MOST_LINES = 8192, 10
LINE = re.compile(r"^ +(MPI4PY_LIBMPI=\S+ \S+mpiexec .*cg\.py)$", re.MULTILINE)

GHOSTS_ARRIVED = """
assert comm.size == 3 and len(needed) == 200
assert (x[1000:] == needed).all(), x[1000:]
print("right")
"""

C_BEFORE = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <vicinal/vicinal.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
"""
C_AFTER = """
  int wrong = size != 3 || count != 200;
  for (int64_t i = 0; i < count; ++i) wrong += x[1000 + i] != (double)needed[i];
  puts(wrong ? "wrong" : "right");
  free(x);
  free(needed);
  MPI_Finalize();
  return wrong != 0;
}
"""


def code_in_readme(language: str) -> str:
    """Returns the only block of README in that language."""
    [code] = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(code.splitlines()) <= MOST_LINES
    return str(code)


def test_readme_is_short() -> None:
    assert len(README.encode()) <= MOST_BYTES


def test_readme_names_the_two_commands_near_its_top() -> None:
    top = README[: len(README) // 4]
    targets = re.findall(r"^\$ make ([a-z-]+)", top, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    named = set(re.findall(r"\bmake ([a-z][a-z-]+)", README))
    assert named <= set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE)), named


def test_the_python_lines_run_as_they_stand(mpi: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(code_in_readme("python") + GHOSTS_ARRIVED)
    line = [sys.executable, "-m", "mpi4py", program]
    assert "`mpiexec -n 3 python -m mpi4py program.py`" in README
    result = run_ranks(mpi, 3, line, env={"PYTHONPATH": str(ROOT / "python"), "VICINAL_REGIONS": "blocks:2"})
    assert result.output.count("right") == 3, result.output


def test_the_c_lines_compile_and_run(mpi: str, tmp_path: Path) -> None:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(C_BEFORE + code_in_readme("c") + C_AFTER)
    library = BUILD / "lib" / f"libvicinal-{abi_of(mpi)}.so"
    line = [mpi_called(mpi).prefix / "bin" / "mpicc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", source,
            "-o", program, library, f"-Wl,-rpath,{library.parent}"]
    built = subprocess.run(list(map(str, line)), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    result = run_ranks(mpi, 3, [program], env={"VICINAL_REGIONS": "blocks:2"})
    assert result.output.count("right") == 3, result.output


@pytest.mark.parametrize(("name", "library"), [("mpich", "libmpi.so.12"), ("openmpi", "libmpi.so.40")])
def test_a_program_of_ones_own_runs_on_the_trees_mpi(name: str, library: str) -> None:
    [line] = LINE.findall(USING)
    assert "`.mpi/openmpi` and `libmpi.so.40`" in USING
    if not (ROOT / ".mpi" / name / "bin" / "mpiexec").exists() or not (ROOT / ".venv").exists():
        pytest.skip(f"needs .mpi/{name} and .venv")
    line = line.replace("mpich", name).replace("libmpi.so.12", library).replace("cg.py", "examples/halo.py")
    more = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MPI4PY", "VICINAL"))}
    result = run_command(["sh", "-c", line], {**inherited, **ROOT_CONSENT, **more}, 100)
    assert result.code == 0 and "alone" not in result.output, result.output
    assert result.output.count("|Ax|") == 1, result.output  # rank 0 alone prints it
