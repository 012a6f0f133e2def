"""`vicinal bench choice`: how well `automatic` chooses, on matrices, recorded runs and random graphs.

It times all strategies and MPI's own MPI_Neighbor_alltoallv twice, on newly started ranks. The
first run decides which strategy is the best in a case. The second run tells how much longer
`automatic` takes than that one. The minimum of many noisy times, compared with times of the same
run, would look too good. `automatic` participates twice, so that the result of noise alone is
shown. If the regions are known in advance, each strategy's predicted time is shown beside the
measured one. The ranks run ranks/neighbor_alltoallv.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vicinal_command.outputs import CommandError
from vicinal_command.prices import profile_of
from vicinal_command.ranks.process import AGAIN, AUTOMATIC, COUNTED, SETTLED_AFTER
from vicinal_command.report import tables_beside
from vicinal_command.tables import Column, duration, ratio, show, size, timed

from .competition import MPI_AGAIN, MPI_OWN, Results, Terms, compete
from .tables import Timed
from .transfers import Transfers, alike, matrix_halo, predicted, random_halo, recorded_transfers
from .verdicts import Judged, Summary, judge, of_strategies, summarize
from .workloads import made_of, random_sparse

if TYPE_CHECKING:
    from vicinal._core import Profile

CASES = "patterns, matrices and random graphs"

CASE_COLUMNS = (
    Column("case", lambda row: str(row["workload"]), left=True),
    Column("edges\nper rank", lambda row: f"{row['edges'] / row['ranks']:.1f}"),
    Column("bytes\nper rank", lambda row: size(row["bytes"] / row["ranks"])),
    Column("MPI", timed("mpi_us")),
    Column("automatic", timed("automatic_us")),
    Column("best", lambda row: str(row["best"]), left=True),
    Column("\n", timed("best_us")),
    Column("automatic\nover best", lambda row: ratio(row["regret"])),
    Column("over\nitself", lambda row: ratio(row["control"])),
    Column("over\nMPI", lambda row: ratio(row["to_mpi"])),
    Column("MPI over\nitself", lambda row: ratio(row["mpi_control"])),
)
STRATEGY_COLUMNS = (
    Column("strategy", lambda row: str(row["strategy"]), left=True),
    Column("best in", lambda row: str(row["best_in"])),
    Column("over the best:\ngeometric mean", lambda row: ratio(row["over_best"])),
    Column("95th\npercentile", lambda row: ratio(row["over_best_95"])),
    Column("most", lambda row: ratio(row["over_best_most"])),
    Column("over MPI:\ngeometric mean", lambda row: ratio(row["to_mpi"])),
    Column("most", lambda row: ratio(row["to_mpi_most"])),
    Column("predicted over\nmeasured: median", lambda row: ratio(row["predicted"])),
    Column("least", lambda row: ratio(row["predicted_least"])),
    Column("most", lambda row: ratio(row["predicted_most"])),
    Column("typically\noff by", lambda row: "-" if row["off"] is None else f"× {row['off']:.2f}"),
)


class ChoiceRow(Timed):
    """One contestant's results in one case, of the second run. `bytes` is of all edges."""

    edges: int
    bytes: int
    setup_us: float
    first_median_us: float
    """Median of the first run, which picks the best."""
    predicted_us: float | None
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None


