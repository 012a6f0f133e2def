"""Inputs of `vicinal explain` and `simulate`: a distributed matrix, or a recorded pattern.

Both become the patterns of all ranks. From these follows the data between regions: the values of
each edge separately, as `direct` sends them, and each value once per pair of regions. No plan
without detours can send less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .matrices import Integers, Matrix, block_starts, needed_pairs, read_matrix
from .outputs import CommandError, OutputFile, interruptible
from .partition import partitioned
from .recorded import Recorded, is_recorded, read_recorded
from .report import Report

if TYPE_CHECKING:
    from vicinal._core import Machine, Patterns, PlanSet, Profile

HALO = {"with_reverse": True, "one_block": False}
"""A halo has both directions, and its ranks need different items."""
ALLTOALLV = {"with_reverse": False, "one_block": False}
HALO_PLANNED_BYTES = 8
"""A halo is planned before its value type is known, for 8 bytes each."""
RECORDED_BYTES = 8
"""Size of a value in recorded bytes."""


@dataclass(frozen=True)
class Input:
    """The input on the command line, and its distribution."""

    name: str
    ranks: int | None
    """None: as many as the recorded pattern has."""
    partition: str | None
    """File with the owner of each row; None: near-equal blocks."""
    values: int
    """Values per index."""
    exchanges: int | None
    """Number of exchanges in a recorded total."""


@dataclass(frozen=True)
class VirtualRequest:
    """Arguments of a command that plans for virtual ranks."""

    input: Input
    regions: str
    strategies: Sequence[str]
    """The baseline first."""
    chosen: str | None
    """The strategy, if a single one was given."""
    profile: str | None
    """A file; None: the environment's, or the built-in profile."""
    idle_ranks_lead: bool
    """True if ranks without edges may lead for their regions."""
    json: Report | None
    plot: OutputFile | None


@dataclass(frozen=True)
class Problem:
    """A pattern to plan, of all ranks."""

    name: str
    about: str
    """A short description."""
    ranks: int
    patterns: Patterns
    planned_bytes: int
    """Bytes of an element, as given to planners."""
    value_bytes: int
    """Bytes of an element, as sent."""
    origins: Integers
    """With identities: the value of each element of each edge."""
    owners: Integers
    """The rank that sends each element (without identities, each edge)."""
    needers: Integers
    """The rank that needs it."""
    weights: Integers | None
    """Without identities: elements of each edge; None with identities."""
    facts: dict[str, Any]
    """Facts for the JSON output."""
    complete: bool = False
    """True if it is an alltoallv over a whole communicator: each rank sends to each other rank."""

    def title(self, regions: int) -> str:
        """Title of a table or picture, on this number of regions."""
        return f"{self.name}: {self.about}, on {self.ranks:,} virtual ranks in {regions:,} regions"

    def facts_on(self, regions: str, region_count: int) -> dict[str, Any]:
        """Facts for the JSON output, on ranks in these regions."""
        return {
            **self.facts,
            "ranks": self.ranks,
            "regions": regions,
            "region_count": region_count,
            "value_bytes": self.value_bytes,
        }

    def between_regions(self, machine: Machine) -> tuple[int, int]:
        """Elements between regions: by edge, and with each value once per pair of regions."""
        region_of = np.asarray(machine.region_of, np.int64)
        to = region_of[self.needers]
        crossing = region_of[self.owners] != to
        if self.weights is not None:
            apart = int(self.weights[crossing].sum())
            return apart, apart
        once = np.unique(self.origins[crossing] * machine.regions + to[crossing])
        return int(crossing.sum()), len(once)


def serves(name: str) -> dict[str, bool]:
    """Requirements on strategies for an input of this name. `suited` later checks more."""
    return {**ALLTOALLV, "complete": True} if is_recorded(name) else HALO


def suited(request: VirtualRequest, problem: Problem) -> Sequence[str]:
    """The requested strategies that serve the problem. CommandError if a single one does not."""
    from vicinal import _core

    if problem.complete:
        return request.strategies
    for_any = dict(_core.strategies())
    if request.chosen is not None and request.chosen not in for_any:
        raise CommandError(
            f"the strategy '{request.chosen}' serves exchanges over a whole communicator only: all ranks pass on what "
            f"is for others, and in {problem.name} not every rank sends to every other"
        )
    return [name for name in request.strategies if name in for_any]


def read_input(given: Input) -> Problem:
    """Reads and distributes an input. Raises CommandError for an invalid one."""
    return _recorded(given) if is_recorded(given.name) else _matrix(given)


def read_machine(regions: str, ranks: int, *, one_socket: bool = False) -> Machine:
    """The machine of virtual ranks. Every region is a host, with `one_socket` of one socket."""
    from vicinal import _core

    labels = _core.read_regions(regions, ranks)
    return _core.Machine(labels, labels, labels if one_socket else None)


def plan(
    strategy: str, problem: Problem, machine: Machine, profile: Profile, *, shared_memory: bool = True,
    idle_ranks_lead: bool = False, memory: str = "host", device_way: str | None = None,
) -> PlanSet:
    """The plans of all ranks, chosen by the profile. May take long, and can be interrupted.

    Without shared memory, ranks of a region exchange everything by messages. `memory` ("host" or
    "device") is the memory of the buffers. `device_way` is the transport of device buffers; None:
    the fastest.
    """
    return plan_patterns(
        strategy, problem.patterns, problem.planned_bytes, machine, profile, shared_memory=shared_memory,
        complete=problem.complete, idle_ranks_lead=idle_ranks_lead, memory=memory, device_way=device_way,
    )


