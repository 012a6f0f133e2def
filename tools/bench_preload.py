"""Measures the gain and the cost of the preload library for unmodified programs.

    python tools/bench_preload.py [--hosts 4 --ranks-per-host 8] [--rounds 3]
        [--pattern random,stencil,tiny,gather,calls,petsc,dolfinx,dolfinx-dealt]

Runs a program without the library, with it, and without it again (the control), --rounds times. The
ranks run on isolated hosts (tools/hosts.py, root only), or with --hosts 0 on this machine. For each
timed operation, prints the minimum and the median of all batches, and the ratios of medians of
neighboring runs.

The patterns random, stencil, tiny, gather and calls are those of bench/preload/unmodified.c. The
others are solvers (tests/integration) on Debian's packages and its Open MPI, which `make
integration` installs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from integration_runs import ENVIRONMENT, SOURCES, SYSTEM_PYTHON, petsc_folder  # noqa: E402  (next to this file)
from vicinal_command.launch import command, find_mpi  # noqa: E402

BUILD = ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")
SOLVERS = {"petsc": ["krylov.py"], "dolfinx": ["poisson.py"], "dolfinx-dealt": ["poisson.py", "--dealt"]}
PATIENCE = 180  # seconds for a program
ATTEMPTS = 6
Times = dict[str, list[float]]


def started(line: list[str], environment: dict[str, str]) -> str | None:
    """Returns the program's output, or None if it crashes or hangs."""
    try:
        answer = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    if answer.returncode != 0:
        print(answer.stdout[-2000:], answer.stderr[-2000:], file=sys.stderr)
        return None
    return answer.stdout


def run(options: argparse.Namespace, pattern: str, preloaded: bool) -> Times:
    """Returns the seconds per call of each batch, by operation."""
    if pattern in SOLVERS:
        mpi = find_mpi("/usr")
        if mpi.abi != "openmpi":
            raise SystemExit("the packages for DOLFINx and PETSc are of Open MPI, but /usr/bin/mpiexec is another's")
        solver, *its_options = SOLVERS[pattern]
        program = [str(SYSTEM_PYTHON), str(SOURCES / solver), *its_options, "--time"]
    else:
        mpi = find_mpi(options.mpi)
        program = [str(BUILD / "bench" / f"unmodified_{mpi.abi}"), pattern]
    if preloaded:
        program = ["env", f"LD_PRELOAD={BUILD / 'lib' / 'libvicinal_mpi.so'}", *program]
    environment = {**os.environ, **ENVIRONMENT, **petsc_folder(), "VICINAL_MPI": str(mpi.prefix)}
    if options.hosts:
        hosts = ["--hosts", str(options.hosts), "--ranks-per-host", str(options.ranks_per_host)]
        line = [sys.executable, str(ROOT / "tools" / "hosts.py"), "run", *hosts, "--", *program]
    else:
        line, environment = command(mpi, options.ranks_per_host, program)
    # PT-Scotch of Debian 12, with which DOLFINx divides its mesh, sometimes crashes or hangs with
    # 32 ranks.
    for left in reversed(range(ATTEMPTS if pattern == "dolfinx" else 1)):
        answer = started(line, environment)
        if answer is not None:
            break
        print(f"{pattern}: it crashed or hung; {left} more attempts", flush=True)
    else:
        raise SystemExit(f"{' '.join(line)} failed")
    times: Times = {}
    for words in map(str.split, answer.splitlines()):
        if len(words) > 2 and words[1].isdigit():
            times[words[0]] = [float(word) for word in words[2:]]
    return times


def main() -> int:
    """Runs all patterns and prints a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--ranks-per-host", type=int, default=8)
    parser.add_argument("--pattern", default="random")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", default="openmpi")
    options = parser.parse_args()
    for pattern in options.pattern.split(","):
        without: list[Times] = [run(options, pattern, False)]
        preloaded: list[Times] = []
        for _ in range(options.rounds):
            preloaded.append(run(options, pattern, True))
            without.append(run(options, pattern, False))
        print(f"{pattern}, {options.hosts or 1} hosts, {options.ranks_per_host} ranks each: us per call")
        print(f"{'':18}{'MPI min':>10}{'median':>10}{'vicinal min':>13}{'median':>10}{'ratio':>8}  control")
        for name in without[0]:
            own = [time for each in without for time in each[name]]
            ours = [time for each in preloaded for time in each[name]]
            medians = [statistics.median(each[name]) for each in without]
            ratios = [
                2 * statistics.median(each[name]) / (medians[i] + medians[i + 1]) for i, each in enumerate(preloaded)
            ]
            control = [after / before for before, after in zip(medians, medians[1:], strict=False)]
            print(
                f"{name:18}{min(own) * 1e6:10.3f}{statistics.median(own) * 1e6:10.3f}{min(ours) * 1e6:13.3f}"
                f"{statistics.median(ours) * 1e6:10.3f}{statistics.median(ratios):8.3f}"
                f"  {min(control):.2f} to {max(control):.2f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
