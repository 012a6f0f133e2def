"""`make format` and `make lint`: clang-format, clang-tidy and mypy over the files in git.

Built, fetched and temporary files are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SUFFIXES = {".c", ".h", ".cpp", ".hpp"}
LONGEST = 400


def tracked(suffixes: set[str]) -> list[Path]:
    """Returns the files with these suffixes that are in git, or that `git add .` would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted({ROOT / name for name in names.split("\0") if name})
    return [path for path in paths if path.suffix in suffixes and path.exists()]


def clang_format(files: Sequence[Path], rewrite: bool) -> bool:
    mode = ["-i"] if rewrite else ["--dry-run", "-Werror"]
    command = [str(BIN / "clang-format"), *mode, *map(str, files)]
    return not files or subprocess.run(command).returncode == 0


def clang_tidy(build: Path) -> bool:
    """Checks every source of the build folder once, whatever the number of ABIs."""
    database = json.loads((build / "compile_commands.json").read_text())
    known = set(tracked({".cpp"}))
    entries = {Path(entry["file"]): entry for entry in database if Path(entry["file"]) in known}

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        # With the build folder itself, clang-tidy would read a source once for each of its entries.
        Path(folder, "compile_commands.json").write_text(json.dumps(list(entries.values())))

        def check(file: Path) -> tuple[bool, str]:
            command = [str(BIN / "clang-tidy"), "--quiet", "-p", folder, str(file)]
            result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            return result.returncode == 0, result.stdout

        results = list(pool.map(check, sorted(entries)))
    for good, output in results:
        if not good:
            print(output)
    return all(good for good, _ in results)


def short_enough(files: Sequence[Path]) -> bool:
    """Checks the length of files; the public header may be longer, because most of it is
    documentation."""
    sources = [file for file in files if ROOT / "include" not in file.parents]
    long = [file for file in sources if len(file.read_text().splitlines()) > LONGEST]
    for file in long:
        print(f"{file.relative_to(ROOT)}: more than {LONGEST} lines")
    return not long


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--format", action="store_true", help="rewrite the C and C++ sources, check nothing")
    parser.add_argument("--build-dir", type=Path, help="where compile_commands.json is, for clang-tidy")
    arguments = parser.parse_args()
    if arguments.format:
        return 0 if clang_format(tracked(SUFFIXES), rewrite=True) else 1
    checks = {
        "clang-format": clang_format(tracked(SUFFIXES), rewrite=False),
        "file length": short_enough(tracked(SUFFIXES | {".py"})),
        "mypy": subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT).returncode == 0,
    }
    if arguments.build_dir:
        checks["clang-tidy"] = clang_tidy(ROOT / arguments.build_dir)
    for name, good in checks.items():
        print(f"{name}: {'passed' if good else 'failed'}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
