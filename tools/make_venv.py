"""Makes .venv: the environment in which vicinal is built, run and tested.

First checks the requirements that cannot be fetched (a C++ compiler, Python's headers, the venv
module). So a missing package causes one line at the start, not a page of compiler output after ten
minutes. A .pth file leads to the Python packages of the tree, so edits need no reinstallation.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import find_compiler

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# A first line cannot name an interpreter whose path has a space. So a shell reads this first, and
# starts Python with it; for Python the shell's part is a string.
COMMAND = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
'''
import sys
from vicinal_command.cli import main
sys.exit(main())
"""


def check_machine() -> None:
    """Ends with one line if a requirement is missing that only the machine's owner can install."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        sys.exit(f"vicinal: Python {version} has no headers: install python3-dev (Debian, Ubuntu: "
                 "apt install python3-dev; Fedora: dnf install python3-devel)")
    if any(importlib.util.find_spec(module) is None for module in ("venv", "ensurepip")):
        sys.exit(f"vicinal: Python {version} cannot make environments: install python3-venv "
                 "(Debian, Ubuntu: apt install python3-venv)")
    find_compiler.find()


def pip_install(requirements: str) -> None:
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]
    command = [*pip, "install", "--quiet", "--require-hashes", "--requirement", str(ROOT / requirements)]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"vicinal: pip could not install {requirements}; its reason is above")


def make_environment() -> None:
    """Creates the environment, or recreates it if its Python no longer works."""
    works = PYTHON.exists() and subprocess.run([str(PYTHON), "-m", "pip", "--version"],
                                               capture_output=True).returncode == 0
    if not works:
        print(f"vicinal: creating .venv from {sys.executable}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)


def show_tree() -> None:
    """Makes `import vicinal` and the command `vicinal` use this tree."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([str(PYTHON), "-c", where], check=True, capture_output=True, text=True)
    Path(found.stdout.strip(), "vicinal-tree.pth").write_text(f"{ROOT / 'python'}\n{ROOT / 'bench'}\n")
    command = VENV / "bin" / "vicinal"
    command.write_text(COMMAND.format(python=PYTHON))
    command.chmod(0o755)


if __name__ == "__main__":
    requirements = sys.argv[1:] or ["requirements.txt"]
    os.chdir(ROOT)
    check_machine()
    make_environment()
    for file in requirements:
        print(f"vicinal: installing {file} into .venv", flush=True)
        pip_install(file)
    show_tree()
