"""`vicinal spmv`: a real matrix's halo exchange, run and timed under every strategy.

The ranks themselves are ranks/spmv.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .matrices import Integers, Matrix, block_starts, read_matrix, require_finite
from .outputs import CommandError, OutputFile
from .ranks.process import COUNTED
from .runs import check_regions, find_launcher, run_folder, run_ranks, write_run
from .tables import LOCAL_NOTE, Row, as_json, make_row, show

BUILDS = 3
"""How often each strategy's halo is formed; the fastest counts."""
TOLERANCE = 1e-12
"""How far y may be off, per row, relative to |A| |x|."""


@dataclass(frozen=True)
class Request:
    """What `vicinal spmv` was asked for."""

    matrix: str
    ranks: int
    regions: str
    strategies: Sequence[str]
    """The baseline first."""
    iterations: int
    repetitions: int
    mpi: str | None
    json: OutputFile | None
    plot: OutputFile | None


def spmv(request: Request) -> int:
    """Run, check and time; show the table and write the files.  Returns the exit status."""
    mpi = find_launcher(request.mpi)
    check_regions(request.regions, request.ranks)
    matrix = read_matrix(request.matrix)
    require_finite(matrix)
    starts = block_starts(matrix, request.ranks)
    with run_folder() as folder:
        _write_run(folder, request, matrix, starts)
        steps = len(request.strategies) * (BUILDS + 2 + request.repetitions)
        run_ranks(folder, "spmv", request.ranks, mpi, steps)
        rows = _read_results(folder, request, matrix)

    if request.json:
        request.json.write_text(as_json(rows))
    title = (
        f"{Path(matrix.name).name}: {matrix.rows:,} rows on {request.ranks:,} ranks ({mpi.abi}), "
        f"regions {request.regions}"
    )
    if request.plot:
        from .plots import plot_strategies

        plot = request.plot
        plot.write(lambda path: plot_strategies(path, plot.kind, title, rows))
    notes = [
        f"exchange: the slowest rank's mean of {request.iterations} in a row, the best of "
        f"{request.repetitions} repetitions, strategies in turn; set-up: the best of {BUILDS}",
        LOCAL_NOTE,
    ]
    show(title, rows, notes, timed=True)
    wrong = [row["strategy"] for row in rows if not row["correct"]]
    if wrong:
        raise CommandError(f"y = A x came out wrong under {', '.join(wrong)}; please report this")
    return 0


def _write_run(folder: Path, request: Request, matrix: Matrix, starts: Integers) -> None:
    """Put into the folder what the ranks read: the matrix, x, and y = A x with its bound, as SciPy has it."""
    generator = np.random.default_rng(0)
    x: npt.NDArray[Any] = generator.random(matrix.rows) + 0.5
    if np.iscomplexobj(matrix.values):
        x = x + 1j * (generator.random(matrix.rows) + 0.5)
    product = matrix.scipy()
    arrays = {
        "starts": starts,
        "row_starts": matrix.row_starts,
        "columns": matrix.columns,
        "values": matrix.values,
        "x": x,
        "y": product @ x,
        "bound": TOLERANCE * (abs(product) @ abs(x)),
    }
    task = {
        "ranks": request.ranks,
        "regions": request.regions,
        "strategies": list(request.strategies),
        "iterations": request.iterations,
        "repetitions": request.repetitions,
        "builds": BUILDS,
    }
    write_run(folder, task, arrays)


def _read_results(folder: Path, request: Request, matrix: Matrix) -> list[Row]:
    """The rows, from what each rank left."""
    results = [np.load(folder / f"result-{rank}.npz") for rank in range(request.ranks)]

    def by_rank(name: str) -> npt.NDArray[Any]:
        return np.stack([result[name] for result in results])

    setup = by_rank("setup").max(axis=0).min(axis=1) * 1e6
    exchange = by_rank("exchange").max(axis=0) * 1e6
    correct = by_rank("correct").min(axis=0)
    counts = by_rank("counts")
    rows = []
    for index, strategy in enumerate(request.strategies):
        of_strategy = {name: counts[:, index, column] for column, name in enumerate(COUNTED)}
        row = make_row(strategy, of_strategy, matrix.value_bytes, bool(correct[index]))
        row["setup_us"] = round(float(setup[index]), 3)
        row["exchange_us"] = round(float(exchange[index].min()), 3)
        row["exchange_median_us"] = round(float(np.median(exchange[index])), 3)
        row["ratio_to_direct"] = round(float(exchange[index].min() / exchange[0].min()), 4)
        rows.append(row)
    return rows
