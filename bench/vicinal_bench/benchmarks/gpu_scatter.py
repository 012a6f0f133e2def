"""`vicinal bench gpu-scatter`: scatters between vectors in GPU memory, by vicinal and by hand.

Shafie Khorassani et al. 2024 measure neighborhood collectives of GPUs by these routines, which are
PETSc's vector scatters. They go from a parallel vector to another (each rank to the next), from one
rank's vector to all ranks', and from all to one's. On 8 ranks there are also the two graphs of the
paper's tables VI and VII. The baseline is an application that stages its data itself, as PETSc's
star forests do with an MPI without GPU support. Timing works as in the other benchmarks
(competition.py), on the ranks of ranks/gpu_scatter.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal_command.outputs import CommandError
from vicinal_command.prices import profile_of
from vicinal_command.tables import Column, ratio, size, timed

from ..ranks.gpu_scatter import APPLICATION, COPY, OWN_WAYS, VICINAL
from .competition import Results, Terms, compete, conclude
from .tables import CONTESTANT, VERDICT, WORKLOAD, Timed
from .workloads import Workload

WAYS = ("lent", "shared", "staged", "automatic")
"""Transports measured by default."""
KNOWN_WAYS = ("staged", "direct", "shared", "direct-shared", "lent", "direct-lent", "automatic")
VALUE_BYTES = 8
MOST_BYTES = 2**31 - 1
"""Largest vector of a rank: the application's kernel has 32-bit offsets."""
BUILDS = 3
"""Number of set-ups of each contestant; the fastest counts."""

TABLE_VI = ((), (0,), (0, 1), (0, 1), (0, 1), (1,), (1, 2), (1, 2))
TABLE_VII = (
    (), (0, 2), (0, 1, 3, 4, 5), (0, 1, 2, 4, 5, 6, 7), (0, 1, 2, 3, 5, 6, 7), (0, 1, 2, 3, 4, 6, 7),
    (0, 1, 2, 3, 4, 5, 7), (0, 1, 2, 3, 4, 5, 6),
)
"""Targets of each of 8 ranks."""

COLUMNS = (
    WORKLOAD,
    Column("message", lambda row: size(row["message_bytes"]), of_case=True),
    CONTESTANT,
    Column("begin", timed("begin_us")),
    Column("end", timed("end_us")),
    Column("exchange", timed("exchange_us")),
    Column("median", timed("exchange_median_us")),
    Column("median to\napplication", lambda row: ratio(row["median_ratio_to_mpi"])),
    Column("set-up", timed("setup_us")),
    VERDICT,
)


