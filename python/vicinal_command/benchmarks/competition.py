"""What the benchmarks of `vicinal bench` have in common.

Contestants have their turns on the same ranks, and what each delivers is compared with what the MPI
library's own way did.  That takes part twice: how far its two results lie apart is how
far any two must, to mean something.  The ranks' side is ranks/competition.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..launch import Mpi
from ..outputs import CommandError, OutputFile
from ..prices import profile_of
from ..report import Report, tables_beside
from ..runs import check_regions, find_launcher, run_folder, run_ranks, said_in, write_run
from ..tables import Column, show
from .tables import Measured, Timed

MPI_OWN = "MPI"
MPI_AGAIN = f"{MPI_OWN} again"


@dataclass(frozen=True)
class Terms:
    """What every benchmark is asked for."""

    regions: str
    contestants: Sequence[str]
    """Those beside MPI's own."""
    iterations: int
    repetitions: int
    mpi: str | None
    json: Report | None
    plot: OutputFile | None
    turn_seconds: float | None = None
    """How long a turn may last; one that would last longer has fewer iterations.  None: as long as it takes."""
    profile: str | None = None
    """The file by which plans are chosen; None: the environment's, or the built-in one."""
    own: str = MPI_OWN
    """What MPI's own way is called, with which all are compared."""

    @property
    def all_contestants(self) -> list[str]:
        """In the order of their turns."""
        return [self.own, *self.contestants, self.again]

    @property
    def again(self) -> str:
        """What it is called where it takes part for the second time."""
        return f"{self.own} again"

    def notes(self, what: str, own: str) -> list[str]:
        """What there is to say of all times, those of `what`, and of MPI's `own`."""
        return [
            f"{what}: the slowest rank's mean of {self.iterations} in a row, the best and the median of "
            f"{self.repetitions} repetitions, contestants in turn; ratios are those of medians",
            f"{self.again}: the same as {self.own}, {own}, so that its ratio's distance from 1 is noise",
        ]


class Results:
    """What the ranks found out; indices are those of cases and contestants."""

    def __init__(self, folder: Path, ranks: int, terms: Terms, mpi: Mpi) -> None:
        self.mpi = mpi
        self.facts = {
            "ranks": ranks,
            "regions": terms.regions,
            **said_in(folder),
            "iterations": terms.iterations,
            "repetitions": terms.repetitions,
        }
        """What JSON says of where they ran."""
        files = [np.load(folder / f"result-{rank}.npz") for rank in range(ranks)]
        self._of: dict[str, npt.NDArray[Any]] = {
            name: np.stack([file[name] for file in files])
            for name in ("setup", "exchange", "correct", "counts")
        }

    def setup_us(self, case: int, contestant: int) -> float:
        """The slowest rank's, of the fastest time."""
        return round(float(self._of["setup"][:, case, contestant].max(axis=0).min() * 1e6), 3)

    def measured(self, case: int, contestant: int) -> Measured:
        """The slowest rank's times."""
        times = self._of["exchange"].max(axis=0)[case] * 1e6
        mine, own = times[contestant], times[0]
        return Measured(
            exchange_us=round(float(mine.min()), 3),
            exchange_median_us=round(float(np.median(mine)), 3),
            ratio_to_mpi=round(float(mine.min() / own.min()), 4),
            median_ratio_to_mpi=round(float(np.median(mine) / np.median(own)), 4),
        )

    def turns_us(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """The slowest rank's time in each turn."""
        turns: npt.NDArray[Any] = self._of["exchange"][:, case, contestant].max(axis=0) * 1e6
        return turns

    def slowest(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """Which rank that is in each turn."""
        ranks: npt.NDArray[Any] = self._of["exchange"][:, case, contestant].argmax(axis=0)
        return ranks

    def correct(self, case: int, contestant: int) -> bool:
        """Whether every rank got what it should."""
        return bool(self._of["correct"][:, case, contestant].all())

    def counts(self, case: int, contestant: int) -> npt.NDArray[Any]:
        """What the contestant says an exchange costs: by rank, then as the ranks' module lists it."""
        counts: npt.NDArray[Any] = self._of["counts"][:, case, contestant]
        return counts


def compete(
    terms: Terms, program: str, ranks: int, cases: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, npt.NDArray[Any]], builds: int = 1,
) -> Results:
    """Run all contestants on all cases, on ranks that run the module `program` of ranks/.

    `cases` and `arrays` are what it reads; each contestant is set up `builds` times.
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
        run_ranks(folder, program, ranks, mpi, steps, profile=terms.profile)
        return Results(folder, ranks, terms, mpi)


def conclude(
    terms: Terms, title: str, columns: Sequence[Column], notes: Sequence[str], rows: Sequence[Timed],
    panels: Mapping[str, Sequence[Timed]], facts: Mapping[str, Any],
) -> int:
    """Write the files and show the table; returns the exit status.

    A figure has a panel for each of `panels`, with these rows under this name; `facts` are what JSON says of them.
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
