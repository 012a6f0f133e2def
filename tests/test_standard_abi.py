"""vicinal for the MPI standard's ABI, with MPICH's library for it, and combinations of ABIs that do
not fit."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from counting import Totals, check_cases, check_program
from launching import BUILD, ROOT, run_ranks
from test_cpp import C_TESTS, EXAMPLES
from vicinal._load import abi_of
from vicinal_command.launch import LauncherError, find_mpi

pytestmark = pytest.mark.full

LIBRARY = BUILD / "lib" / "libvicinal-abi.so"
needs_library = pytest.mark.skipif(
    not LIBRARY.exists(), reason="no MPI of the standard ABI was there when vicinal was built"
)


@needs_library
@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.alone)])
def test_engine(ranks: int, totals: Totals) -> None:
    result = run_ranks("abi", ranks, [BUILD / "bin" / "vicinal_engine_tests_abi"], timeout=280, check=False)
    check_cases(result, "vicinal_engine_tests_abi", totals)


@needs_library
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("program", [*C_TESTS, *EXAMPLES])
def test_program(program: str, ranks: int, totals: Totals) -> None:
    folder = "examples" if program in EXAMPLES else "c_tests"
    name = f"{program}_abi"
    check_program(run_ranks("abi", ranks, [BUILD / folder / name], check=False), name, totals)


@needs_library
@pytest.mark.parametrize(("linked", "runs_on"), [("abi", "mpich"), ("mpich", "abi"), ("openmpi", "mpich")])
def test_a_library_of_another_abi_says_so_in_one_line(linked: str, runs_on: str, tmp_path: Path) -> None:
    """The program has the header and library of one MPI, but vicinal for another."""
    if not (BUILD / "lib" / f"libvicinal-{linked}.so").exists():
        pytest.skip(f"vicinal was not built for {linked}")
    mpi = find_mpi(runs_on)
    definitions = ["-DMPI_ABI"] if runs_on == "abi" else []
    folders = [f"-I{ROOT / 'include'}", f"-I{mpi.prefix / 'include'}"]
    libraries = [str(BUILD / "lib" / f"libvicinal-{linked}.so"), mpi.env["MPI4PY_LIBMPI"]]
    paths = [f"-Wl,-rpath,{BUILD / 'lib'}", f"-Wl,-rpath,{mpi.prefix / 'lib'}"]
    program = tmp_path / "halo"
    source = ROOT / "examples" / "halo.c"
    line = ["cc", *definitions, *folders, str(source), "-o", str(program), *libraries, *paths, "-lm"]
    subprocess.run(line, check=True, capture_output=True, text=True)
    result = run_ranks(runs_on, 1, [program], check=False)
    assert result.code != 0
    [said] = [text for text in result.output.splitlines() if "vicinal" in text]
    assert f"link it with vicinal-{runs_on} in the place of vicinal-{linked}" in said, result.output


def mpi4py_module(file: str, vendor: str, version: tuple[int, int] | None) -> SimpleNamespace:
    """Returns a fake mpi4py module; before version 4.1 it does not know its ABI."""
    module = SimpleNamespace(__file__=file, get_vendor=lambda: (vendor, (5, 0, 2)))
    if version is not None:
        module.Get_abi_version = lambda: version
    return module


@pytest.mark.parametrize(
    ("file", "vendor", "version", "expected"),
    [
        ("MPI.mpich.cpython-311-x86_64-linux-gnu.so", "MPICH", (-1, -1), "mpich"),
        ("MPI.openmpi.cpython-311-x86_64-linux-gnu.so", "Open MPI", (-1, -1), "openmpi"),
        ("MPI.mpiabi.abi3.so", "MPICH", (1, 0), "abi"),
        ("MPI.cpython-311-x86_64-linux-gnu.so", "MPICH", (1, 0), "abi"),
        ("MPI.cpython-311-x86_64-linux-gnu.so", "MPICH", (-1, -1), "mpich"),
        ("MPI.cpython-311-x86_64-linux-gnu.so", "Intel MPI", None, "mpich"),
        ("MPI.cpython-311-x86_64-linux-gnu.so", "MadMPI", None, "MadMPI"),
    ],
)
def test_python_goes_by_the_abi_that_mpi4py_was_built_for(
    file: str, vendor: str, version: tuple[int, int] | None, expected: str
) -> None:
    assert abi_of(mpi4py_module(file, vendor, version)) == expected  # type: ignore[arg-type]


def test_an_mpi_without_the_standard_abi_is_not_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "bin" / "mpiexec"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\necho HYDRA build details\n")
    launcher.chmod(0o755)
    monkeypatch.setattr("vicinal_command.launch._own_prefixes", lambda names: [])
    monkeypatch.setenv("PATH", str(launcher.parent))
    with pytest.raises(LauncherError, match=r"no MPI with libmpi_abi\.so\.1"):
        find_mpi("abi")
    library = tmp_path / "lib" / "libmpi_abi.so.1"
    library.parent.mkdir()
    library.touch()
    found = find_mpi("abi")
    assert (found.abi, found.kind, found.env["MPI4PY_LIBMPI"]) == ("abi", "hydra", str(library))
