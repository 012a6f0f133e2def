"""`make mutants`: puts bugs into a copy of the tree, one by one and reports which tests detect them.

A bug that no test detects survives, and needs a test. Not part of `make test`, since each bug costs
a build and its tests. There are two sources of bugs:

    python tools/mutants.py [--list] [--sound] [--jobs N] [--thorough] [NAME ...]
    python tools/mutants.py --change [BASE] [--files FILE ...] [--most N] [--tests TEST ...] [--jobs N] [--list]

The first takes them from tests/mutants/*.toml: plausible bugs in protocols and numbers. Each has a
name, a reason, a file, a text that occurs there once, its replacement, and the tests to detect it.

The second makes them itself (change_mutants.py), in the lines that the working tree adds or
modifies since the commit BASE (default HEAD). With --files it uses these files only, and without
--change all their lines. Mutants that do not compile are left out. The tests follow from the file
(TESTS_OF there) unless --tests gives them, and must pass without a mutant. A survivor may be
harmless: a larger reserve(), another text of a message. A person decides.

Tests are written as

    unit FILTER              the unit tests whose names contain FILTER (all without one)
    engine FILTER @ 2 4      the engine's, on 2 and then on 4 ranks of Open MPI (default: 2, 4 and 7)
    mpich FILTER @ 2         the engine's on MPICH, for bugs that only this MPI reveals
    hosts FILTER @ 4         the engine's on two hosts of network namespaces, half of the ranks on each (root only)
    fuzz FAMILY @ 3          ten seconds of the fuzzer
    program NAME WORD A=B @ 4  a program of tests/c with these arguments and variables, on MPICH
    preload NAME WORD A=B @ 4  one of tests/preload, with the preload library, on Open MPI;
                             VICINAL_DEVICE_DRIVER=double selects the simulated NVIDIA driver
    smpi @ 32                what `make smpi` does, on 32 ranks (needs SimGrid)
    pytest FILE WORD         tests of Python, from tests/

and run in that order until one fails. A test that hangs detects a bug, too.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tests"):
    sys.path.insert(0, str(folder))

import find_compiler  # noqa: E402
from launching import QUIET, run_command  # noqa: E402  (found through the path set above)
from vicinal_command.launch import command, find_mpi  # noqa: E402

BIN = Path(sys.executable).parent
MPI = "openmpi"
RANKS = (2, 4, 7)
OTHER_MPI = "mpich"
ENGINE = f"vicinal_engine_tests_{MPI}"
TARGETS = {
    "unit": "vicinal_unit_tests",
    "engine": ENGINE,
    OTHER_MPI: f"vicinal_engine_tests_{OTHER_MPI}",
    "hosts": ENGINE,
    "fuzz": f"vicinal_fuzz_{MPI}",
    "program": f"{{}}_{OTHER_MPI}",
    "preload": f"{{}}_preload_{MPI} vicinal_mpi vicinal_preload_{MPI} vicinal_driver_double_cuda",
    "smpi": "vicinal_smpi",
    "pytest": "vicinal_python",
}
SWITCHES = {"smpi": "-DVICINAL_SMPI=ON", "pytest": "-DVICINAL_PYTHON=ON"}
"""CMake options that enable these targets."""
NO_TESTS = 5
"""pytest's exit status if it finds no tests."""
PATIENCE, PATIENCE_WITH_ALL = 40.0, 400.0
"""Seconds after which a run counts as a hang; launching.py scales them.

The second number is for all cases of a program, and for files of Python tests.
"""


@dataclass(frozen=True)
class Test:
    """One program with its arguments, on this number of ranks (0: without a launcher)."""

    kind: str
    argument: str
    ranks: int

    @property
    def target(self) -> str:
        """The CMake target to build for it."""
        return TARGETS[self.kind].format(self.argument.partition(" ")[0])

    def __str__(self) -> str:
        words = [self.kind, *filter(None, [self.argument])]
        return " ".join(words) + (f" on {self.ranks} ranks" if self.ranks else "")


class NoSuchTest(Exception):
    """A mutant names tests that do not exist."""


@dataclass(frozen=True)
class Mutant:
    """A bug, and the tests that must detect it."""

    name: str
    why: str
    file: str
    old: str
    new: str
    tests: tuple[Test, ...]


