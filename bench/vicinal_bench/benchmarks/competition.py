"""Shared parts of the benchmarks of `vicinal bench`.

Contestants run in turn on the same ranks. The data that each delivers is compared with MPI's own
result. MPI's own implementation participates twice: only differences larger than that between its
two results are significant. The ranks run ranks/competition.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vicinal_command.launch import Mpi
from vicinal_command.outputs import CommandError, OutputFile
from vicinal_command.prices import profile_of
from vicinal_command.report import Report, tables_beside
from vicinal_command.runs import check_regions, find_launcher, run_folder, run_ranks, said_in, write_run
from vicinal_command.tables import Column, show

from .tables import Measured, Timed

PROGRAMS = "vicinal_bench.ranks"
MPI_OWN = "MPI"
MPI_AGAIN = f"{MPI_OWN} again"


@dataclass(frozen=True)
class Terms:
    """Arguments that every benchmark has."""

    regions: str
    contestants: Sequence[str]
    """Contestants other than MPI's own."""
    iterations: int
    repetitions: int
    mpi: str | None
    json: Report | None
    plot: OutputFile | None
    turn_seconds: float | None = None
    """Longest time of a turn; a longer turn has fewer iterations. None: no limit."""
    profile: str | None = None
    """Profile for the choice of plans; None: the environment's, or the built-in one."""
    own: str = MPI_OWN
    """Name of MPI's own implementation, with which all are compared."""

    @property
    def all_contestants(self) -> list[str]:
        """All contestants, in the order of their turns."""
        return [self.own, *self.contestants, self.again]

    @property
    def again(self) -> str:
        """Name of MPI's own implementation as a second contestant."""
        return f"{self.own} again"

    def notes(self, what: str, own: str) -> list[str]:
        """Notes on all times: those of `what`, and of MPI's `own`."""
        return [
            f"{what}: the slowest rank's mean of {self.iterations} in a row, the best and the median of "
            f"{self.repetitions} repetitions, contestants in turn; ratios are those of medians",
            f"{self.again}: the same as {self.own}, {own}, so that its ratio's distance from 1 is noise",
        ]


class Results:
    """Results of the ranks. Indices are those of cases and contestants."""

    def __init__(self, folder: Path, ranks: int, terms: Terms, mpi: Mpi) -> None:
        self.mpi = mpi
        self.facts = {
            "ranks": ranks,
            "regions": terms.regions,
            **said_in(folder),
            "iterations": terms.iterations,
            "repetitions": terms.repetitions,
        }
        """Facts of the run for the JSON output."""
        files = [np.load(folder / f"result-{rank}.npz") for rank in range(ranks)]
        self._of: dict[str, npt.NDArray[Any]] = {
            name: np.stack([file[name] for file in files])
            for name in ("setup", "exchange", "correct", "counts")
        }

    def setup_us(self, case: int, contestant: int) -> float:
        """Set-up time of the slowest rank, in the fastest set-up."""
        return round(float(self._of["setup"][:, case, contestant].max(axis=0).min() * 1e6), 3)

    def measured(self, case: int, contestant: int) -> Measured:
        """Times of the slowest rank."""
        times = self._of["exchange"].max(axis=0)[case] * 1e6
        mine, own = times[contestant], times[0]
        return Measured(
            exchange_us=round(float(mine.min()), 3),
            exchange_median_us=round(float(np.median(mine)), 3),
            ratio_to_mpi=round(float(mine.min() / own.min()), 4),
            median_ratio_to_mpi=round(float(np.median(mine) / np.median(own)), 4),
        )

    def turns_us(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """Time of the slowest rank in each turn."""
        turns: npt.NDArray[Any] = self._of["exchange"][:, case, contestant].max(axis=0) * 1e6
        return turns

    def slowest(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """The slowest rank in each turn."""
        ranks: npt.NDArray[Any] = self._of["exchange"][:, case, contestant].argmax(axis=0)
        return ranks

    def correct(self, case: int, contestant: int) -> bool:
        """Returns whether every rank received the right data."""
        return bool(self._of["correct"][:, case, contestant].all())

    def counts(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """Counts of an exchange from the contestant: by rank, then as in the ranks' module."""
        counts: npt.NDArray[Any] = self._of["counts"][:, case, contestant]
        return counts


def compete(
    terms: Terms, program: str, ranks: int, cases: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, npt.NDArray[Any]], builds: int = 1,
) -> Results:
    """Runs all contestants on all cases, on ranks that run the module `program` of ranks/.

    The module reads `cases` and `arrays`. Each contestant is set up `builds` times.
    """
    mpi = find_launcher(terms.mpi)
    check_regions(terms.regions, ranks)
    task = {
        "ranks": ranks,
        "regions": terms.regions,
        "contestants": list(terms.contestants),
        "iterations": terms.iterations,
        "repetitions": terms.repetitions,
        "turn_seconds": terms.turn_seconds,
        "profile": terms.profile,
        "builds": builds,
        "cases": list(cases),
    }
    with run_folder() as folder:
        write_run(folder, task, arrays)
        steps = len(cases) * len(terms.all_contestants) * (builds + 3 + terms.repetitions)
        run_ranks(folder, f"{PROGRAMS}.{program}", ranks, mpi, steps, profile=terms.profile)
        return Results(folder, ranks, terms, mpi)


def conclude(
    terms: Terms, title: str, columns: Sequence[Column], notes: Sequence[str], rows: Sequence[Timed],
    panels: Mapping[str, Sequence[Timed]], facts: Mapping[str, Any],
) -> int:
    """Writes the files and shows the table. Returns the exit status.

    A figure has a panel with the rows of each entry of `panels`, under its name. `facts` go to the
    JSON output.
    """
    if terms.json:
        terms.json.write(rows, facts, profile_of(terms.profile).name)
    if terms.plot:
        from .plots import plot_bench

        plot = terms.plot
        plot.write(lambda path: plot_bench(path, plot.kind, title, panels))
    show(title, rows, columns, notes, stream=tables_beside(terms.json))
    wrong = sorted({row["strategy"] for row in rows if not row["correct"]})
    if wrong:
        raise CommandError(f"what arrived was wrong under {', '.join(wrong)}; please report this")
    return 0
