"""Counts the cost of a start and a wait, and of a call, at the commit in `bench/base`, and now.

The cost excludes the data. Times of ranks that share cores vary from launch to launch; these counts
do not. One rank exchanges with itself under valgrind's callgrind. Other data passes through the
caches between two executions, so each execution reads all its 64-byte lines again. A rank that gets
its core back does that, too.

    python tools/count_path.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ratchet import FOLDER, ROOT, build, command, commit_of, find_mpi, source_of

CASES = ("start and wait", "call")
WARM, MORE = 300, 300
"""Executions for set-up, planning and loop detection, and executions that are counted."""

CACHES = ("--cache-sim=yes", "--I1=4096,1,64", "--D1=4096,1,64", "--LL=524288,8,64")
COUNTED = {"Ir": "instructions", "ILmr": "lines of code", "DLmr": "lines of data"}


def per_execution(program: Path, library: Path, what: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts"
        counting = ["valgrind", "--tool=callgrind", *CACHES, "--toggle-collect=counted", f"--callgrind-out-file={file}"]
        words = [str(program), str(library), what, str(WARM), str(MORE)]
        line, environment = command(find_mpi("openmpi"), 1, [*counting, *words])
        done = subprocess.run(line, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise SystemExit(f"count_path: {' '.join(line)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        text = file.read_text()
    events, totals = (re.search(rf"^{name}: (.*)$", text, re.MULTILINE) for name in ("events", "totals"))
    assert events and totals
    of = dict(zip(events[1].split(), map(int, totals[1].split()), strict=False))
    return [of[name] / MORE for name in COUNTED]


def main() -> int:
    if shutil.which("valgrind") is None:
        raise SystemExit("count_path: needs valgrind (Debian, Ubuntu: apt install valgrind)")
    base = commit_of((ROOT / "bench" / "base").read_text().strip())
    earlier = build(source_of(base), FOLDER / base[:12] / "openmpi", "openmpi", ["vicinal_openmpi"])
    now = build(ROOT, FOLDER / "now" / "openmpi", "openmpi", ["vicinal_openmpi", "path_openmpi"])
    program = now / "bench" / "path_openmpi"
    libraries = {"earlier": earlier, "now": now}
    print(f"| one rank, {MORE:,} executions | state | {' | '.join(COUNTED.values())} |\n| --- | --- | --- | --- | --- |")
    for what in CASES:
        for state, folder in libraries.items():
            found = per_execution(program, folder / "lib" / "libvicinal-openmpi.so", what)
            print(f"| {what} | {state} | {' | '.join(f'{each:,.0f}' for each in found)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
