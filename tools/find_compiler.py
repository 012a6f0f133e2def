"""Finds a C++20 compiler, and a matching C compiler, by compiling with them.

Version numbers are unreliable (an old library under a new compiler, a wrapper without headers). The
only meaningful test is a small file that uses the features that vicinal uses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

CPP = """
#include <concepts>
#include <coroutine>
#include <span>
template <std::integral T> T twice(T x) { return x + x; }
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};
Task task() { co_return; }
int main() { int x = 0; task(); return twice(std::span<int>(&x, 1)[0]); }
"""
C = "#include <stddef.h>\nint main(void) { return 0; }\n"
REMEDY = "install g++ 12 or newer, or clang 16 or newer (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++)"
VERSIONS = [str(version) for version in range(20, 10, -1)]


class Compilers(NamedTuple):
    cxx: str
    c: str


def compiles(command: str, source: str, suffix: str, flags: list[str]) -> bool:
    """Returns whether `command` compiles `source` to a program."""
    words = command.split()
    if not words or not shutil.which(words[0]):
        return False
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "check" + suffix)
        file.write_text(source)
        result = subprocess.run([*words, *flags, str(file), "-o", str(Path(folder, "check"))],
                                capture_output=True)
    return result.returncode == 0


def partner(cxx: str) -> list[str]:
    """Returns the C compilers to try with the C++ compiler `cxx`, its own family first."""
    name = Path(cxx.split()[0]).name
    family = name.replace("clang++", "clang").replace("g++", "gcc").replace("c++", "cc")
    sibling = str(Path(cxx.split()[0]).with_name(family))
    return [os.environ.get("CC", ""), sibling, "cc", "gcc", "clang"]


def find() -> Compilers:
    """Returns the first working pair, $CXX and $CC first; ends the program if there is none."""
    chosen = os.environ.get("CXX")
    names = ["c++", "g++", "clang++", *(f"g++-{v}" for v in VERSIONS), *(f"clang++-{v}" for v in VERSIONS)]
    for cxx in [chosen] if chosen else names:
        if not compiles(cxx, CPP, ".cpp", ["-std=c++20"]):
            continue
        for c in partner(cxx):
            if compiles(c, C, ".c", []):
                return Compilers(cxx, c)
        sys.exit(f"vicinal: {cxx} works but no C compiler does: install gcc (Debian, Ubuntu: apt install gcc)")
    where = f"CXX={chosen} is not one" if chosen else "none found"
    sys.exit(f"vicinal: a C++20 compiler is needed and {where}: {REMEDY}")


if __name__ == "__main__":
    print(*find())
