"""`vicinal bench amg --run`: the exchanges of a multigrid hierarchy's levels, run and timed on MPI ranks.

Each level's halo exchange is a case of the competition (competition.py), by MPI_Neighbor_alltoallv
and under strategies. The sum in each turn has one exchange of every level. The ranks run
ranks/neighbor_alltoallv.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from vicinal_command.outputs import CommandError
from vicinal_command.prices import profile_of
from vicinal_command.ranks.process import COUNTED
from vicinal_command.report import tables_beside
from vicinal_command.tables import Column, duration, ratio, show, timed, whole

from .amg import Request
from .amg_levels import Hierarchies, check_ranks
from .competition import MPI_AGAIN, MPI_OWN, Results, Terms, compete
from .tables import CONTESTANT, VERDICT, Timed
from .transfers import Transfers, predicted, wanted

if TYPE_CHECKING:
    from vicinal._core import Profile

STRATEGIES = ("direct", "aggregate-plain", "aggregate", "automatic")
BUILDS = 3
"""Number of set-ups of each contestant; the fastest counts."""

LEVEL_COLUMNS = (
    Column("level", lambda row: str(row["level"]), of_case=True),
    Column("rows", whole("level_rows"), of_case=True),
    CONTESTANT,
    Column("set-up", timed("setup_us")),
    Column("median", timed("exchange_median_us")),
    Column("to\nMPI", lambda row: ratio(row["median_ratio_to_mpi"])),
    Column("pre-\ndicted", timed("predicted_us")),
    Column("most non-local\nmessages", whole("nonlocal_messages_max")),
    VERDICT,
)
SUM_COLUMNS = (
    CONTESTANT,
    Column("set-up", timed("setup_us")),
    Column("exchanges", timed("exchanges_us")),
    Column("to\nMPI", lambda row: ratio(row["ratio_to_mpi"])),
    Column("pre-\ndicted", timed("predicted_us")),
    Column(
        "over\nmeasured", lambda row: ratio(row["predicted_us"] / row["exchanges_us"] if row["predicted_us"] else None)
    ),
    Column("pays after\niterations", lambda row: "-" if row["crossover"] is None else f"{row['crossover']:,.0f}"),
)


class RunRow(Timed):
    """One contestant's exchange on one level."""

    level: int
    level_rows: int
    setup_us: float
    predicted_us: float | None
    """Prediction by the profile, if every region is a host."""
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None


class SumRow(TypedDict):
    """One contestant's exchanges of all levels."""

    strategy: str
    setup_us: float
    """Sum over all levels: communicator or graph, and plan."""
    exchanges_us: float
    """One exchange of every level: the median turn."""
    ratio_to_mpi: float
    """Median of the ratios of each turn."""
    predicted_us: float | None
    """Prediction for one exchange of every level."""
    crossover: float | None
    """Number of iterations that make up for a longer set-up; None if none do."""


@dataclass(frozen=True)
class RunRequest:
    """Arguments of `vicinal bench amg --run`."""

    problem: Request
    terms: Terms


def amg_run(request: RunRequest) -> int:
    """Runs, checks and times; shows the tables and writes the files. Returns the exit status."""
    problem, terms = request.problem, request.terms
    if len(problem.ranks) != 1:
        raise CommandError("--run starts one number of ranks; give one by --ranks")
    (ranks,) = problem.ranks
    check_ranks(ranks, problem.ranks_per_region)
    profile = profile_of(terms.profile)
    cases, sizes = _cases(problem, ranks)
    prices = predicted(cases, terms.contestants, terms.regions, profile)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, case in enumerate(cases):
        arrays.update(case.arrays(number))
    described = [{"has_items": True} for _ in cases]
    results = compete(terms, "neighbor_alltoallv", ranks, described, arrays, BUILDS)
    rows = _rows(terms, cases, sizes, results, prices)
    turns = {
        name: np.sum([results.turns_us(number, index) for number in range(len(cases))], axis=0)
        for index, name in enumerate(terms.all_contestants)
    }
    setup = {
        name: sum(row["setup_us"] for row in rows if row["strategy"] == name) for name in terms.all_contestants
    }
    all_levels = {name: sum(levels[name] for levels in prices) for name in terms.contestants}
    sums = sum_up(turns, setup, all_levels)
    if terms.json:
        terms.json.write(rows, {**problem.facts(), **results.facts, "sums": sums}, profile.name)
    if terms.plot:
        from .plots import plot_bench

        plot = terms.plot
        plot.write(lambda path: plot_bench(path, plot.kind, _title(cases, results, terms), {"levels": rows}))
    _show(cases, profile, results, terms, rows, sums)
    wrong = sorted({row["strategy"] for row in rows if not row["correct"]})
    if wrong:
        raise CommandError(f"what arrived was wrong under {', '.join(wrong)}; please report this")
    return 0


