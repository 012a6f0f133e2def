"""Run the benchmarks of bench/, each on the ranks it asks for.

A benchmark names its ranks in a comment of its own (`// ranks: 4`), because a figure means nothing
at another size than the one it was written for.  It prints its figures itself.

    python tools/run_benches.py [NAME ...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from vicinal.launch import LauncherError, command, find_mpi  # noqa: E402


def ranks_of(source: Path) -> int:
    found = re.search(r"^//\s*ranks:\s*(\d+)\s*$", source.read_text(), re.MULTILINE)
    if found is None:
        sys.exit(f"vicinal: {source.relative_to(ROOT)} does not say its ranks: add a line `// ranks: N`")
    return int(found.group(1))


def main(names: list[str]) -> int:
    sources = {path.stem: path for path in sorted((ROOT / "bench").glob("*.cpp"))}
    unknown = [name for name in names if name not in sources]
    if unknown:
        sys.exit(f"vicinal: no benchmark {unknown[0]!r}; there are: {', '.join(sources)}")
    build = ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")
    mpi = find_mpi()
    failed = 0
    for name in names or sources:
        program = build / "bench" / f"{name}_{mpi.abi}"
        print(f"== {name} on {ranks_of(sources[name])} ranks of {mpi.abi}", flush=True)
        line, environment = command(mpi, ranks_of(sources[name]), [str(program)])
        failed |= subprocess.run(line, env=environment).returncode
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LauncherError as fault:
        sys.exit(f"vicinal: {fault}")
