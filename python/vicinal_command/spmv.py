"""`vicinal spmv`: a real matrix's halo exchange, run and timed under every strategy and by MPI alone.

It answers "faster than what I have?", so MPI's own collective and messages by hand are contestants.
It also shows the noise: one strategy has two contestants, and their difference is noise. The ranks
run ranks/spmv.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from .inputs import halo_of, plan, read_machine
from .matrices import Integers, Matrix, block_starts, needed_pairs, read_matrix, require_finite
from .outputs import CommandError, OutputFile
from .prices import predict, profile_of
from .ranks.halo_exchanges import BY_HAND, KINDS, MPI_OWN
from .ranks.process import AGAIN, COUNTED, SETTLED_AFTER
from .report import Report, tables_beside
from .rows import LOCAL_NOTE, Row, make_row
from .runs import check_regions, find_launcher, run_folder, run_ranks, said_in, write_run
from .tables import VERIFIED, Column, duration, in_bytes, listed, ratio, show, timed, whole

PROGRAM = f"{__package__}.ranks.spmv"
BUILDS = 3
"""Number of set-ups of each contestant; the fastest counts."""
TOLERANCE = 1e-12
"""Allowed error of y, per row, relative to |A| |x|."""
NOISE = 0.1
"""Relative difference of one strategy's two contestants above which the run is too noisy."""
LEAST_REPETITIONS = 4
"""Least number of repetitions for meaningful quartiles."""


class SpmvRow(Row):
    """One contestant's results, with times."""

    exchange_lower_quartile_us: float
    exchange_upper_quartile_us: float
    ratio_to_mpi: float
    """Ratio of the best times: this contestant's over that of MPI's own collective."""
    median_ratio_to_direct: float
    median_ratio_to_mpi: float
    empty_call_us: float
    """Time of the same calls without any data to exchange."""
    predicted_us: float | None
    """Prediction by the profile, if the regions are known in advance; they count as hosts."""