def _cases(problem: Request, ranks: int) -> tuple[list[Transfers], list[int]]:
    """Levels with an exchange, and their numbers of rows. A case's name is its level's number."""
    cases, sizes = [], []
    for level in Hierarchies().levels(problem.rows_of(ranks), ranks, problem.ranks_per_region):
        case = wanted(str(level.number), level.starts, level.problem.needers, level.problem.origins)
        if case.edges:
            cases.append(case)
            sizes.append(level.matrix.rows)
    if not cases:
        raise CommandError("no rank needs anything of another; give more rows or more ranks")
    return cases, sizes


def _rows(
    terms: Terms, cases: Sequence[Transfers], sizes: Sequence[int], results: Results,
    prices: Sequence[Mapping[str, float]],
) -> list[RunRow]:
    rows = []
    for number, case in enumerate(cases):
        for index, contestant in enumerate(terms.all_contestants):
            row = RunRow(
                workload=f"level {case.name}",
                ranks=case.ranks,
                strategy=contestant,
                level=int(case.name),
                level_rows=sizes[number],
                setup_us=results.setup_us(number, index),
                **results.measured(number, index),
                predicted_us=prices[number].get(contestant),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                correct=results.correct(number, index),
            )
            if contestant not in (MPI_OWN, MPI_AGAIN):
                sent = results.counts(number, index)[:, COUNTED.index("nonlocal_messages")]
                row["nonlocal_messages"], row["nonlocal_messages_max"] = int(sent.sum()), int(sent.max())
            rows.append(row)
    return rows


def sum_up(
    turns: Mapping[str, npt.NDArray[Any]], setup: Mapping[str, float], prices: Mapping[str, float]
) -> list[SumRow]:
    """Sums over all levels, from the time in each turn, the set-up and the predictions."""
    found: list[SumRow] = []
    for name, mine in turns.items():
        own = turns[MPI_OWN]
        saved = float(np.median(own - mine))
        longer = setup[name] - setup[MPI_OWN]
        pays = longer / saved if saved > 0 and name not in (MPI_OWN, MPI_AGAIN) else None
        found.append(SumRow(
            strategy=name,
            setup_us=round(setup[name], 3),
            exchanges_us=round(float(np.median(mine)), 3),
            ratio_to_mpi=round(float(np.median(mine / own)), 4),
            predicted_us=round(prices[name], 3) if name in prices else None,
            crossover=None if pays is None else round(max(0.0, pays), 1),
        ))
    return found


def _title(cases: Sequence[Transfers], results: Results, terms: Terms) -> str:
    ranks = f"{cases[0].ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}"
    return f"exchanges of {len(cases)} AMG levels on {ranks}"


def _show(
    cases: Sequence[Transfers], profile: Profile, results: Results, terms: Terms, rows: Sequence[RunRow],
    sums: Sequence[SumRow],
) -> None:
    stream = tables_beside(terms.json)
    limit = f", at most {duration(terms.turn_seconds * 1e6)} of them" if terms.turn_seconds else ""
    notes = [
        f"median: of {terms.repetitions} turns, contestants in turn, the slowest rank's mean of up to "
        f"{terms.iterations} exchanges in a row{limit}",
        f"{MPI_AGAIN}: the same as {MPI_OWN}, MPI_Neighbor_alltoallv, so that its ratio's distance from 1 is noise",
        f"set-up: the best of {BUILDS}; MPI's is MPI_Dist_graph_create_adjacent, vicinal's its graph and plan",
    ]
    show(_title(cases, results, terms), rows, LEVEL_COLUMNS, [], stream=stream)
    notes.append(
        f"predicted: by the profile {profile.name}, of one exchange that all ranks begin at once, each region a host"
    )
    about = [
        "exchanges: one on every level; pays after: so many of them make up for a longer set-up than MPI's", *notes
    ]
    show("one exchange on every level", sums, SUM_COLUMNS, about, stream=stream)
