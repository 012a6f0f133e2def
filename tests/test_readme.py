"""What README.md tells people to type, typed."""

from __future__ import annotations

import os
import re

import pytest
from launching import ROOT, run_command
from vicinal_command.launch import ROOT_CONSENT

README = (ROOT / "README.md").read_text()
LINE = re.compile(r"^ +(MPI4PY_LIBMPI=\S+ \S+mpiexec .*cg\.py)$", re.MULTILINE)


@pytest.mark.parametrize(("name", "library"), [("mpich", "libmpi.so.12"), ("openmpi", "libmpi.so.40")])
def test_a_program_of_ones_own_runs_on_the_trees_mpi(name: str, library: str) -> None:
    [line] = LINE.findall(README)
    assert "`.mpi/openmpi` and `libmpi.so.40`" in README
    if not (ROOT / ".mpi" / name / "bin" / "mpiexec").exists() or not (ROOT / ".venv").exists():
        pytest.skip(f"needs .mpi/{name} and .venv")
    line = line.replace("mpich", name).replace("libmpi.so.12", library).replace("cg.py", "examples/halo.py")
    more = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MPI4PY", "VICINAL"))}
    result = run_command(["sh", "-c", line], {**inherited, **ROOT_CONSENT, **more}, 100)
    assert result.code == 0 and "alone" not in result.output, result.output
    assert result.output.count("|Ax|") == 1, result.output  # rank 0 alone prints it