class Row(Timed):
    """One contestant's results in one case. MPI's own is the application."""

    message_bytes: int
    """Bytes from one rank to another."""
    stride: int
    setup_us: float
    begin_us: float
    end_us: float


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench gpu-scatter`."""

    ranks: int
    sizes: Sequence[int]
    """Bytes from one rank to another."""
    stride: int
    """Distance of the sent values in a vector."""
    terms: Terms


@dataclass(frozen=True)
class Case:
    """One measurement."""

    workload: Workload
    message_bytes: int


def contestants_of(ways: Sequence[str]) -> list[str]:
    """Contestants besides the application, which is the first and the last of each round."""
    return [*OWN_WAYS, *(f"{VICINAL}{way}" for way in ways), COPY]


def gpu_scatter(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    terms = request.terms
    profile = profile_of(terms.profile)
    cases = list_cases(request)
    arrays = {}
    for number, case in enumerate(cases):
        arrays[f"{number}-starts"], arrays[f"{number}-targets"] = case.workload.outgoing()
    described = [{"values": case.message_bytes // VALUE_BYTES, "stride": request.stride} for case in cases]
    results = compete(terms, "gpu_scatter", request.ranks, described, arrays, BUILDS)
    rows = [
        _row(results, case, request.stride, number, index, contestant)
        for number, case in enumerate(cases)
        for index, contestant in enumerate(terms.all_contestants)
    ]
    gpu, mpi = results.facts["gpu"], results.facts["mpi"]
    ranks = f"{request.ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}"
    title = f"scatters between vectors on {gpu['name']}, {ranks}"
    is_guess = f"{VICINAL}automatic" in terms.contestants and not profile.device_ways
    priced = ", which has no prices of GPUs, so that automatic is staged" if is_guess else ""
    notes = [
        gpu_note(gpu),
        f"MPI: {mpi['name']} {mpi['version']}; profile: {profile.name}{priced}",
        f"{APPLICATION}: packs {_which(request.stride)} of its vector {_packs(gpu)}, sends, and copies what has come "
        "to the GPU; whole vectors: copies all of it to the host, and packs there",
        *terms.notes("exchange", "with MPI_Ineighbor_alltoallv"),
        "begin, end: the two parts of it for the slowest rank, each its median, so that they need not add up",
        f"{COPY}: what arrives, by one copy from another place there; set-up: the best of {BUILDS}",
    ]
    panels = {
        f"messages of {size(count)}": [row for row in rows if row["message_bytes"] == count]
        for count in dict.fromkeys(request.sizes)
    }
    return conclude(terms, title, COLUMNS, notes, rows, panels, results.facts)


def list_cases(request: Request) -> list[Case]:
    """Every routine with every size. Refuses partial values, and vectors that are too long."""
    for count in request.sizes:
        if count % VALUE_BYTES:
            raise CommandError(
                f"messages of {count} bytes were asked for; values have {VALUE_BYTES}, so give multiples of that"
            )
    cases = [Case(each, count) for each in routines(request.ranks) for count in dict.fromkeys(request.sizes)]
    for case in cases:
        longest = request.stride * case.message_bytes * int(np.bincount(case.workload.sources).max())
        if longest > MOST_BYTES:
            raise CommandError(
                f"a vector of {case.workload.name} would have {size(longest)}, and {size(MOST_BYTES)} are the most; "
                "give smaller --sizes, a smaller --stride or fewer --ranks"
            )
    return cases


def routines(ranks: int) -> list[Workload]:
    """The graphs of the routines that run on this number of ranks."""
    everybody, others, first = np.arange(ranks), np.arange(1, ranks), np.zeros(ranks - 1, np.int64)
    found = [Workload("parallel to parallel", ranks, everybody, (everybody + 1) % ranks)]
    if ranks > 1:
        found += [
            Workload("sequential to parallel", ranks, first, others),
            Workload("parallel to sequential", ranks, others, first),
        ]
    if ranks == len(TABLE_VI):
        for name, targets in (("VI", TABLE_VI), ("VII", TABLE_VII)):
            sources = np.repeat(everybody, [len(each) for each in targets])
            found.append(
                Workload(f"the paper's table {name}", ranks, sources, np.concatenate([*targets]).astype(np.int64))
            )
    return found


def gpu_note(gpu: Mapping[str, Any]) -> str:
    """A note on the GPU and on how ranks share it."""
    count, sharing = gpu["of_each_host"], gpu["ranks_on_each"]
    served = {
        True: "served by NVIDIA's MPS", False: "without MPS", None: "whether NVIDIA's MPS serves it cannot be told"
    }
    kernels = f"kernels {gpu['kernels']}"
    if gpu["kernels"] == "none":
        kernels = "no kernels: they could be neither had nor compiled"
    sharers = f"up to {sharing:,} ranks share" if sharing > 1 else "one rank has"
    parts = [f"GPU: {gpu['name']}, {count:,} of each host", f"{sharers} each", kernels]
    if gpu["driver"] == "CUDA":
        parts.append(served[gpu["mps"]])
    return "; ".join(parts)


def _which(stride: int) -> str:
    ordinals = {1: "all values", 2: "every second value", 3: "every third value"}
    return ordinals.get(stride, f"one value of {stride:,}")


def _packs(gpu: Mapping[str, Any]) -> str:
    if gpu["kernels"] == "none":
        return "on the host, where it has copied the whole vector to"
    return "by a kernel, copies that to pinned memory"


def _row(results: Results, case: Case, stride: int, number: int, index: int, contestant: str) -> Row:
    slowest = results.slowest(number, index)
    begun = results.counts(number, index)[slowest, np.arange(len(slowest))] / 1e3
    return Row(
        workload=case.workload.name,
        ranks=case.workload.ranks,
        message_bytes=case.message_bytes,
        stride=stride,
        strategy=contestant,
        setup_us=results.setup_us(number, index),
        begin_us=round(float(np.median(begun)), 3),
        end_us=round(float(np.median(results.turns_us(number, index) - begun)), 3),
        **results.measured(number, index),
        correct=results.correct(number, index),
    )