class Control(TypedDict):
    """One strategy against itself."""

    strategy: str
    spread: float
    """Relative excess of the longer of its two medians over the shorter."""
    noisy: bool


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal spmv`."""

    matrix: str
    ranks: int
    regions: str
    strategies: Sequence[str]
    """The baseline first."""
    iterations: int
    repetitions: int
    mpi: str | None
    json: Report | None
    plot: OutputFile | None
    predicted: bool
    """True if the regions are known in advance, so that times are predicted."""

    @property
    def contestants(self) -> list[str]:
        """All contestants, in the order of their turns. The control is the last."""
        return [*self.strategies, MPI_OWN, BY_HAND, self.strategies[0] + AGAIN]


def _quartiles(row: SpmvRow) -> str:
    return f"{duration(row['exchange_lower_quartile_us'])} - {duration(row['exchange_upper_quartile_us'])}"


COLUMNS = (
    Column("contestant", lambda row: str(row["strategy"]), left=True),
    Column("set-up", timed("setup_us")),
    Column("median", timed("exchange_median_us"), kept=True),
    Column("quartiles", _quartiles, kept=True),
    Column("to\ndirect", lambda row: ratio(row["median_ratio_to_direct"]), kept=True),
    Column("to\nMPI", lambda row: ratio(row["median_ratio_to_mpi"]), kept=True),
    Column("best", timed("exchange_us")),
    Column("empty\ncall", timed("empty_call_us")),
    Column("pre-\ndicted", timed("predicted_us")),
    Column("non-local\nmessages", whole("nonlocal_messages")),
    Column("most\nper rank", whole("nonlocal_messages_max")),
    Column("non-local\nbytes", in_bytes("nonlocal_bytes")),
    Column("most\nper rank", in_bytes("nonlocal_bytes_max")),
    Column("local\nbytes", in_bytes("local_bytes")),
    Column("verified", lambda row: VERIFIED[row["correct"]], kept=True),
)


def spmv(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    mpi = find_launcher(request.mpi)
    check_regions(request.regions, request.ranks)
    matrix = read_matrix(request.matrix)
    require_finite(matrix)
    starts = block_starts(matrix, request.ranks)
    predicted = _predict(request, matrix, starts)
    with run_folder() as folder:
        _write_run(folder, request, matrix, starts)
        steps = len(request.contestants) * (BUILDS + 3 + request.repetitions)
        run_ranks(folder, PROGRAM, request.ranks, mpi, steps)
        said = said_in(folder)
        rows = _read_results(folder, request, matrix, predicted)

    control = compare_control(rows)
    if request.json:
        facts = {
            "matrix": matrix.describe(),
            "ranks": request.ranks,
            "regions": request.regions,
            **said,
            "iterations": request.iterations,
            "repetitions": request.repetitions,
            "control": control,
        }
        request.json.write(rows, facts)
    name, version = said["mpi"]["name"], said["mpi"]["version"]
    title = (
        f"{Path(matrix.name).name}: {matrix.rows:,} rows on {request.ranks:,} ranks ({name} {version}), "
        f"regions {request.regions}"
    )
    if request.plot:
        from .plots import plot_strategies

        plot = request.plot
        plot.write(lambda path: plot_strategies(path, plot.kind, title, rows))
    fastest = _fastest(rows, control)
    show(
        title, rows, COLUMNS, _notes(request, control), stream=tables_beside(request.json),
        best=fastest[0] if len(fastest) == 1 else None, findings=findings(rows, control, request.repetitions),
    )
    wrong = [row["strategy"] for row in rows if not row["correct"]]
    if wrong:
        raise CommandError(f"y = A x came out wrong under {', '.join(wrong)}; please report this")
    return 0


def findings(rows: Sequence[SpmvRow], control: Control, repetitions: int) -> list[str]:
    """Sentences on the fastest contestant, the default and the noise."""
    if repetitions < LEAST_REPETITIONS:
        return [f"no verdict from {repetitions} repetitions; give --repetitions {LEAST_REPETITIONS} or more"]
    best, *equals = _fastest(rows, control)
    time = f"{duration(best['exchange_median_us'])}, {_share(best, rows, control)}"
    if equals:
        names = listed([row["strategy"] for row in (best, *equals)])
        said = [f"no difference beyond the noise between {names}; least median: {best['strategy']}, {time}"]
    else:
        said = [f"fastest: {best['strategy']}, {time}"]
    said += [
        f"automatic: {_share(row, rows, control)}" for row in rows if row["strategy"] == "automatic" and row is not best
    ]
    if control["noisy"]:
        said.append(
            f"WARNING: this run is too noisy to believe: the two turns of {control['strategy']} differ by "
            f"{100 * control['spread']:.0f} %; run it again where less else is running, or with more --iterations"
        )
    return said


def compare_control(rows: Sequence[SpmvRow]) -> Control:
    """Compares the control (the last row) with the first row, which is the same strategy."""
    pair = [row["exchange_median_us"] or 0.0 for row in (rows[0], rows[-1])]
    spread = max(pair) / min(pair) - 1 if min(pair) > 0 else 0.0
    return {"strategy": rows[0]["strategy"], "spread": round(spread, 4), "noisy": spread > NOISE}


def _fastest(rows: Sequence[SpmvRow], control: Control) -> list[SpmvRow]:
    """The contestant with the least median, then those that do not differ from it."""
    best = min(rows[:-1], key=_median)
    return [best, *(row for row in rows[:-1] if row is not best and not _differ(best, row, control))]


def _differ(one: SpmvRow, other: SpmvRow, control: Control) -> bool:
    """Returns whether two differ: disjoint quartiles, medians further apart than the control's."""
    less, more = sorted((one, other), key=_median)
    apart = less["exchange_upper_quartile_us"] < more["exchange_lower_quartile_us"]
    return apart and _median(more) > _median(less) * (1 + control["spread"])


def _median(row: SpmvRow) -> float:
    return row["exchange_median_us"] or 0.0


def _share(row: SpmvRow, rows: Sequence[SpmvRow], control: Control) -> str:
    """Its share of the times without vicinal, as text."""
    parts, alike = [], []
    for other, text in ((MPI_OWN, f"{MPI_OWN}'s time"), (BY_HAND, f"that {BY_HAND}")):
        of = next(each for each in rows if each["strategy"] == other)
        if of is not row and _differ(row, of, control):
            parts.append(f"{_median(row) / _median(of):.2f} of {text}")
        elif of is not row:
            alike.append(other)
    return " and ".join([*parts, *([f"no difference beyond the noise from {listed(alike)}"] if alike else [])])


def _notes(request: Request, control: Control) -> list[str]:
    return [
        f"median, quartiles, best: the slowest rank's mean of {request.iterations} exchanges in a row, of "
        f"{request.repetitions} repetitions, contestants in turn; ratios are those of medians; set-up: the best of "
        f"{BUILDS}",
        f"automatic: after {SETTLED_AFTER} exchanges, in which it tries its alternatives",
        f"{request.strategies[0] + AGAIN}: a control, the same as {request.strategies[0]}; their medians differ by "
        f"{100 * control['spread']:.1f} %, and smaller differences between others mean nothing",
        f"{BY_HAND}: MPI_Startall and MPI_Waitall of requests set up once, a message for each pair of ranks, the "
        f"fastest way without vicinal from Python; it and {MPI_OWN} gather with NumPy what they send, and do not count "
        "it",
        "empty call: the same calls where nobody needs anything; that much of each exchange is Python's and the "
        "library's own cost, and a compiled program has less of it",
        *(
            [
                f"predicted: by the profile {profile_of(None).name}, of one exchange that all ranks begin at once, "
                "each region a host"
            ]
            if request.predicted else []
        ),
        LOCAL_NOTE,
    ]


def _predict(request: Request, matrix: Matrix, starts: Integers) -> dict[str, float]:
    """The price of each strategy's plans; empty if the regions are known only at run time."""
    if not request.predicted:
        return {}
    profile = profile_of(None)
    problem = halo_of(matrix, starts, "", {})
    machine = read_machine(request.regions, request.ranks)
    return {
        strategy: predict(plan(strategy, problem, machine, profile), profile, problem.value_bytes).microseconds
        for strategy in request.strategies
    }


def _write_run(folder: Path, request: Request, matrix: Matrix, starts: Integers) -> None:
    """Writes the ranks' input: the matrix, x, and y = A x by SciPy, with its error bound."""
    generator = np.random.default_rng(0)
    x: npt.NDArray[Any] = generator.random(matrix.rows) + 0.5
    if np.iscomplexobj(matrix.values):
        x = x + 1j * (generator.random(matrix.rows) + 0.5)
    product = matrix.scipy()
    needers, needed = needed_pairs(matrix, starts)
    owners = np.searchsorted(starts, needed, side="right") - 1
    order = np.argsort(owners, kind="stable")
    arrays = {
        "starts": starts,
        "row_starts": matrix.row_starts,
        "columns": matrix.columns,
        "values": matrix.values,
        "x": x,
        "y": product @ x,
        "bound": TOLERANCE * (abs(product) @ abs(x)),
        # Rank r must send asked[asked_starts[r]] to asked[asked_starts[r + 1] - 1].
        "asked_starts": np.searchsorted(owners[order], np.arange(request.ranks + 1)),
        "asked_by": needers[order],
        "asked": needed[order],
    }
    task = {
        "ranks": request.ranks,
        "regions": request.regions,
        "contestants": request.contestants,
        "iterations": request.iterations,
        "repetitions": request.repetitions,
        "builds": BUILDS,
    }
    write_run(folder, task, arrays)


def _read_results(
    folder: Path, request: Request, matrix: Matrix, predicted: Mapping[str, float]
) -> list[SpmvRow]:
    """The rows, from the results of each rank."""
    results = [np.load(folder / f"result-{rank}.npz") for rank in range(request.ranks)]

    def by_rank(name: str) -> npt.NDArray[Any]:
        return np.stack([result[name] for result in results])

    setup = by_rank("setup").max(axis=0).min(axis=1) * 1e6
    exchange = by_rank("exchange").max(axis=0) * 1e6
    calls = by_rank("calls").max(axis=0).min(axis=1) * 1e6
    correct = by_rank("correct").min(axis=0)
    counts = by_rank("counts")
    own = exchange[request.contestants.index(MPI_OWN)]
    rows = []
    for index, contestant in enumerate(request.contestants):
        kind = contestant if contestant in KINDS else "vicinal"
        sent = {name: counts[:, index, column] for column, name in enumerate(COUNTED)}
        row = make_row(contestant, sent if kind == "vicinal" else None, matrix.value_bytes, bool(correct[index]))
        times = exchange[index]
        row["setup_us"] = round(float(setup[index]), 3)
        row["exchange_us"] = round(float(times.min()), 3)
        row["exchange_median_us"] = round(float(np.median(times)), 3)
        row["ratio_to_direct"] = round(float(times.min() / exchange[0].min()), 4)
        lower, upper = np.percentile(times, (25, 75))
        rows.append(
            SpmvRow(
                **row,
                exchange_lower_quartile_us=round(float(lower), 3),
                exchange_upper_quartile_us=round(float(upper), 3),
                ratio_to_mpi=round(float(times.min() / own.min()), 4),
                median_ratio_to_direct=round(float(np.median(times) / np.median(exchange[0])), 4),
                median_ratio_to_mpi=round(float(np.median(times) / np.median(own)), 4),
                empty_call_us=round(float(calls[KINDS.index(kind)]), 3),
                predicted_us=predicted.get(contestant.removesuffix(AGAIN)),
            )
        )
    return rows
