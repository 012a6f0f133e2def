"""`make fuzz`: runs the fuzzer on each MPI, at several numbers of ranks, with consecutive seeds.

A run executes a program of tests/fuzz on this number of ranks for a few seconds. On a failure the
program prints the seed and the case, and this tool adds the command that repeats the case.

Two of three runs use the families that call MPI's own names (unmodified, programs), with the
preload library. Memory from malloc, and freed memory, is filled with junk. The program gets all
arguments that are not listed here (--help names them), such as --family halo or --no-faults.

    python tools/fuzz.py [--seconds 60] [--seed N] [--mpi mpich,openmpi] [--ranks 2,3,4,7,8,13] [ARGUMENT ...]
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tests"):
    sys.path.insert(0, str(folder))

from launching import BUILD, Result, abi_of, built_abis, run_ranks  # noqa: E402  (found through the path set above)

# MPICH's ranks spin while they wait: with more ranks than cores, they make little progress.
MOST_RANKS = {"mpich": 4}
UNMODIFIED = ("unmodified", "programs")
LEAST_RANKS = {"programs": 3}
"""On two ranks MPICH 5.0.2 itself deadlocks: --alone --mpi mpich --ranks 2 --seed 962422774
--family programs --case 145."""
REGIONS = ("blocks:1", "blocks:2", "blocks:3", "round-robin:2", "round-robin:3")
"""Regions for the environment, chosen by the seed; the preload library leaves a single region to
MPI."""
FAMILY = re.compile(r"^(\w+): (\d+) cases, (\d+) exchanges, (\d+) of them", re.MULTILINE)
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def environment_of(seed: int, preloads: bool) -> dict[str, str]:
    """Returns the environment of a run; programs that know nothing of vicinal need more
    variables."""
    draws = random.Random(seed)
    regions = draws.choice(REGIONS)
    perturbed = {"MALLOC_PERTURB_": str(draws.randrange(1, 256))}
    if not preloads:
        return perturbed
    return {"LD_PRELOAD": str(BUILD / "lib" / "libvicinal_mpi.so"), "VICINAL_REGIONS": regions, **perturbed}


def run_once(mpi: str, ranks: int, seed: int, arguments: list[str], seconds: float, alone: bool) -> Result:
    """Runs the program for that long; a case that hangs ends it after its own timeout."""
    program = BUILD / "bin" / f"vicinal_fuzz_{abi_of(mpi)}"
    words = [program, "--seed", seed, "--seconds", f"{seconds:g}", *arguments]
    environment = environment_of(seed, not alone and any(name in arguments for name in UNMODIFIED))
    try:
        return run_ranks(mpi, ranks, words, env=environment, timeout=seconds + 150, check=False)
    except AssertionError as late:
        return Result(124, str(late))


def case_of(output: str) -> str:
    """Returns the options that repeat the case that failed or hung; "" if the output names none."""
    found = re.search(r"(--seed \d+ --family \w+ --case \d+.*)", output)
    return found.group(1) if found else ""


def again(mpi: str, ranks: int, output: str, alone: bool) -> str:
    """Returns the command that repeats that case."""
    without = " --alone" if alone else ""
    case = case_of(output)
    given = f' ARGS="--mpi {mpi} --ranks {ranks}{without} {case}"' if case else ""
    return f"make fuzz{given}"


def fails_alone(mpi: str, ranks: int, output: str) -> bool:
    """Returns whether a program that failed under the preload library also fails with the MPI
    alone."""
    words = case_of(output).split()
    if not any(name in words for name in UNMODIFIED):
        return False
    return run_once(mpi, ranks, int(words[1]), words[2:], 5, alone=True).code != 0


def main(given: argparse.Namespace, arguments: list[str]) -> int:
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"vicinal: fuzzing from seed {seed}", flush=True)
    # A family in the arguments applies to all runs.
    families = [[]] if "--family" in arguments else [[], *(["--family", name] for name in UNMODIFIED)]
    kinds = [
        (mpi, ranks, family)
        for ranks in given.ranks for mpi in given.mpi for family in families
        if LEAST_RANKS.get(family[-1] if family else "", 1) <= ranks <= MOST_RANKS.get(mpi, ranks)
    ]
    if given.shrink:
        return shrink(given.mpi[0], given.ranks[0], seed, arguments, given.alone)
    if not kinds:
        sys.exit(f"vicinal: {', '.join(given.mpi)} cannot run that many ranks here; give --ranks 4 or fewer")
    once = "--case" in arguments
    cases: Counter[str] = Counter()
    exchanges: Counter[str] = Counter()
    passed = failed = by_mpi = 0
    begin = time.monotonic()
    for number, (mpi, ranks, family) in enumerate(itertools.cycle(kinds)):
        left = given.seconds - (time.monotonic() - begin)
        if number > 0 and (left <= 1 or once):
            break
        length = min(given.slice, max(left, 1))
        result = run_once(mpi, ranks, seed + number * (not once), [*family, *arguments], length, given.alone)
        for name, done, calls, _ in FAMILY.findall(result.output):
            cases[name] += int(done)
            exchanges[name] += int(calls)
        closing = CLOSING.findall(result.output)
        good, bad = map(int, closing[-1]) if closing else (0, 1)
        if result.code != 0 and bad == 0:
            bad = 1
        if bad == 1 and not given.alone and fails_alone(mpi, ranks, result.output):
            print(f"without the library, too: {again(mpi, ranks, result.output, True)}", flush=True)
            bad = 0
            by_mpi += 1
        passed += good
        failed += bad
        taken = time.monotonic() - begin
        print(f"{taken:6.0f} s: {mpi} on {ranks} ranks, seed {seed + number}: {good} passed, {bad} failed", flush=True)
        if bad:
            print(f"{result.output}\nagain: {again(mpi, ranks, result.output, given.alone)}", flush=True)
            if not given.keep_going:
                break
    for name in cases:
        print(f"{name}: {cases[name]} cases, {exchanges[name]} exchanges")
    if by_mpi:
        print(f"{by_mpi} programs fail, or stand still, by the MPI alone")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def shrink(mpi: str, ranks: int, seed: int, arguments: list[str], alone: bool) -> int:
    """Removes steps of a case of the family `programs` while it still fails; prints the remaining
    command."""
    def fails(more: list[str]) -> bool:
        # A fault that depends on the order of events needs several tries.
        return any(run_once(mpi, ranks, seed, more, 5, alone).code != 0 for _ in range(3))

    threads = next((number for number in (1, 2) if fails([*arguments, "--threads", str(number)])), 3)
    arguments = [*arguments, "--threads", str(threads)]
    if not fails(arguments):
        sys.exit("vicinal: this case does not fail")
    for step in reversed([100 * thread + step for thread in range(threads) for step in range(30)]):
        without = [*arguments, "--skip", str(step)]
        if fails(without):
            arguments = without
    print(f'make fuzz ARGS="--mpi {mpi} --ranks {ranks}{" --alone" if alone else ""} --seed {seed} {" ".join(arguments)}"')
    return 1


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def numbers(text: str) -> list[int]:
    return [int(number) for number in names(text)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="for how long, in all (default 60)")
    parser.add_argument("--slice", type=float, default=10, help="seconds of one run (default 10)")
    parser.add_argument("--seed", type=int, help="of the first run; each further one has the next (default: a new one)")
    parser.add_argument("--mpi", type=names, default=names(os.environ.get("VICINAL_TEST_MPI", "")) or built_abis())
    parser.add_argument("--ranks", type=numbers, default=[2, 3, 4, 7, 8, 13], help="numbers of ranks (default 2,3,4,7,8,13)")
    parser.add_argument("--keep-going", action="store_true", help="also after a failure")
    parser.add_argument("--shrink", action="store_true", help="make the case of the family programs that is given smaller")
    parser.add_argument("--alone", action="store_true", help="without the preload library, to see that programs are right")
    sys.exit(main(*parser.parse_known_args()))
