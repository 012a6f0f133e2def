"""`make integration`: runs programs of other projects, with and without the preload library.

    python tools/integration.py [mpi4py] [dolfinx] [petsc] [fortran] [standard-abi] [--short] [--no-install]

mpi4py    mpi4py's own tests of neighborhood collectives, topologies, requests and persistent operations, on
          MPICH and Open MPI: a test that passes without the library must pass with it
dolfinx   Poisson's equation, and ghosts that must equal their owners' values (tests/integration/poisson.py)
petsc     the residuals of a Krylov solver with `-sf_type neighbor`, to the last bit (krylov.py)
fortran   mpif.h, `use mpi` and `use mpi_f08`, with C that completes their requests (neighbors.F90, complete.c)
standard-abi  programs for the MPI standard's own ABI: Python's cases with an mpi4py for that ABI, and programs
          on Intel's library for it (integration_abi.py)

All parts but the last use regions of two ranks, since communicators on one host would be left to
MPI. Their log must show plans. Missing files are fetched from PyPI to build/integration, and root
installs missing packages with apt-get. A part that still lacks something is reported as not run,
which counts as a failure.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import integration_abi
from integration_runs import (
    SOURCES,
    SYSTEM_PYTHON,
    WORK,
    Needs,
    NotRunError,
    Part,
    Ran,
    debian_mpi,
    last_words,
    mpi4py_source,
    petsc_folder,
    run,
    take_libraries,
)
from launching import run_command
from vicinal_command.launch import LauncherError, Mpi, find_mpi

MODULES = re.compile(r"test_(cco_ngh_\w+|cco_pr_\w+|comm_topo|request|p2p_buf|p2p_buf_part)\.py")
NEIGHBORS = re.compile(r"test_cco_(pr_)?ngh_")
TEST = re.compile(r"^(?:ok|FAIL|ERROR)?(\w+) \(([\w.]+)\)", re.MULTILINE)
VERDICT = re.compile(r"\b(ok|FAIL|ERROR|skipped|expected failure)\b")
NORM = re.compile(r"^norm (\S+) wrong (\d+)$", re.MULTILINE)
RESIDUALS = re.compile(r"^0x1\..*$", re.MULTILINE)
# The norm is only as accurate as the residual tolerance of the solver.
TOLERANCE = 1e-10


# ---- mpi4py ---------------------------------------------------------------------------------------


def verdicts(logs: Path) -> dict[str, str]:
    """Returns the worst result of each test over all ranks; "began" if a rank reports no result."""
    order = ["ok", "skipped", "expected failure", "began", "FAIL", "ERROR"]
    found: dict[str, str] = {}
    for log in logs.glob("*.log"):
        # the rest repeats failed tests
        text = log.read_text(errors="replace").split("\n======", 1)[0]
        starts = [*TEST.finditer(text)]
        for start, following in zip(starts, [*starts[1:], None], strict=False):
            said = VERDICT.search(text, start.end(), following.start() if following else len(text))
            verdict = said.group(1) if said else "began"
            before = found.get(start.group(2), "ok")
            found[start.group(2)] = max(before, verdict, key=order.index)
    return found


def run_module(mpi: Mpi, ranks: int, module: Path, preload: Path | None) -> tuple[Ran, dict[str, str]]:
    """Runs a test module; each rank writes its report to a separate file, because one stream would
    mix them."""
    logs = WORK / "ranks"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    script = 'exec "$@" 2>"$RANK_LOGS/$$.log"'
    argv = ["sh", "-c", script, "sh", sys.executable, module.parent / "main.py", "-v", "-i", rf"^{module.name}$"]
    done = run(mpi, ranks, argv, preload, 100, {"RANK_LOGS": str(logs)})
    return done, verdicts(logs)


def mpi4py(part: Part, needs: Needs, preload: Path) -> None:
    folder = mpi4py_source(needs) / "test"
    modules = sorted(path for path in folder.glob("test_*.py") if MODULES.fullmatch(path.name))
    for name in os.environ.get("VICINAL_TEST_MPI", "openmpi,mpich").split(","):
        try:
            mpi = find_mpi(name)
        except LauncherError as fault:
            part.not_run.append(f"{name}: {fault}")
            continue
        for ranks in (1, 2, 4, 5):
            plans = 0
            for module in modules:
                alone, before = run_module(mpi, ranks, module, None)
                ours, after = run_module(mpi, ranks, module, preload)
                plans += ours.plans
                run_name = f"{name}, {ranks} ranks, {module.stem}"
                good = {"ok", "skipped", "expected failure"}
                bad_alone = sorted(test for test, verdict in before.items() if verdict not in good)
                faults = [
                    f"{test} {after.get(test, 'did not begin')}, alone {verdict}"
                    for test, verdict in sorted(before.items()) if verdict in good and after.get(test) != verdict
                ]
                if ours.code != 0 and alone.code == 0:
                    faults.insert(0, f"it {ours.ended}: {last_words(ours.output)}")
                if not before:
                    faults.append(f"alone it {alone.ended} before any test: {last_words(alone.output)}")
                part.notes += [f"{run_name}: {test} {before[test]} also alone" for test in bad_alone]
                part.report(run_name, faults, f"{len(before)} tests, {len(bad_alone)} fail alone, {ours.plans} plans")
            if ranks >= 4 and plans == 0:
                part.report(f"{name}, {ranks} ranks", ["no plan was made"], "all modules")


# ---- DOLFINx and PETSc ----------------------------------------------------------------------------


def dolfinx(part: Part, needs: Needs, preload: Path) -> None:
    needs.packages("python3-dolfinx", "openmpi-bin")
    mpi = debian_mpi("openmpi")

    def solve(ranks: int, division: list[str], before: Path | None) -> tuple[float | None, Ran, list[str]]:
        done = run(mpi, ranks, [SYSTEM_PYTHON, SOURCES / "poisson.py", *division], before, 120, petsc_folder())
        said = NORM.search(done.output)
        if done.code != 0 or said is None:
            return None, done, [f"it {done.ended}: {last_words(done.output)}"]
        wrong = int(said.group(2))
        return float(said.group(1)), done, [f"{wrong} ghosts are not their owners' values"] if wrong else []

    for ranks, division in (4, []), (8, []), (8, ["--dealt"]):
        name = " ".join([f"{ranks} ranks", *division])
        norms = []
        for _ in range(3):
            norm, _, faults = solve(ranks, division, None)
            if norm is None or faults:
                part.report(name, [f"alone: {fault}" for fault in faults], "without the library")
            else:
                norms.append(norm)
        if not norms:
            continue
        # The partition of the mesh, and with it the last digits, differ from run to run.
        middle = sorted(norms)[len(norms) // 2]
        spread = (max(norms) - min(norms)) / middle
        for turn in range(2):
            norm, done, faults = solve(ranks, division, preload)
            away = abs(norm - middle) / middle if norm is not None else 0
            if away > max(spread, TOLERANCE):
                faults.append(f"the norm is {norm!r}, alone {middle!r}")
            if norm is not None and done.plans == 0:
                faults.append("no plan was made")
            figures = f"norm {norm!r}, {away:.1e} from those alone, which differ by {spread:.1e}; {done.plans} plans"
            part.report(f"{name}, run {turn + 1}", faults, figures)


def petsc(part: Part, needs: Needs, preload: Path) -> None:
    needs.packages("python3-petsc4py", "openmpi-bin")
    mpi = debian_mpi("openmpi")
    ranks = 18
    histories: list[list[str]] = []
    for before in (None, preload) if part.short else (None, None, preload, preload):
        done = run(mpi, ranks, [SYSTEM_PYTHON, SOURCES / "krylov.py"], before, 120, petsc_folder())
        said = RESIDUALS.search(done.output)
        faults = []
        if done.code != 0 or said is None:
            faults.append(f"it {done.ended}: {last_words(done.output)}")
        else:
            histories.append(said.group().split())
            if histories[-1] != histories[0]:
                faults.append("the residuals are not those of the first run")
            if before is not None and done.plans == 0:
                faults.append("no plan was made")
        name = f"{ranks} ranks, {'with' if before is not None else 'without'} the library"
        part.report(name, faults, f"{0 if faults else len(histories[-1])} residuals, {done.plans} plans")


# ---- Fortran --------------------------------------------------------------------------------------

BINDINGS = {"mpif.h": "MPIF", "mpi": "MPI", "mpi_f08": "MPI_F08"}
# The MPIs' names of MPI_Neighbor_alltoallv_init, if they have it; Open MPI 4 only without a module.
OPENMPI = {"mpif.h": ["-DINIT=MPIX_Neighbor_alltoallv_init"]}
INIT = "-DINIT=MPI_Neighbor_alltoallv_init"
MPICH = {"mpif.h": [INIT], "mpi": [INIT], "mpi_f08": [INIT, "-DALLTOALLW_FAILS_ON_GRIDS"]}


def build_fortran(name: str, binding: str, given: Sequence[str]) -> Path:
    folder = WORK / "fortran"
    folder.mkdir(exist_ok=True)
    of_c, program = folder / f"complete-{name}.o", folder / f"neighbors-{name}-{binding}"
    options = ["-O2", "-fallow-argument-mismatch", "-ffree-line-length-none", f"-D{BINDINGS[binding]}", *given]
    for line in (
        [f"mpicc.{name}", "-O2", "-w", "-c", SOURCES / "complete.c", "-o", of_c],
        [f"mpif90.{name}", *options, SOURCES / "neighbors.F90", of_c, "-o", program],
    ):
        words = [str(word) for word in line]
        done = run_command(words, os.environ, timeout=120)
        if done.code != 0:
            raise NotRunError(f"`{' '.join(words)}` failed: {last_words(done.output)}")
    return program


def fortran(part: Part, needs: Needs, preload: Path) -> None:
    packages = {"openmpi": ("libopenmpi-dev", "openmpi-bin"), "mpich": ("libmpich-dev", "mpich")}
    for name, extras in (("openmpi", OPENMPI), ("mpich", MPICH)):
        for binding in BINDINGS:
            try:
                needs.packages("gfortran", *packages[name])
                mpi = debian_mpi(name)
                program = build_fortran(name, binding, extras.get(binding, []))
            except NotRunError as why:
                part.not_run.append(f"{name}, {binding}: {why}")
                continue
            for ranks in (4,) if part.short else (1, 2, 4, 5):
                alone = run(mpi, ranks, [program], None, 30)
                ours = run(mpi, ranks, [program], preload, 30)
                faults = []
                for what, done in (("alone it ", alone), ("it ", ours)):
                    if done.code != 0 or "right" not in done.output.split():
                        faults.append(f"{what}{done.ended}: {last_words(done.output)}")
                if not faults and ranks >= 4 and ours.plans == 0:
                    faults.append("no plan was made")
                part.report(f"{name}, {binding}, {ranks} ranks", faults, f"{ours.plans} plans")


PARTS: dict[str, Callable[[Part, Needs, Path], None]] = {
    "mpi4py": mpi4py, "dolfinx": dolfinx, "petsc": petsc, "fortran": fortran, "standard-abi": integration_abi.standard_abi,
}
SHORT = ("petsc", "fortran")


def main(given: argparse.Namespace) -> int:
    WORK.mkdir(parents=True, exist_ok=True)
    preload = take_libraries()
    needs = Needs(not given.no_install)
    parts = [Part(name, given.short) for name in PARTS if name in (given.parts or (SHORT if given.short else PARTS))]
    for part in parts:
        begun = time.monotonic()
        try:
            PARTS[part.name](part, needs, preload)
        except (NotRunError, LauncherError) as why:
            part.not_run.append(str(why))
        part.seconds = time.monotonic() - begun
    print()
    for part in parts:
        ran = part.passed or part.failures
        state = f"{part.passed} passed, {len(part.failures)} failed" if ran else "nothing was run"
        print(f"{part.name:13}{state}{', some not run' if part.not_run else ''}, {part.seconds:.0f} s")
        for line in (*part.notes, *part.failures, *(f"not run: {why}" for why in part.not_run)):
            print(f"{'':13}{line}")
    return int(any(part.failures or part.not_run for part in parts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which (default: {', '.join(PARTS)})")
    parser.add_argument("--short", action="store_true", help=f"some minutes' worth: {', '.join(SHORT)}, in part")
    parser.add_argument("--no-install", action="store_true", help="use what is there, fetch nothing")
    options = parser.parse_args()
    for unknown in set(options.parts) - set(PARTS):
        parser.error(f"there is no part {unknown!r}: choose from {', '.join(PARTS)}")
    try:
        sys.exit(main(options))
    except NotRunError as missing:
        sys.exit(f"vicinal: {missing}")
