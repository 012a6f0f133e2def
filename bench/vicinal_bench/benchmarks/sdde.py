"""`vicinal bench sdde`: sparse dynamic data exchanges, timed beside MPI's own way, or counted.

Each rank knows what it needs from which ranks, and asks for it. The owners do not know in advance
who asks, nor for how much. MPI's own version sends the sizes by MPI_Alltoall and then the messages.
Timing works as in the other benchmarks (competition.py), on the ranks of ranks/sdde.py. Counting
starts no ranks: the messages of a method follow from the requests, at any number of ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from vicinal_command.matrices import block_starts, read_matrix
from vicinal_command.outputs import progress
from vicinal_command.prices import profile_of
from vicinal_command.report import tables_beside
from vicinal_command.tables import Column, duration, ratio, show, size, timed, whole

from .competition import Terms, compete, conclude
from .sdde_times import method_times, two_hops_time
from .tables import CONTESTANT, TIMES, VERDICT, WORKLOAD, Timed, per_rank
from .workloads import Requests, all_to_few_requests, few_requests, made_of, matrix_requests, random_requests

if TYPE_CHECKING:
    from vicinal._core import Traffic

METHODS = ("personalized", "nonblocking", "locality", "locality-personalized", "automatic")
PUBLISHED = "locality, as published"
VALUE_BYTES = 8
FEW_VALUES = 3
"""Values requested from each of a few partners or receivers, as in the random workload, about."""

_MESSAGES = (
    WORKLOAD,
    Column("messages\nper rank", per_rank("messages"), of_case=True),
    Column("bytes\nper rank", lambda row: size(row["bytes"] / row["ranks"]), of_case=True),
)
TIMED_COLUMNS = (*_MESSAGES, CONTESTANT, *TIMES, VERDICT)
COUNTED_COLUMNS = (
    _MESSAGES[0],
    Column("region\npairs", whole("region_pairs"), of_case=True),
    Column("at least\nper rank", whole("least_max"), of_case=True),
    CONTESTANT,
    Column("non-local\nmessages", whole("nonlocal_messages")),
    Column("most\nper rank", whole("nonlocal_messages_max")),
    Column("mean\nper rank", per_rank("nonlocal_messages")),
    Column("with\npayload", whole("payload_messages")),
    Column("most\nof them", whole("payload_messages_max")),
    Column("to\npairs", lambda row: ratio(row["ratio_to_region_pairs"])),
    Column("predicted", timed("predicted_us")),
)


class TimedRow(Timed):
    """A method's times on one workload. Messages and bytes are those of users, for all ranks."""

    messages: int
    bytes: int


