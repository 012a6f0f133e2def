"""Measures how long it takes to price and to simulate plans of many ranks.

    python tools/bench_price.py [--ranks 2048] [--messages 1000] [--ranks-per-region 32] [--bytes 8] [--rounds 3]
        [--strategy direct] [--profile FILE]

Each rank receives one value from each of --messages random ranks. Prints the seconds of planning,
once, and the range of the seconds over all rounds. One round computes the price, or the simulation,
which is the price with all its events. Also prints a fingerprint of the results, which is equal if
they are bitwise equal.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402  (found through the path set above)
from vicinal import _core  # noqa: E402


def wanted_of(ranks: int, messages: int) -> _core.Patterns:
    """Returns patterns in which each rank needs a separate index from each of its random ranks."""
    rng = np.random.default_rng(13)
    owners = np.concatenate([
        (rank + 1 + rng.choice(ranks - 1, messages, replace=False)) % ranks for rank in range(ranks)
    ])
    needers = np.repeat(np.arange(ranks, dtype=np.int32), messages)
    indices = np.empty(len(owners), np.int64)
    indices[np.argsort(owners, kind="stable")] = np.arange(len(owners))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=ranks))]).astype(np.int64)
    pairs = np.lexsort((indices, needers))
    return _core.halo_patterns(ranks, offsets, needers[pairs], indices[pairs])


def add_arrays(digest: Any, found: Any) -> None:
    """Adds all values of a price to the digest, sorted by name."""
    for name in sorted(found):
        value = found[name]
        if isinstance(value, dict):
            add_arrays(digest, value)
        else:
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(value).tobytes())


def timed(work: Callable[[], dict[str, Any]], rounds: int) -> tuple[list[float], str]:
    """Returns the seconds of each round, and the fingerprint of the last."""
    times = []
    for _ in range(rounds):
        before = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - before)
    digest = hashlib.sha256()
    add_arrays(digest, found)
    return times, digest.hexdigest()[:16]


def main(given: argparse.Namespace) -> int:
    profile = _core.Profile.read(given.profile) if given.profile else _core.Profile.default()
    regions = np.arange(given.ranks, dtype=np.int32) // given.ranks_per_region
    machine = _core.Machine(regions, regions)
    wanted = wanted_of(given.ranks, given.messages)
    before = time.perf_counter()
    plans = _core.PlanSet.plan(given.strategy, machine, wanted, shared_memory=False, profile=profile)
    print(f"planning    {time.perf_counter() - before:7.2f} s", flush=True)
    for name, work in (("price", plans.price), ("simulation", plans.simulate)):
        times, fingerprint = timed(partial(work, profile, given.bytes), given.rounds)
        print(f"{name:11} {min(times):7.2f} to {max(times):.2f} s, fingerprint {fingerprint}", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2048)
    parser.add_argument("--messages", type=int, default=1000, help="that each rank takes in")
    parser.add_argument("--ranks-per-region", type=int, default=32)
    parser.add_argument("--bytes", type=int, default=8, help="of each message")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--strategy", default="direct")
    parser.add_argument("--profile", help="the machine (default: the built-in profile)")
    sys.exit(main(parser.parse_args()))
