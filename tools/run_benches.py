"""Runs the benchmarks of bench/, each on the number of ranks that it names.

A benchmark names its ranks in a comment (`// ranks: 4`), because its figures mean nothing at
another size. It may request further runs (`// also on ranks: 8`, `// also with: NAME=VALUE` in the
environment). It prints its figures itself, and with --json DIR each run also writes them to a file
there. tools/hosts.py runs the benchmarks for several hosts.

    python tools/run_benches.py [--json DIR] [NAME ...]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from vicinal_command.launch import LauncherError, command, find_mpi  # noqa: E402


@dataclass(frozen=True)
class Run:
    """One run of a benchmark: its ranks, and an additional environment variable."""

    ranks: int
    setting: str = ""


def runs_of(source: Path) -> list[Run]:
    text = source.read_text()
    ranks = re.search(r"^// ranks: (\d+)$", text, re.MULTILINE)
    if ranks is None:
        sys.exit(f"vicinal: {source.relative_to(ROOT)} does not say its ranks: add a line `// ranks: N`")
    first = Run(int(ranks.group(1)))
    sizes = re.findall(r"^// also on ranks: (\d+)$", text, re.MULTILINE)
    settings = re.findall(r"^// also with: (\w+=\S+)$", text, re.MULTILINE)
    return [first, *(Run(int(size)) for size in sizes), *(Run(first.ranks, setting) for setting in settings)]


def main(names: list[str], json: Path | None) -> int:
    sources = {path.stem: path for path in sorted((ROOT / "bench").glob("*.cpp"))}
    unknown = [name for name in names if name not in sources]
    if unknown:
        sys.exit(f"vicinal: no benchmark {unknown[0]!r}; there are: {', '.join(sources)}")
    build = ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")
    mpi = find_mpi()
    failed = 0
    for name in names or sources:
        for run in runs_of(sources[name]):
            words = [name, f"{run.ranks} ranks", *filter(None, [run.setting])]
            print(f"\n== {', '.join(words)}, {mpi.abi}", flush=True)
            program = [str(build / "bench" / f"{name}_{mpi.abi}")]
            if json is not None:
                json.mkdir(parents=True, exist_ok=True)
                file = "-".join([name, str(run.ranks), *filter(None, [run.setting.partition("=")[0]])])
                program += ["--json", str(json.absolute() / f"{file.lower()}.json")]
            line, environment = command(mpi, run.ranks, program)
            # Without such a network this component is not selected, but it prints a warning per
            # window.
            environment.setdefault("OMPI_MCA_osc", "^ucx")
            if run.setting:
                key, _, value = run.setting.partition("=")
                environment[key] = value
            failed |= subprocess.run(line, env=environment).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--json", type=Path, metavar="DIR", help="also write the figures there")
    given = parser.parse_args()
    try:
        sys.exit(main(given.names, given.json))
    except LauncherError as fault:
        sys.exit(f"vicinal: {fault}")
