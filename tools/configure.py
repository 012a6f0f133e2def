"""Runs `cmake --preset NAME` with working compilers and the environment's own Python.

Only the first configuration of a build folder runs here: CMake runs itself again when its files,
the sources or the MPI prefixes change.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import find_compiler

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


def main(preset: str) -> int:
    compilers = find_compiler.find()
    command = [str(BIN / "cmake"), "--preset", preset, "--log-level=WARNING",
               f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}"]
    environment = {**os.environ, "CXX": compilers.cxx, "CC": compilers.c}
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
