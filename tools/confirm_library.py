"""`make smpi`: runs the library on SimGrid's simulated MPI, and compares its times with
predictions.

    python tools/confirm_library.py [--ranks N,N,...] [--short] [--profile FILE] [--all] [--build FOLDER] [--no-install]

A program (tests/smpi) uses the library on 64 simulated ranks, or as many as given, in regions of
16, each on its own host. It runs persistent exchanges, calls in loops and halos under every
strategy that serves them, and sparse exchanges by every method. All received data is compared with
the sent data.

The simulated time of an exchange is compared with the price of its plans. For a method of sparse
exchange, it is compared with the closed form by which `automatic` chooses. A table shows the
deviations and their limits. The exit status is 1 if a limit is exceeded. Root installs SimGrid with
apt-get if it is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import smpi  # noqa: E402  (found through the path set above)
from confirm_prices import (  # noqa: E402
    HEADING, Edges, Finding, halo_edges, machine_of, patterns_of, random_edges, within,
)
from integration_runs import Needs, NotRunError  # noqa: E402
from vicinal import _core  # noqa: E402

TARGET = "vicinal_smpi"
RANKS = (64,)
ALL_CASES = 64
"""With more ranks only the short selection runs, because simulated ranks poll one after another."""
REGION = 16
GRIDS = {32: (4, 4, 2), 64: (4, 4, 4), 128: (8, 4, 4), 256: (8, 8, 4)}
PATTERNS = ("random", "3-D-halo")
COUNTS = (1, 64)
"""Eight-byte values on an edge."""
METHODS = ("personalized", "nonblocking", "locality", "locality-personalized", "one-sided")
UNPREDICTED = "one-sided"
"""Method without a prediction, because `automatic` never chooses it. Its data is checked, and its
time shown."""
# Fraction of an edge's elements that is new: see patterns_of.
NEW = {"exchange": 0.5, "loop": 1.0, "halo": 0.0}
# Calls in loops send a byte count with each edge's values.
LENGTHS = {"exchange": 0, "loop": 1, "halo": 0}
ORDER = (*NEW, "sparse")
LIMITS = {"exchange": 0.15, "loop": 0.15, "halo": 0.15, "sparse": 0.3}
RESULT = re.compile(r"^case (\d+) (\S+)$", re.MULTILINE)
CHECKED = re.compile(r"^checked (\d+)$", re.MULTILINE)


# ---- the program ----------------------------------------------------------------------------------


def build(folder: Path) -> Path:
    """Builds the program in that build folder, and returns its path."""
    cmake = [str(Path(sys.executable).parent / "cmake")]
    for line in ([*cmake, "-DVICINAL_SMPI=ON", str(folder)],
                 [*cmake, "--build", str(folder), "--parallel", os.environ.get("JOBS", "2"), "--target", TARGET]):
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise smpi.SmpiError(f"`{' '.join(line)}` ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return folder / "smpi" / TARGET


# ---- cases ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One exchange of the program, and its predicted time in seconds."""

    ranks: int
    kind: str
    pattern: str
    """Empty for sparse exchanges."""
    count: int
    how: str
    """A strategy or a method."""
    predicted: float | None

    def line(self) -> str:
        if self.kind == "sparse":
            return f"sparse {self.how} {_core.exchange_messages} {self.count}"
        return f"{self.kind} {self.pattern} {self.count} {self.how}"

    @property
    def group(self) -> tuple[str, str]:
        return self.kind, self.how


def edges_of(pattern: str, ranks: int) -> Edges:
    return random_edges(ranks) if pattern == "random" else halo_edges(GRIDS[ranks])


@cache
def without_copies(profile: str) -> _core.Profile:
    """Returns the profile without the cost of copies, which take no simulated time in SMPI."""
    return _core.Profile.from_json(json.dumps(json.loads(profile) | {"copy_seconds_per_byte": 0}))


def price(kind: str, edges: Edges, count: int, strategy: str, machine: _core.Machine, of: smpi.Plain) -> float:
    wanted = patterns_of(edges, count + LENGTHS[kind], NEW[kind], machine.size)
    plans = _core.PlanSet.plan(strategy, machine, wanted, shared_memory=False, element_bytes=smpi.ELEMENT_BYTES,
                               profile=of.profile)
    seconds: float = plans.price(without_copies(of.profile.to_json()), smpi.ELEMENT_BYTES)["seconds"]
    return seconds