class CaseRow(Judged):
    """Results of one case."""

    workload: str
    ranks: int
    edges: int
    bytes: int


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench choice`."""

    ranks: int
    patterns: Sequence[str]
    exchanges: int
    """Number of exchanges in a recorded total."""
    matrices: Sequence[str]
    densities: Sequence[float]
    sizes: Sequence[int]
    """Bytes per edge of the random graphs of these densities."""
    probabilities: Sequence[float]
    values: int
    """Values per rank, each of which every other rank needs with these probabilities."""
    predicted: bool
    """True if the regions are known in advance, so that times are predicted."""
    terms: Terms


def choice(request: Request) -> int:
    """Runs twice, compares, shows the tables and writes the files. Returns the exit status."""
    terms = replace(request.terms, contestants=[*request.terms.contestants, AUTOMATIC + AGAIN])
    profile = profile_of(terms.profile)
    cases = list_cases(request)
    prices: Sequence[Mapping[str, float]] = [{} for _ in cases]
    if request.predicted:
        prices = predicted(cases, terms.contestants[:-1], terms.regions, profile)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, case in enumerate(cases):
        arrays.update(case.arrays(number))
    described = [{"has_items": case.items is not None} for case in cases]
    first, second = (
        compete(terms, "neighbor_alltoallv", request.ranks, described, arrays) for _ in range(2)
    )
    rows = _rows(terms, cases, first, second, prices)
    judged = [
        CaseRow(
            workload=case.name, ranks=case.ranks, edges=case.edges, bytes=case.bytes,
            **judge(_turns(terms, first, number), _turns(terms, second, number), AUTOMATIC, MPI_OWN),
        )
        for number, case in enumerate(cases)
    ]
    summary = summarize(judged)
    if terms.json:
        facts = {**made_of(cases), **second.facts, "cases": judged, "summary": summary}
        terms.json.write(rows, facts, profile.name)
    if terms.plot:
        from .plots import plot_bench

        plot, panels = terms.plot, {"exchanges with counts": rows}
        plot.write(lambda path: plot_bench(path, plot.kind, _title(request, second), panels))
    _show(request, second, profile, rows, judged, summary)
    wrong = sorted({row["strategy"] for row in rows if not row["correct"]})
    if wrong:
        raise CommandError(f"what arrived was wrong under {', '.join(wrong)}; please report this")
    return 0


def list_cases(request: Request) -> list[Transfers]:
    """Lists all cases, except those without edges."""
    cases = [each for path in request.patterns for each in recorded_transfers(path, request.ranks, request.exchanges)]
    cases += [matrix_halo(name, request.ranks) for name in request.matrices]
    cases += [alike(random_sparse(request.ranks, each), size) for each in request.densities for size in request.sizes]
    cases += [random_halo(request.ranks, request.values, each) for each in request.probabilities]
    cases = [case for case in cases if case.edges]
    if not cases:
        raise CommandError(f"nothing to exchange in the {CASES} that were given; give others, or more ranks")
    return cases


def _turns(terms: Terms, results: Results, number: int) -> dict[str, npt.NDArray[Any]]:
    return {name: results.turns_us(number, index) for index, name in enumerate(terms.all_contestants)}


def _rows(
    terms: Terms, cases: Sequence[Transfers], first: Results, second: Results,
    prices: Sequence[Mapping[str, float]],
) -> list[ChoiceRow]:
    rows = []
    for number, case in enumerate(cases):
        for index, contestant in enumerate(terms.all_contestants):
            row = ChoiceRow(
                workload=case.name,
                ranks=case.ranks,
                edges=case.edges,
                bytes=case.bytes,
                strategy=contestant,
                setup_us=second.setup_us(number, index),
                **second.measured(number, index),
                first_median_us=round(float(np.median(first.turns_us(number, index))), 3),
                predicted_us=prices[number].get(contestant),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                correct=first.correct(number, index) and second.correct(number, index),
            )
            if contestant not in (MPI_OWN, MPI_AGAIN):
                sent = second.counts(number, index)[:, COUNTED.index("nonlocal_messages")]
                row["nonlocal_messages"], row["nonlocal_messages_max"] = int(sent.sum()), int(sent.max())
            rows.append(row)
    return rows


def _title(request: Request, results: Results) -> str:
    return f"exchanges with counts on {request.ranks:,} ranks ({results.mpi.abi}), regions {request.terms.regions}"


def _show(
    request: Request, results: Results, profile: Profile, rows: Sequence[ChoiceRow], judged: Sequence[CaseRow],
    summary: Summary,
) -> None:
    terms, stream = request.terms, tables_beside(request.terms.json)
    limit = f", at most {duration(terms.turn_seconds * 1e6)} of them" if terms.turn_seconds else ""
    notes = [
        f"times: the slowest rank's mean of up to {terms.iterations} in a row{limit}; medians of {terms.repetitions} "
        "turns, contestants in turn, of a second run; ratios: medians of those of each turn",
        "best: the strategy, other than automatic, of the least median in a first run, whose ranks were others; so "
        "automatic may take less than it",
        "over itself: a control, the same twice, in turns of its own",
        f"automatic: after {SETTLED_AFTER} exchanges, in which it tries its alternatives",
    ]
    show(_title(request, results), judged, CASE_COLUMNS, notes, stream=stream)
    strategies = of_strategies(rows, terms.contestants, [row["best"] for row in judged], MPI_OWN)
    about = ["over the best, over MPI: medians of the second run"]
    if request.predicted:
        about.append(
            f"predicted: by the profile {profile.name}, of one exchange that all ranks begin at once; measured: medians"
        )
    show(
        f"all {len(judged)} cases", strategies, STRATEGY_COLUMNS, about, stream=stream,
        findings=summary["said"],
    )
