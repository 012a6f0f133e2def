"""The part of `make integration` for programs that were built for the MPI standard's own ABI
(libmpi_abi.so.1).

Python: mpi4py's wheels have no module for that ABI. One is built from source with MPICH's
mpicc_abi, and the cases of tests/mpi run with it. Programs: files built with MPICH's header run on
Intel's library. There MPI_ERRORS_RETURN has another value than in the header, so programs that use
that name are left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import get_mpi
from integration_runs import BUILD, ROOT, WORK, Needs, NotRunError, Part, Ran, last_words, mpi4py_source, run
from launching import run_command
from vicinal_command.launch import Mpi, find_mpi

INTEL = "impi-rt"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))


def mpi4py_of_the_abi(needs: Needs, mpi: Mpi) -> Path:
    """Returns the folder of an mpi4py that was built for the ABI."""
    site = WORK / "mpi4py-abi"
    if (site / "mpi4py").exists():
        return site
    source = mpi4py_source(needs)
    print("vicinal: building mpi4py for the standard ABI", flush=True)
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(source)]
    # Fast to build, because nothing is timed here.
    environment = {**os.environ, "MPI4PY_BUILD_MPICC": str(mpi.prefix / "bin" / "mpicc_abi"), "CFLAGS": "-O0"}
    done = run_command(line, environment, timeout=200)
    if done.code != 0:
        raise NotRunError(f"`{' '.join(line)}` failed: {last_words(done.output)}")
    return site


def intel_mpi(needs: Needs) -> Mpi:
    """Returns Intel's MPI, unpacked."""
    prefix = WORK / INTEL
    if not (prefix / get_mpi.STAMP).exists() and not needs.may_install:
        raise NotRunError(f"{INTEL} is missing in {prefix}")
    get_mpi.install(INTEL, prefix)
    fabrics = prefix / "opt" / "mpi" / "libfabric" / "lib"
    return Mpi("abi", prefix / "bin" / "mpiexec", "hydra", {
        "I_MPI_ROOT": str(prefix), "FI_PROVIDER_PATH": str(fabrics / "prov"),
        "LD_LIBRARY_PATH": f"{prefix / 'lib'}:{fabrics}",
    })


def names_errors_return(path: Path) -> bool:
    return "MPI_ERRORS_RETURN" in path.read_text()


def standard_abi(part: Part, needs: Needs, preload: Path) -> None:
    if not (BUILD / "lib" / "libvicinal-abi.so").exists():
        raise NotRunError("no MPI of the standard ABI was there when vicinal was built")
    mpich = find_mpi("abi")
    paths = (mpi4py_of_the_abi(needs, mpich), ROOT / "python", ROOT / "tests" / "mpi")
    python = [sys.executable, ROOT / "tests" / "mpi" / "run_cases.py"]

    def report(name: str, done: Ran, expected: str) -> None:
        good = done.code == 0 and expected in done.output
        faults = [] if good else [f"it {done.ended}: {last_words(done.output)}"]
        lines = done.output.splitlines()
        part.report(name, faults, f"{lines[-1] if good and lines else 'nothing'}; {done.plans} plans")

    for ranks in (4,) if part.short else (1, 2, 4):
        more = {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        report(f"Python's cases, {ranks} ranks", run(mpich, ranks, python, None, 250, more), " 0 failed")

    intel = intel_mpi(needs)
    for example in EXAMPLES:
        for ranks in (4,) if part.short else (1, 4):
            program = BUILD / "examples" / f"{example}_abi"
            report(f"{example} on Intel's, {ranks} ranks", run(intel, ranks, [program], None, 60), "")
    # In a single region, which has nothing to gain, the library still works around defects of
    # Intel's MPI.
    program = BUILD / "preload" / "topologies_preload_abi"
    more = {"VICINAL_REGIONS": "node", "WITH_VICINAL": "1"}
    report("topologies in one region on Intel's, 2 ranks", run(intel, 2, [program], preload, 120, more), "right")
    for source in sorted((ROOT / "tests" / "preload").glob("*.c*")):
        if names_errors_return(source):
            continue
        program = BUILD / "preload" / f"{source.stem}_preload_abi"
        more = {"VICINAL_STRATEGY": "aggregate", "WITH_VICINAL": "1"}
        done = run(intel, 3, [program], preload, 120, more)
        report(f"{source.stem} with the preload library on Intel's, 3 ranks", done, "right")
        if done.plans == 0:
            part.report(f"{source.stem} on Intel's", ["no plan was made"], "3 ranks")