def exchanges(machine: _core.Machine, of: smpi.Plain, kind: str, pattern: str, counts: Sequence[int]) -> list[Case]:
    edges = edges_of(pattern, machine.size)
    strategies = [name for name, _ in _core.strategies(with_reverse=kind == "halo", one_block=False)]
    return [
        Case(machine.size, kind, pattern, count, strategy, price(kind, edges, count, strategy, machine, of))
        for count in counts for strategy in strategies
    ]


def sparse(machine: _core.Machine, of: smpi.Plain) -> list[Case]:
    count = _core.exchange_bytes // smpi.ELEMENT_BYTES
    return [Case(machine.size, "sparse", "", count, method, discovery(method, machine, of)) for method in METHODS]


def discovery(method: str, machine: _core.Machine, of: smpi.Plain) -> float | None:
    """Returns the prediction of the closed form without receipts.

    In SMPI a synchronous send completes when its message arrives.
    """
    if method == UNPREDICTED:
        return None
    seconds = _core.exchange_seconds(method, machine, False, without_copies(of.profile.to_json()))
    # A rank leads at most one pair of regions, because there are no more regions than ranks in
    # each.
    synchronous = {"nonblocking": _core.exchange_messages, "locality": 1}
    if method not in synchronous:
        return seconds
    return seconds - synchronous[method] * (of.send_overhead + of.receive_overhead) - of.far


@dataclass(frozen=True)
class Timed:
    case: Case
    seconds: float

    @property
    def ratio(self) -> float | None:
        return None if self.case.predicted is None else self.case.predicted / self.seconds


@dataclass(frozen=True)
class Part:
    """Results of one simulation, in the order of its cases."""

    name: str
    rows: list[Timed]
    checked: int
    """Number of values that were compared."""
    took: float
    """Seconds of real time."""


def simulate(program: Path, name: str, cases: Sequence[Case], machine: _core.Machine, of: smpi.Plain, folder: Path) -> Part:
    begin = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in {case.pattern for case in cases if case.pattern}:
        lines = [f"{source} {destination}\n" for source, destination in sorted(edges_of(pattern, machine.size))]
        (folder / pattern).write_text("".join(lines))
    (folder / "cases.txt").write_text("".join(f"{case.line()}\n" for case in cases))
    (folder / "profile.json").write_text(of.profile.to_json())
    (folder / TARGET).symlink_to(program.resolve())
    # All ranks are threads of one process on one host, so regions must be given. Simulated ranks do
    # not slow each other down, however few cores this machine has.
    environment = {
        **os.environ, "VICINAL_REGIONS": f"blocks:{REGION}", "VICINAL_SHARED_MEMORY": "0", "VICINAL_REPORT_WAITS": "0",
        "VICINAL_PROFILE": str(folder / "profile.json"), "VICINAL_CORES": "0",
    }
    options = [
        "--cfg=smpi/tmpdir:.", "--cfg=smpi/privatization:dlopen", "--log=root.thresh:error",
        *smpi.flags(of, {"smpi/or": f"0:{of.receive_overhead!r}:0"}),
    ]
    said = smpi.run_ranks([f"./{TARGET}", "."], machine, of, folder, options, environment)
    found = {int(number): float(seconds) for number, seconds in RESULT.findall(said)}
    checked = CHECKED.search(said)
    if sorted(found) != [*range(len(cases))] or checked is None:
        raise smpi.SmpiError(f"of {len(cases)} cases the program reported {len(found)}: {said[-2000:]}")
    rows = [Timed(case, found[number]) for number, case in enumerate(cases)]
    return Part(name, rows, int(checked[1]), time.monotonic() - begin)


# ---- requirements ---------------------------------------------------------------------------------