def plan_patterns(
    strategy: str, patterns: Patterns, element_bytes: int, machine: Machine, profile: Profile, *,
    shared_memory: bool = True, one_block: bool = False, complete: bool = False, idle_ranks_lead: bool = False,
    memory: str = "host", device_way: str | None = None,
) -> PlanSet:
    """As plan(), for patterns. `one_block` is for allgathers, `complete` for communicators."""
    from vicinal import _core

    return interruptible(
        lambda: _core.PlanSet.plan(
            strategy, machine, patterns, element_bytes=element_bytes, profile=profile, shared_memory=shared_memory,
            one_block=one_block, complete=complete, idle_ranks_lead=idle_ranks_lead, memory=memory,
            device_way=device_way,
        )
    )


def values_of(megabytes: npt.NDArray[np.float64], exchanges: int) -> Integers:
    """Values per edge of one of `exchanges` exchanges, from these recorded totals; at least one."""
    return np.maximum(1, np.rint(megabytes * 1e6 / exchanges / RECORDED_BYTES)).astype(np.int64)


def _matrix(given: Input) -> Problem:
    if given.exchanges is not None:
        raise CommandError(
            f"--exchanges says what a recorded total stands for, and {given.name} is a matrix; leave it out, or give a "
            "pattern (.csv, .csv.gz)"
        )
    if given.ranks is None:
        raise CommandError("a matrix can be dealt out among any number of ranks; say by --ranks among how many")
    matrix = read_matrix(given.name)
    facts = {"matrix": matrix.describe()}
    if given.partition is None:
        starts = block_starts(matrix, given.ranks, idle=True)
    else:
        matrix, starts = partitioned(matrix, given.partition, given.ranks)
        facts["matrix"]["partition"] = given.partition
    about = f"{matrix.rows:,} rows" + (f" by {Path(given.partition).name}" if given.partition else "")
    about += f", {given.values} values each" if given.values > 1 else ""
    return halo_of(matrix, starts, about, {**facts, "values": given.values}, given.values)


def halo_of(matrix: Matrix, starts: Integers, about: str, facts: dict[str, Any], values: int = 1) -> Problem:
    """The halo exchange of a distributed matrix, for the product with `values` vectors."""
    from vicinal import _core

    ranks = len(starts) - 1
    needers, needed = needed_pairs(matrix, starts)
    idle = int((np.diff(starts) == 0).sum())
    return Problem(
        name=Path(matrix.name).name,
        about=about + (f" ({idle:,} ranks have none)" if idle else ""),
        ranks=ranks,
        patterns=_core.halo_patterns(ranks, starts, needers, needed),
        planned_bytes=HALO_PLANNED_BYTES,
        value_bytes=matrix.value_bytes * values,
        origins=needed,
        owners=np.searchsorted(starts, needed, side="right") - 1,
        needers=needers.astype(np.int64),
        weights=None,
        facts=facts,
    )


def _recorded(given: Input) -> Problem:
    for option, asked in (("--partition", given.partition is not None), ("--values", given.values != 1)):
        if asked:
            raise CommandError(
                f"{option} is for matrices, and {given.name} is a recorded pattern, whose ranks and bytes it says "
                "itself; leave it out"
            )
    exchanges = given.exchanges or 1
    run = read_recorded(given.name)
    ranks = given.ranks or run.ranks
    if ranks > run.ranks:
        raise CommandError(f"pattern {given.name} has {run.ranks} ranks; give --ranks at most as many, or leave it out")
    sources, destinations, megabytes = folded(run, ranks)
    counts = values_of(megabytes, exchanges)
    about = f"{len(sources):,} edges" + (f" of {run.ranks:,} ranks folded" if ranks < run.ranks else "")
    return Problem(
        name=Path(given.name).name,
        about=f"{about}, one of {exchanges:,} exchanges" if exchanges > 1 else about,
        ranks=ranks,
        patterns=edge_patterns(ranks, sources, destinations, counts),
        planned_bytes=RECORDED_BYTES,
        value_bytes=RECORDED_BYTES,
        origins=np.empty(0, np.int64),
        owners=sources,
        needers=destinations,
        weights=counts,
        facts={"pattern": run.describe(), "exchanges": exchanges},
        complete=len(sources) == ranks * (ranks - 1),
    )


def folded(run: Recorded, ranks: int) -> tuple[Integers, Integers, npt.NDArray[np.float64]]:
    """The edges when rank r acts as rank floor(ranks r / all): ascending, with summed weights."""
    ends = run.sources * ranks // run.ranks * ranks + run.destinations * ranks // run.ranks
    edges, places = np.unique(ends, return_inverse=True)
    weights = np.bincount(places, run.megabytes, len(edges))
    apart = edges // ranks != edges % ranks
    return edges[apart] // ranks, edges[apart] % ranks, weights[apart]


def edge_patterns(ranks: int, sources: Integers, destinations: Integers, counts: Integers) -> Patterns:
    """An exchange in which edge k carries counts[k] values of its own. Edges ascend."""
    from vicinal import _core

    out: list[list[tuple[int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    into: list[list[tuple[int, int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    sent, received = [0] * ranks, [0] * ranks
    for source, destination, count in zip(sources.tolist(), destinations.tolist(), counts.tolist(), strict=True):
        out[source].append((destination, [(sent[source], sent[source], count)]))
        into[destination].append((source, count, [(0, received[destination], count)]))
        sent[source] += count
        received[destination] += count
    return _core.Patterns.from_edges(out, into)