def read_tests(lines: Sequence[str]) -> tuple[Test, ...]:
    tests = []
    for line in lines:
        words, _, ranks = line.partition("@")
        kind, _, argument = words.strip().partition(" ")
        if kind not in TARGETS:
            sys.exit(f"vicinal: a mutant names the tests {line!r}; give {', '.join(TARGETS)}")
        counts = [int(number) for number in ranks.split()] or list(RANKS)
        for count in [0] if kind in ("unit", "pytest") else counts:
            tests.append(Test(kind, argument.strip(), count))
    return tuple(sorted(tests, key=lambda test: list(TARGETS).index(test.kind)))


def read_mutants(names: Sequence[str]) -> list[Mutant]:
    """Returns all mutants of the lists, or those whose name contains one of the given names."""
    mutants = []
    for path in sorted((ROOT / "tests" / "mutants").glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutant"]:
            mutants.append(Mutant(tests=read_tests(entry.pop("tests")), **entry))
    doubles = {mutant.name for mutant in mutants if sum(other.name == mutant.name for other in mutants) > 1}
    if doubles:
        sys.exit(f"vicinal: two mutants are called {doubles.pop()}")
    return [mutant for mutant in mutants if not names or any(name in mutant.name for name in names)]


def make_mutants(base: str | None, files: Sequence[str], most: int, tests: Sequence[str]) -> list[Mutant]:
    """Makes at most `most` mutants, spread over the change since `base` in `files`.

    Without files, all changed files count; without `base`, all lines of the files.
    """
    import change_mutants  # needs requirements-dev.txt, unlike the mutants of tests/mutants

    wanted = [str(Path(file).resolve().relative_to(ROOT)) for file in files]
    changed = change_mutants.changed_lines(ROOT, base) if base else dict.fromkeys(wanted)
    mutants = []
    for file, lines in sorted(changed.items()):
        source = (ROOT / file).read_bytes() if not wanted or file in wanted else b""
        for edit in change_mutants.edits(source, Path(file).suffix, lines):
            name, new = f"{file}:{edit.line}: {edit.what}", edit.apply(source).decode()
            mutants.append(Mutant(name, "", file, source.decode(), new, read_tests(tests or change_mutants.tests_of(ROOT, file))))
    count = min(most, len(mutants))
    return [mutants[i * len(mutants) // count] for i in range(count)]


def places(mutant: Mutant, tree: Path) -> int:
    """Counts the occurrences of the mutant's text in its file; a mutant applies if there is one."""
    path = tree / mutant.file
    return path.read_text().count(mutant.old) if path.exists() else 0


class Copy:
    """A copy of the tree with its own build folder, kept from run to run."""

    def __init__(self, number: int) -> None:
        self.tree = ROOT / "build" / "mutants" / str(number)
        self.build = self.tree / "build" / "release"  # as in the original, for a compiler cache

    def refresh(self) -> None:
        """Copies changed files only, so that little is rebuilt; deletes removed files."""
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        wanted = {name for name in names if name and (ROOT / name).is_file()}
        for folder in ("src", "include", "tests", "cmake"):
            for path in (self.tree / folder).rglob("*"):
                if path.is_file() and str(path.relative_to(self.tree)) not in wanted:
                    path.unlink()
        for name in wanted:
            source, target = ROOT / name, self.tree / name
            if target.exists() and target.read_bytes() == source.read_bytes():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        if not (self.tree / ".mpi").exists():
            (self.tree / ".mpi").symlink_to(find_mpi(MPI).prefix.parent)
        if not (self.build / "build.ninja").exists():
            self.configure()

    def configure(self) -> None:
        compilers = find_compiler.find()
        words = [
            str(BIN / "cmake"), "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja", "--log-level=WARNING",
            f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release", "-DVICINAL_WERROR=ON",
            "-DVICINAL_PYTHON=OFF", "-DVICINAL_UNITY=OFF", f"-DVICINAL_MPI={MPI};{OTHER_MPI}",
        ]
        for mpi in (MPI, OTHER_MPI):
            words.append(f"-DVICINAL_MPI_PREFIX_{mpi}={self.tree / '.mpi' / find_mpi(mpi).prefix.name}")
        if shutil.which("ccache"):
            words += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_C_COMPILER_LAUNCHER=ccache",
                      "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]  # which a cache serves badly
        environment = {**os.environ, "CXX": compilers.cxx, "CC": compilers.c}
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)

    def make(self, test: Test) -> str:
        """Builds the test's program; returns "" or the compiler's output."""
        if test.kind in SWITCHES:
            switch = [str(BIN / "cmake"), SWITCHES[test.kind], str(self.build)]
            subprocess.run(switch, check=True, stdout=subprocess.DEVNULL)
        words = [str(BIN / "cmake"), "--build", str(self.build), "--parallel", "2", "--target", *test.target.split()]
        result = subprocess.run(words, capture_output=True, text=True)
        return "" if result.returncode == 0 else result.stdout[-3000:]

    def run(self, test: Test) -> str:
        """Runs a test; returns "" if it passes, otherwise the error in one line."""
        program = [str(self.build / "bin" / test.target)]
        given: dict[str, str] = {}
        if test.kind in ("program", "preload"):
            arguments = test.argument.split()[1:]
            given = dict(word.split("=", 1) for word in arguments if "=" in word)
            folder = self.build / ("c_tests" if test.kind == "program" else "preload")
            program = [str(folder / test.target.split()[0]), *(word for word in arguments if "=" not in word)]
            if test.kind == "preload":
                given["LD_PRELOAD"] = str(self.build / "lib" / "libvicinal_mpi.so")
                if given.get("VICINAL_DEVICE_DRIVER") == "double":
                    given["VICINAL_DEVICE_DRIVER"] = str(self.build / "lib" / "libvicinal_driver_double_cuda.so")
        elif test.kind == "fuzz":
            program += ["--seed", "1", "--seconds", "10", "--patience", "30"]
            program += ["--family", test.argument] if test.argument else []
        elif test.argument:
            program.append(test.argument)
        words, environment = program, {**os.environ}
        if test.kind == "pytest":
            files = [str(self.tree / "tests" / word) if word.endswith(".py") else word for word in test.argument.split()]
            words = [sys.executable, "-m", "pytest", "-x", "-c", str(self.tree / "pyproject.toml"), *files]
            given = {"VICINAL_BUILD_DIR": str(self.build), "VICINAL_TEST_MPI": MPI}
            # A cached module may be that of the previous mutant.
            given["PYTHONDONTWRITEBYTECODE"] = "1"
        elif test.kind == "smpi":
            words = [sys.executable, str(ROOT / "tools" / "confirm_library.py"), "--short", "--ranks", str(test.ranks),
                     "--build", str(self.build), "--no-install"]
        elif test.kind == "hosts":
            shape = ["--hosts", "2", "--ranks-per-host", str(test.ranks // 2)]
            words = [sys.executable, str(ROOT / "tools" / "hosts.py"), "run", *shape, "--", *program]
            environment["VICINAL_MPI"] = MPI
        elif test.ranks:
            mpi = find_mpi(OTHER_MPI if test.kind in (OTHER_MPI, "program") else MPI)
            words, environment = command(mpi, test.ranks, program)
        patience = PATIENCE_WITH_ALL if test.kind == "pytest" or not test.argument else PATIENCE
        try:
            result = run_command(["nice", *words], {**environment, **QUIET, **given}, patience)
        except AssertionError:
            return "a hang"
        if result.code == 0:
            return ""
        if "\n0 passed, 0 failed" in f"\n{result.output}" or (test.kind == "pytest" and result.code == NO_TESTS):
            raise NoSuchTest(str(test))
        failed = [line for line in result.output.splitlines() if "FAILED" in line]
        return failed[0] if failed else f"exit status {result.code}"


@dataclass
class Verdict:
    """The result for a mutant: caught, survived, or not tried because it does not build or is
    wrong."""

    mutant: Mutant
    caught: str = ""
    unbuilt: str = ""
    error: str = ""


def judge(mutant: Mutant, copy: Copy, tests: Sequence[Test]) -> Verdict:
    """Inserts the bug, builds and tests, and removes it again."""
    count = places(mutant, copy.tree)
    if count != 1:
        return Verdict(mutant, error=f"its text occurs {count} times in {mutant.file}, and must occur once")
    path = copy.tree / mutant.file
    sound = path.read_text()
    path.write_text(sound.replace(mutant.old, mutant.new))
    try:
        built = set()
        for test in tests:
            if test.target not in built:
                fault = copy.make(test)
                if fault:
                    return Verdict(mutant, unbuilt=fault)
                built.add(test.target)
            detected = copy.run(test)
            if detected:
                return Verdict(mutant, caught=f"{test}: {detected[:150]}")
        return Verdict(mutant)
    except NoSuchTest as missing:
        return Verdict(mutant, error=f"there is no test such as {missing}")
    finally:
        path.write_text(sound)


def check_sound(copy: Copy, mutants: Sequence[Mutant]) -> int:
    """Runs the tests of the mutants on the unchanged tree, where they must pass."""
    tests = sorted({test for mutant in mutants for test in mutant.tests}, key=str)
    failed = 0
    for test in {test.target: test for test in tests}.values():
        fault = copy.make(test)
        if fault:
            sys.exit(f"vicinal: the tree as it is does not build:\n{fault}")
    for test in tests:
        try:
            wrong = copy.run(test)
        except NoSuchTest:
            wrong = "there is none such"
        failed += bool(wrong)
        print(f"{test}: {wrong or 'passed'}", flush=True)
    return 1 if failed else 0


def work(number: int, tasks: queue.SimpleQueue[Mutant], thorough: bool, done: list[Verdict]) -> None:
    copy = Copy(number)
    copy.refresh()
    everything = read_tests(["unit", "engine", "fuzz"])
    while True:
        try:
            mutant = tasks.get_nowait()
        except queue.Empty:
            return
        begin = time.monotonic()
        tests = [*mutant.tests, *(everything if thorough else ())]
        verdict = judge(mutant, copy, tests)
        done.append(verdict)
        how = verdict.error or verdict.caught or ("does not build" if verdict.unbuilt else "SURVIVED")
        print(f"{mutant.name} ({time.monotonic() - begin:.0f} s): {how}", flush=True)


def try_mutants(mutants: Sequence[Mutant], jobs: int, thorough: bool) -> list[Verdict]:
    """Judges all mutants, `jobs` at a time."""
    tasks: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        tasks.put(mutant)
    done: list[Verdict] = []
    threads = [
        threading.Thread(target=work, args=(number, tasks, thorough, done)) for number in range(min(jobs, len(mutants)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


def main(arguments: argparse.Namespace) -> int:
    made = bool(arguments.change or arguments.files)
    if made:
        mutants = make_mutants(arguments.change, arguments.files, arguments.most, arguments.tests)
    else:
        mutants = read_mutants(arguments.names)
    if not mutants:
        none = "nothing of the change can be mutated" if made else "no mutant has such a name; see --list"
        sys.exit(f"vicinal: {none}")
    if arguments.list:
        for mutant in mutants:
            state = "" if places(mutant, ROOT) == 1 else "  (does not apply)"
            print(mutant.name if made else f"{mutant.name}: {mutant.file}{state}\n    {mutant.why}")
        return 0
    if arguments.sound or made:
        copy = Copy(0)
        copy.refresh()
        failed = check_sound(copy, mutants)
        if failed or arguments.sound:
            return failed
    done = try_mutants(mutants, arguments.jobs, arguments.thorough)
    unbuilt = [verdict for verdict in done if verdict.unbuilt]
    counted = [verdict for verdict in done if not (made and verdict.unbuilt)]
    caught = sum(bool(verdict.caught) for verdict in counted)
    print(f"\n{caught} of {len(counted)} mutants caught" + (f"; {len(unbuilt)} more do not compile" if made else ""))
    survivors = [verdict for verdict in done if not (verdict.caught or verdict.error or verdict.unbuilt)]
    errors = [verdict for verdict in done if verdict.error or (verdict.unbuilt and not made)]
    for what, verdicts in (("survived", survivors), ("could not be tried", errors)):
        for verdict in verdicts:
            print(f"{what}: {verdict.mutant.name}")
    return 0 if caught == len(counted) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="only mutants whose name contains this")
    parser.add_argument("--list", action="store_true", help="show them, and whether they still apply")
    parser.add_argument("--sound", action="store_true", help="run their tests on the tree as it is")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default 1; each has its own copy)")
    parser.add_argument("--thorough", action="store_true", help="then all tests, for those whose own detect nothing")
    parser.add_argument("--change", nargs="?", const="HEAD", metavar="BASE", help="make mutants in the change since BASE")
    parser.add_argument("--files", nargs="+", default=[], metavar="FILE", help="make mutants in these files")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="how many to make at most (default 20)")
    parser.add_argument("--tests", nargs="+", default=[], metavar="TEST", help="the tests that must detect those made")
    sys.exit(main(parser.parse_args()))
