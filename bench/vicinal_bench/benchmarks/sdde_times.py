"""Predicted time of a sparse exchange by each method, for known requests.

The messages of a method are a plan, priced. It has one message per edge of the workload, or one per
pair of regions between its two leaders (src/locality/machine.hpp). Closed forms add all other
costs, as in src/cost/exchange_method.cpp: sums of counts, a consensus, receipts, and copies between
ranks of a region. Costs that overlap are added, too, so the results are upper bounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vicinal_command.inputs import edge_patterns, plan_patterns
from vicinal_command.matrices import Integers
from vicinal_command.outputs import interruptible
from vicinal_command.prices import predict

from .workloads import Requests

if TYPE_CHECKING:
    from vicinal._core import LevelCost, Machine, Profile

WORD = 8
"""Bytes of a value and of a count, and the alignment of records."""
HEADER = 16
"""Bytes of a record's header."""


def method_times(requests: Requests, machine: Machine, profile: Profile) -> Mapping[str, float]:
    """Microseconds by method. Every region is a host, whose ranks share memory."""
    from vicinal import _core

    far = profile.levels["network" if machine.regions > 1 else "node"]
    sent = one_each(requests.sources, requests.destinations, np.diff(requests.starts), machine, profile)
    gathered, between, to_all = _by_region(requests, machine, profile)
    receipts = us(far, 0)
    agreed = rounds(machine.regions) * us(far, WORD) + 1e6 * profile.handover * _largest(machine)
    times = {
        "personalized": sent + _sums_of_counts(far, machine.size),
        "nonblocking": sent + receipts + rounds(machine.size) * us(far, WORD),
        "locality": gathered + between + receipts + agreed,
        "locality-personalized": gathered + to_all,
    }
    times["automatic"] = times[_core.chosen_exchange(machine, profile=profile)]
    return {method: round(time, 3) for method, time in times.items()}


def two_hops_time(requests: Requests, machine: Machine, profile: Profile) -> float | None:
    """Microseconds of an exchange in two hops between regions: the best case of a tree.

    No method of the library does that. Regions form a grid, as nearly square as their number
    allows. A message goes from one region to another along a row, and then along a column. Each
    region has messages for all of its row and its column, so no further agreement is needed. The
    region between gathers and hands over once more. None if there is no such grid.
    """
    regions = machine.regions
    rows = next((each for each in range(math.isqrt(regions), 1, -1) if regions % each == 0), None)
    if rows is None:
        return None
    region_of, members = _members(machine)
    width = regions // rows
    row, column = np.divmod(np.arange(regions), width)
    source, target = region_of[requests.sources], region_of[requests.destinations]
    between = row[source] * width + column[target]
    words = HEADER // WORD + np.diff(requests.starts)
    passing = np.zeros(machine.size)

    def hop(begin: Integers, end: Integers, along: Integers, place: Integers) -> float:
        """Time of messages between regions with equal `along`. Members number `place` lead them."""
        crossing = begin != end
        leaders = np.array([[of[each % len(of)] for each in place] for of in members])
        np.add.at(passing, (leaders[begin, end] if place is row else leaders[end, begin])[crossing], words[crossing])
        carried = np.bincount((begin * regions + end)[crossing], words[crossing], regions * regions).astype(np.int64)
        one, other = np.nonzero((along[:, None] == along) & (place[:, None] != place))
        sizes = carried.reshape(regions, regions)[one, other] + 1
        return one_each(leaders[one, other], leaders[other, one], sizes, machine, profile)

    hops = hop(source, between, row, column) + hop(between, target, column, row)
    meeting = _largest(machine) * profile.handover + passing.max(initial=0) * WORD * profile.copy_seconds_per_byte
    return round(_by_region(requests, machine, profile)[0] + hops + 1e6 * meeting, 3)


def _members(machine: Machine) -> tuple[Integers, list[Integers]]:
    """The region of each rank, and the ranks of each region."""
    region_of = np.asarray(machine.region_of, np.int64)
    return region_of, [np.flatnonzero(region_of == region) for region in range(machine.regions)]


def _by_region(requests: Requests, machine: Machine, profile: Profile) -> tuple[float, float, float]:
    """Times to hand over, of the messages of pairs with data, and of the messages of all pairs."""
    region_of, members = _members(machine)
    regions = machine.regions
    leaders = np.array([[of[other % len(of)] for other in range(regions)] for of in members])
    source, target = region_of[requests.sources], region_of[requests.destinations]
    words = HEADER // WORD + np.diff(requests.starts)
    crossing = source != target
    # One rank writes it and another reads it; then once more in the other region.
    first = np.where(crossing, leaders[source, target], requests.destinations)
    copied = np.bincount(requests.sources, words, machine.size) + np.bincount(first, words, machine.size)
    last, of_last = leaders[target, source][crossing], words[crossing]
    copied += np.bincount(last, of_last, machine.size)
    copied += np.bincount(requests.destinations[crossing], of_last, machine.size)
    stages = 2 if regions > 1 else 1
    looks = stages * _largest(machine) * profile.handover
    gathered = 1e6 * (looks + float(copied.max(initial=0)) * WORD * profile.copy_seconds_per_byte)
    carried = np.bincount(source[crossing] * regions + target[crossing], of_last, regions * regions).astype(np.int64)
    carried = carried.reshape(regions, regions)
    others = ~np.eye(regions, dtype=bool)

    def messages(pairs: npt.NDArray[np.bool_], more: int) -> float:
        one, other = np.nonzero(pairs)
        return one_each(leaders[one, other], leaders[other, one], carried[one, other] + more, machine, profile)

    return gathered, messages(carried > 0, 0), messages(others, 1)


def one_each(
    sources: npt.NDArray[Any], destinations: npt.NDArray[Any], words: Integers, machine: Machine, profile: Profile
) -> float:
    """Microseconds of one message on each edge, of `words` words. Edges may be in any order."""
    order = np.lexsort((destinations, sources))
    patterns = edge_patterns(machine.size, sources[order], destinations[order], words[order])
    plans = plan_patterns(
        "direct", patterns, WORD, machine, profile, shared_memory=False, one_block=False, complete=False
    )
    return interruptible(partial(predict, plans, profile, WORD)).microseconds


def _largest(machine: Machine) -> int:
    return int(np.bincount(machine.region_of).max())


def rounds(among: int) -> int:
    return math.ceil(math.log2(among))


def us(level: LevelCost, bytes_: int) -> float:
    return 1e6 * level.seconds(bytes_)


def _sums_of_counts(far: LevelCost, ranks: int) -> float:
    """Each round has half as many counts as the one before."""
    steps = [1 << step for step in range(rounds(ranks))]
    return sum(us(far, WORD * -(-(ranks - step) // (2 * step))) for step in steps)
