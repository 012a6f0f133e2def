"""`make check-clang`: checks all sources, tests included, with clang; warnings are errors.

Clang also checks what other compilers cannot: members that a lock guards (src/base/guarded.hpp) are
accessed only while it is held. Nothing is built. The build folder provides each source's compiler
options, and each source is read once. The library's sources are read one by one, which detects a
missing #include; the tests are read eight at a time. With --together the sources of each library
folder are read together, as they are built, in a quarter of the time.

    python tools/check_clang.py [--build FOLDER] [--together]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("clang++", *(f"clang++-{version}" for version in range(21, 15, -1)))
OLDEST = 16  # the oldest whose coroutines work with GCC's standard library
REMEDY = "install clang 16 or newer (Debian, Ubuntu: apt install clang-16)"
CLANGS_OWN = ("-fsyntax-only", "-Wthread-safety", "-Wno-sign-conversion")  # as in CMakeLists.txt
COMMON = ("memory", "sstream", "stdexcept", "string", "vector")
"""Headers that nearly all sources read, if only through src/base/error.hpp.

Reading them once saves a third of the time. A source that uses one without including it is not
detected.
"""

WITH_NAMESPACES = ("tests/cpp", "tests/fuzz")
AT_ONCE = 8


def find_clang() -> str | None:
    """Returns a clang that is new enough, or None."""
    for name in NAMES:
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "-dumpversion"], capture_output=True, text=True, check=False).stdout
        if version and int(version.split(".")[0]) >= OLDEST:
            return path
    return None


def arguments_of(command: str) -> tuple[str, ...]:
    """Returns the arguments of a compilation, without the compiler, its inputs and its outputs."""
    words = iter(shlex.split(command))
    for word in words:
        if word.endswith(("++", "cc", "clang", "cxx")) or "++-" in word or "gcc-" in word:
            break
    kept = []
    for word in words:
        if word in ("-o", "-MF", "-MT", "-c"):
            next(words)
        elif word != "-MD":
            kept.append(word)
    return tuple(kept)


class Unit(NamedTuple):
    """Sources that are read together, and their arguments."""

    source: Path
    arguments: tuple[str, ...]


def units(commands: Mapping[Path, tuple[str, ...]], scratch: Path, folders_together: bool) -> list[Unit]:
    """Groups the sources: C++ tests, which have a namespace each, and on request the library's
    folders."""
    found = []
    together: dict[tuple[int, tuple[str, ...], Path | None], list[Path]] = defaultdict(list)
    for source, arguments in commands.items():
        if source.suffix == ".cpp" and any(source.is_relative_to(ROOT / folder) for folder in WITH_NAMESPACES):
            together[AT_ONCE, arguments, None].append(source)
        elif source.suffix == ".cpp" and folders_together and source.is_relative_to(ROOT / "src"):
            together[len(commands), arguments, source.parent].append(source)
        else:
            found.append(Unit(source, arguments))
    for (at_once, arguments, _), sources in together.items():
        for first in range(0, len(sources), at_once):
            part = sources[first:first + at_once]
            unit = scratch / f"{len(found)}.cpp"
            unit.write_text("".join(f'#include "{source}"\n' for source in part))
            found.append(Unit(unit, arguments))
    return found


class Precompiled:
    """The common headers, precompiled for each set of options of C++ sources."""

    def __init__(self, clang: str, folder: Path) -> None:
        self._clang, self._folder = clang, folder
        self._source = folder / "common.hpp"
        self._source.write_text("".join(f"#include <{name}>\n" for name in COMMON))
        self._made: dict[tuple[str, ...], Path] = {}
        self._lock = Lock()

    def arguments(self, words: Sequence[str]) -> list[str]:
        """Returns the arguments with which a compilation uses the precompiled headers."""
        options = tuple(word for word in words if word.startswith(("-std", "-f", "-m", "-O", "-pthread")))
        with self._lock:
            if options not in self._made:
                made = self._folder / f"{len(self._made)}.pch"
                subprocess.run([self._clang, *options, "-x", "c++-header", self._source, "-o", made], check=True)
                self._made[options] = made
        return ["-include-pch", str(self._made[options])]


def main(build: Path, scratch: Path, folders_together: bool) -> int:
    clang = find_clang()
    if clang is None:
        print(f"vicinal: there is no clang that is new enough: {REMEDY}", file=sys.stderr)
        return 2
    commands = {
        Path(entry["file"]): arguments_of(entry["command"])
        for entry in json.loads((build / "compile_commands.json").read_text())
        if Path(entry["file"]).is_relative_to(ROOT) and not Path(entry["file"]).is_relative_to(ROOT / ".venv")
    }

    precompiled = Precompiled(clang, scratch)

    def read(unit: Unit) -> str:
        if unit.source.suffix == ".c":
            words = [clang.replace("clang++", "clang"), *unit.arguments, *CLANGS_OWN]
        else:
            words = [clang, *precompiled.arguments(unit.arguments), *unit.arguments, *CLANGS_OWN]
        done = subprocess.run([*words, unit.source], cwd=build, capture_output=True, text=True, check=False)
        return done.stderr or ("" if done.returncode == 0 else f"{unit.source}: {clang} failed\n")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(read, units(commands, scratch, folders_together)) if text]
    print("".join(found), end="")
    print(f"clang: {len(commands)} sources, {len(found)} with warnings")
    return 1 if found or not commands else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "separate", help="a build folder of that preset")
    parser.add_argument("--together", action="store_true", help="read each folder of the library at once")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vicinal-clang-") as folder:
        sys.exit(main(given.build, Path(folder), given.together))
