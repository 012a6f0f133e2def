"""A rank that is alone although its launcher started several says so, and what to do."""

from __future__ import annotations

import os
import sys

import pytest
from launching import BUILD, Result, abi_of, requested_mpis, run_command, run_ranks
from test_python_mpi import PATH
from vicinal_command.launch import find_mpi

pytestmark = pytest.mark.full

CODE = """
import vicinal
from mpi4py import MPI
for comm in (MPI.COMM_WORLD, MPI.COMM_WORLD, MPI.COMM_WORLD.Dup()):
    vicinal.Graph(comm, [], [])
"""
TOLD = ("PMI_SIZE", "PMI_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_STEP_NUM_TASKS",
        "SLURM_PROCID", "SLURM_NTASKS")
FOREIGN = {"openmpi": ("PMI_SIZE", "PMI_RANK", "libmpi.so.12"),
           "mpich": ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "libmpi.so.40")}


def alone(mpi: str, argv: list[str], **told: str) -> Result:
    """Runs a program without a launcher, with the variables that a launcher would set."""
    inherited = {name: value for name, value in os.environ.items() if name not in TOLD}
    return run_command(argv, {**inherited, **find_mpi(mpi).env, "PYTHONPATH": PATH, **told}, 60)


def python(mpi: str, **told: str) -> Result:
    return alone(mpi, [sys.executable, "-W", "ignore", "-c", CODE], **told)


def test_another_launchers_rank_says_so_once(mpi: str) -> None:
    size, rank, library = FOREIGN[abi_of(mpi)]
    result = python(mpi, **{size: "3", rank: "0"})
    assert result.code == 0 and result.output.count("vicinal:") == 1, result.output
    assert f"({size}=3), but is alone in MPI_COMM_WORLD" in result.output, result.output
    assert f"MPI4PY_LIBMPI=PREFIX/lib/{library}" in result.output, result.output
    assert python(mpi, **{size: "3", rank: "1"}).output == "", "rank 0 has said it"
    assert python(mpi, **{size: "1", rank: "0"}).output == ""


def test_programs_in_c_say_so(mpi: str) -> None:
    size, rank, _ = FOREIGN[abi_of(mpi)]
    result = alone(mpi, [str(BUILD / "c_tests" / f"exchange_{abi_of(mpi)}")], **{size: "2", rank: "0"})
    assert f"({size}=2), but is alone" in result.output, result.output


def test_steps_of_slurm_say_so_and_jobs_do_not(mpi: str) -> None:
    assert "(SLURM_STEP_NUM_TASKS=4)" in python(mpi, SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="0").output
    assert python(mpi, SLURM_STEP_NUM_TASKS="1", SLURM_PROCID="0").output == ""
    assert python(mpi, SLURM_NTASKS="4").output == ""


def test_who_is_not_alone_says_nothing(mpi: str) -> None:
    program = [sys.executable, "-c", CODE]
    for ranks in (1, 2):
        # A step of Slurm's in which the MPI's own launcher runs.
        around = {"PYTHONPATH": PATH, "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
        assert "alone" not in run_ranks(mpi, ranks, program, env=around).output


@pytest.mark.skipif(not {"mpich", "openmpi"} <= set(requested_mpis()), reason="needs MPICH and Open MPI")
def test_launcher_of_one_mpi_and_library_of_the_other() -> None:
    library = dict(find_mpi("openmpi").env)
    result = run_ranks("mpich", 3, [sys.executable, "-W", "ignore", "-c", CODE], env={**library, "PYTHONPATH": PATH})
    said = [line for line in result.output.splitlines() if line.startswith("vicinal:")]
    assert len(said) == 1 and "(PMI_SIZE=3), but is alone" in said[0] and "(Open MPI v5" in said[0], result.output
