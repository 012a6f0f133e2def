"""Priced plans of the papers' algorithms: the planner of each, and the transport inside regions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vicinal_command.inputs import plan_patterns
from vicinal_command.outputs import CommandError, interruptible
from vicinal_command.prices import predict

from ..benchmarks.workloads import Workload

if TYPE_CHECKING:
    from vicinal._core import Machine, Patterns, PlanSet, Profile


@dataclass(frozen=True)
class Algorithm:
    """One implementation of an exchange."""

    name: str
    """Name in the figures."""
    planner: str
    shared: bool = False
    """True if ranks of a host exchange values through shared memory; else by messages."""

    def plan(
        self, patterns: Patterns, element_bytes: int, machine: Machine, profile: Profile, *, one_block: bool = False,
        complete: bool = False,
    ) -> PlanSet:
        """The plans of all ranks."""
        return plan_patterns(
            self.planner, patterns, element_bytes, machine, profile, shared_memory=self.shared, one_block=one_block,
            complete=complete,
        )


def microseconds(plans: PlanSet, profile: Profile, element_bytes: int) -> float:
    """Predicted time of one execution."""
    return interruptible(partial(predict, plans, profile, element_bytes)).microseconds


def machine_of(ranks: int, ranks_per_host: int, sockets: int, *, regions: str) -> Machine:
    """Hosts of `sockets` sockets each. The planners' regions are those sockets, or the hosts."""
    from vicinal import _core

    if ranks % ranks_per_host or ranks_per_host % sockets:
        raise CommandError(
            f"{ranks} ranks do not fill hosts of {ranks_per_host} ranks and {sockets} sockets; give another --fraction"
        )
    hosts = np.arange(ranks, dtype=np.int32) // ranks_per_host
    domains = np.arange(ranks, dtype=np.int32) // (ranks_per_host // sockets)
    return _core.Machine(domains if regions == "sockets" else hosts, hosts, domains)


def gather_patterns(graph: Workload) -> Patterns:
    """The neighborhood allgather of a graph: each rank sends the same block on all of its edges."""
    from vicinal import _core

    block = [(0, 0, 1)]
    places = [[(0, place, 1)] for place in range(max(np.bincount(graph.destinations, minlength=1)))]

    def sides(starts: Iterable[int], others: Iterable[int]) -> list[list[int]]:
        firsts, ranks = list(starts), list(others)
        return [ranks[firsts[rank] : firsts[rank + 1]] for rank in range(graph.ranks)]

    out_starts, destinations = graph.outgoing()
    in_starts, sources = graph.incoming()
    out = [[(rank, block) for rank in ranks] for ranks in sides(out_starts.tolist(), destinations.tolist())]
    into = [
        [(rank, 1, places[place]) for place, rank in enumerate(ranks)]
        for ranks in sides(in_starts.tolist(), sources.tolist())
    ]
    return _core.Patterns.from_edges(out, into, True)


def fraction_of(count: int, fraction: int, least: int) -> int:
    """A fraction of a number of nodes, but at least `least`."""
    return max(least, count // fraction)