class CountedRow(TypedDict):
    """Messages of a method to other regions in one exchange, on one workload."""

    workload: str
    ranks: int
    regions: int
    messages: int
    """Messages of users, to any rank."""
    bytes: int
    region_pairs: int
    """Ordered pairs of regions with data: a lower bound of messages for every method."""
    least_max: int
    """The most pairs of one region, divided evenly among its ranks."""
    strategy: str
    nonlocal_messages: int
    nonlocal_messages_max: int
    payload_messages: int
    """Messages with user data."""
    payload_messages_max: int
    protocol_messages: int
    """Messages that the method itself needs."""
    messages_inside_mpi: int
    """Messages inside a collective of MPI that the method calls, counted as a dissemination."""
    ratio_to_region_pairs: float | None
    predicted_us: float | None
    """Prediction by the profile; None for the published algorithm."""


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench sdde`."""

    ranks: int
    probabilities: Sequence[float]
    values: int
    """Values that each rank owns, in a random workload."""
    partners: Sequence[int]
    receivers: Sequence[int]
    matrices: Sequence[str]
    terms: Terms


def sdde(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    terms = request.terms
    cases = list_cases(request)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, case in enumerate(cases):
        first = np.searchsorted(case.sources, np.arange(case.ranks + 1))
        of_case = {"first": first, "owners": case.destinations, "starts": case.starts, "values": case.values}
        arrays.update({f"{number}-{name}": array for name, array in of_case.items()})
    results = compete(terms, "sdde", request.ranks, [{} for _ in cases], arrays)
    rows = [
        TimedRow(
            workload=case.name,
            ranks=case.ranks,
            messages=case.edges,
            bytes=len(case.values) * VALUE_BYTES,
            strategy=contestant,
            **results.measured(number, index),
            correct=results.correct(number, index),
        )
        for number, case in enumerate(cases)
        for index, contestant in enumerate(terms.all_contestants)
    ]
    title = f"sparse exchange on {request.ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}"
    notes = [
        *terms.notes("exchange", "MPI_Alltoall of counts and then messages"),
        "methods: vicinal.sparse_exchange, in which the ranks also agree on a type, by an allreduce",
    ]
    facts = {**made_of(cases), **results.facts}
    return conclude(terms, title, TIMED_COLUMNS, notes, rows, {"sparse exchange": rows}, facts)


def count(request: Request) -> int:
    """Counts without running; shows the table and writes the rows. Returns the exit status."""
    from vicinal import _core

    terms = request.terms
    labels = _core.read_regions(terms.regions, request.ranks)
    machine, profile = _core.Machine(labels, labels), profile_of(None)
    members = np.bincount(machine.region_of)
    cases = list_cases(request)
    rows: list[CountedRow] = []
    two_hops: dict[str, float | None] = {}
    with progress("counting", len(cases)) as advance:
        for number, case in enumerate(cases):
            sizes = np.diff(case.starts) * VALUE_BYTES
            sources, targets = case.sources.astype(np.int32), case.destinations.astype(np.int32)
            traffic = _core.Traffic(machine, sources, targets, sizes)
            two_hops[case.name] = two_hops_time(case, machine, profile)
            rows += _count(case, members, traffic, terms.contestants, method_times(case, machine, profile))
            advance(number + 1)
    if terms.json:
        facts = {**made_of(cases), "ranks": request.ranks, "regions": terms.regions, "region_count": machine.regions}
        terms.json.write(rows, {**facts, "two_hops_us": two_hops}, profile.name)
    notes = [
        "region pairs: ordered pairs of regions of which the first has something for the second; at least "
        "per rank: the most of one region, dealt out to its ranks",
        "non-local messages: those with payload, those of the protocol, and those inside a collective of MPI's "
        "(as many as in a dissemination); every region is taken to be a host",
        "with payload, of personalized and nonblocking: the standard, one message for each rank and partner",
        f"{PUBLISHED}: one message for each rank and region (Geyko and Bienz 2023, algorithm 3)",
        f"predicted: messages as plans, and what else a method needs in closed forms, by the profile {profile.name}",
    ]
    told = [f"{name} {duration(time)}" for name, time in two_hops.items() if time is not None]
    if told:
        notes.append(f"by way of other regions, as no method goes, is predicted to take: {', '.join(told)}")
    if "automatic" in terms.contestants:
        notes.append(f"automatic stands for {_core.chosen_exchange(machine, profile=profile)} here")
    title = f"sparse exchange on {request.ranks:,} virtual ranks in {machine.regions:,} regions"
    show(title, rows, COUNTED_COLUMNS, notes, stream=tables_beside(terms.json))
    return 0


def _count(
    case: Requests, members: npt.NDArray[np.int64], traffic: Traffic, methods: Sequence[str], times: Mapping[str, float]
) -> list[CountedRow]:
    pairs = traffic.region_pairs()
    counted: dict[str, Mapping[str, npt.NDArray[np.int64]]] = {}
    for method in methods:
        if method == "locality":
            counted[PUBLISHED] = traffic.count_as_published()
        counted[method] = traffic.count(method)
    rows = []
    for method, by_kind in counted.items():
        all_kinds = sum(by_kind.values())
        total, least = int(np.sum(all_kinds)), int(pairs.sum())
        rows.append(CountedRow(
            workload=case.name,
            ranks=case.ranks,
            regions=len(pairs),
            messages=case.edges,
            bytes=len(case.values) * VALUE_BYTES,
            region_pairs=least,
            least_max=int(np.ceil(pairs / members).max()),
            strategy=method,
            nonlocal_messages=total,
            nonlocal_messages_max=int(np.max(all_kinds)),
            payload_messages=int(by_kind["payload"].sum()),
            payload_messages_max=int(by_kind["payload"].max()),
            protocol_messages=int(by_kind["protocol"].sum()),
            messages_inside_mpi=int(by_kind["inside_mpi"].sum()),
            ratio_to_region_pairs=round(total / least, 4) if least else None,
            predicted_us=times.get(method),
        ))
    return rows


def list_cases(request: Request) -> list[Requests]:
    """Every workload, on `request.ranks` ranks."""
    cases = [random_requests(request.ranks, request.values, each) for each in request.probabilities]
    cases += [few_requests(request.ranks, each, FEW_VALUES) for each in request.partners]
    cases += [all_to_few_requests(request.ranks, each, FEW_VALUES) for each in request.receivers]
    for name in request.matrices:
        matrix = read_matrix(name)
        cases.append(matrix_requests(matrix, block_starts(matrix, request.ranks)))
    return cases