def findings(rows: Sequence[Timed]) -> list[Finding]:
    result = []
    for kind, how in dict.fromkeys(it.case.group for it in rows):
        ratios = [it.ratio for it in rows if it.case.group == (kind, how) and it.ratio is not None]
        if not ratios:
            continue
        limit = LIMITS[kind]
        good = all(within(ratio, limit) for ratio in ratios)
        result.append(Finding(f"{kind}, {how}", ratios, f"each within {limit:.0%}", good))
    return result


def show(rows: Sequence[Timed]) -> None:
    print(f"{'ranks':>5}  {'what':9}{'pattern':10}{'bytes':>6}  {'how':24}{'predicted, us':>14}{'SMPI, us':>11}{'ratio':>8}")
    for it in rows:
        case = it.case
        what = f"{case.ranks:5}  {case.kind:9}{case.pattern:10}{case.count * smpi.ELEMENT_BYTES:6}  {case.how:24}"
        predicted = f"{'-':>14}" if case.predicted is None else f"{case.predicted * 1e6:14.3f}"
        ratio = f"{'-':>8}" if it.ratio is None else f"{it.ratio:8.3f}"
        print(f"{what}{predicted}{it.seconds * 1e6:11.3f}{ratio}")
    print()


def parts(machine: _core.Machine, of: smpi.Plain, *, short: bool) -> dict[str, list[Case]]:
    """Returns the cases of each simulation by name. They are separate because long simulations slow
    down."""
    patterns, counts = (PATTERNS[-1:], COUNTS[:1]) if short else (PATTERNS, COUNTS)
    found = {
        f"{kind}-{pattern}": exchanges(machine, of, kind, pattern, counts) for pattern in patterns for kind in NEW
    }
    return {"sparse": sparse(machine, of), **found}


def compare(program: Path, ranks: int, profile: _core.Profile, work: Path, *, short: bool = False) -> Iterator[Part]:
    """Runs all cases on this number of ranks, and yields each part when it is done."""
    of = smpi.plain(profile, flat=False)
    # Without shared memory each rank is a host with its own port.
    machine = machine_of("flat", ranks)
    with smpi.simulations() as pool:
        begun = [
            pool.submit(simulate, program, name, cases, machine, of, work / f"{ranks}-{name}")
            for name, cases in parts(machine, of, short=short).items()
        ]
        for done in as_completed(begun):
            yield done.result()


# ---- running --------------------------------------------------------------------------------------


def main(given: argparse.Namespace) -> int:
    if not smpi.installed():
        Needs(not given.no_install).packages(smpi.PACKAGE)
    profile = _core.Profile.read(given.profile) if given.profile else _core.Profile.default()
    program = build(given.build)
    rows: list[Timed] = []
    with tempfile.TemporaryDirectory() as work:
        for ranks in given.ranks:
            for part in compare(program, ranks, profile, Path(work), short=given.short or ranks > ALL_CASES):
                print(f"{ranks} ranks, {part.name}: {len(part.rows)} cases, {part.checked} values as they must be, "
                      f"{part.took:.0f} s", flush=True)
                rows += part.rows
    rows.sort(key=lambda it: ORDER.index(it.case.kind))
    if given.all:
        show(rows)
    print(HEADING.replace("price / SMPI", "predicted / SMPI"))
    lines = findings(rows)
    for finding in lines:
        print(finding.line())
    return int(not all(finding.good for finding in lines))


def ranks_given(text: str) -> list[int]:
    numbers = [int(each) if each.isdigit() else -1 for each in text.split(",")]
    if not all(number in GRIDS for number in numbers):
        known = ", ".join(map(str, GRIDS))
        raise argparse.ArgumentTypeError(f"'{text}' was given; expected some of {known}, with commas between")
    return numbers


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=ranks_given, default=RANKS, help="on how many (default: 64; also 32, 128 and 256)")
    parser.add_argument("--short", action="store_true", help="small messages and one pattern only")
    parser.add_argument("--profile", help="the machine (default: the built-in profile)")
    parser.add_argument("--all", action="store_true", help="a line for each case, too")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="the build folder")
    parser.add_argument("--no-install", action="store_true", help="use what is there")
    try:
        sys.exit(main(parser.parse_args()))
    except (smpi.SmpiError, NotRunError) as fault:
        sys.exit(f"vicinal: {fault}")
