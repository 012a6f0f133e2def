"""Measures the processor time to plan and price a graph of `vicinal reproduce sharifian2024`, per
algorithm.

    python tools/bench_reproduce.py [--ranks 2160] [--density 0.3]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "bench"):
    sys.path.insert(0, str(folder))

from vicinal import _core  # noqa: E402  (found through the path set above)
from vicinal_bench.benchmarks.workloads import random_sparse  # noqa: E402
from vicinal_bench.reproduce import sharifian2024 as paper  # noqa: E402
from vicinal_bench.reproduce.exchanges import gather_patterns, microseconds  # noqa: E402


def main(given: argparse.Namespace) -> int:
    profile = _core.Profile.default()
    cluster = paper.Cluster(profile, given.ranks, paper.RANDOM_PER_NODE)
    graph = random_sparse(given.ranks, given.density)
    patterns = gather_patterns(graph)
    print(f"{given.ranks} ranks, {graph.edges} edges; {paper.PLANNED_BYTES} B for planning, 32 B and 64 KiB for prices")
    for algorithm in paper.ALGORITHMS:
        marks = [time.process_time()]
        plans = cluster.plan(algorithm, patterns, paper.PLANNED_BYTES)
        marks.append(time.process_time())
        prices = []
        for size in (32, 65536):
            prices.append(microseconds(plans, profile, size))
            marks.append(time.process_time())
        took = " ".join(f"{end - begin:7.2f}" for begin, end in zip(marks, marks[1:], strict=False))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"{algorithm.name:24} plan, price, price: {took} s; {prices[0]:10.3f} {prices[1]:12.3f} us; "
              f"{peak} MiB at most", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2160)
    parser.add_argument("--density", type=float, default=0.3)
    sys.exit(main(parser.parse_args()))
