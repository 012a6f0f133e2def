"""`vicinal bench neighbor-allgather`: strategies against the MPI library's own collective.

For each graph and block size, MPI_Neighbor_allgather and the strategies have their turns on the same
ranks, and what each delivers is compared with what MPI's own did.  MPI's own takes part twice, at
either end: how far its two results lie apart is how far any two must, to mean something.
The ranks themselves are bench_worker.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .bench_tables import BenchRow, show_bench
from .matrices import Matrix, block_starts, read_matrix
from .outputs import CommandError, OutputFile
from .tables import COUNTED, as_json
from .workers import check_regions, find_launcher, run_ranks, write_run
from .workloads import Workload, block_rows, moore, random_sparse, recorded

STRATEGIES = ("direct", "aggregate", "common-neighbor", "distance-halving", "distance-halving-pruned")
"""Those looked at where none is named."""
MPI_OWN, MPI_AGAIN = "MPI", "MPI again"
BUILDS = 3
"""How often each contestant is set up; the fastest counts."""
TOLERANCE = 1e-12
"""How far Z may be off, relative to |X| |Y|."""


@dataclass(frozen=True)
class Request:
    """What `vicinal bench neighbor-allgather` was asked for."""

    ranks: int | None
    """None: as many as the recorded patterns have."""
    regions: str
    strategies: Sequence[str]
    densities: Sequence[float]
    moore: Sequence[tuple[int, int]]
    """Radius and dimensions."""
    matrices: Sequence[str]
    patterns: Sequence[str]
    sizes: Sequence[int]
    """Bytes per block; a matrix has blocks of its own size."""
    columns: int
    """Of the dense matrix that a sparse one is multiplied with."""
    iterations: int
    repetitions: int
    mpi: str | None
    json: OutputFile | None
    plot: OutputFile | None


@dataclass(frozen=True)
class Case:
    """What is measured in one go: a graph, and what its edges carry."""

    workload: Workload
    block_bytes: int
    matrix: Matrix | None = None
    """For a multiplication."""


def neighbor_allgather(request: Request) -> int:
    """Run, check and time; show the table and write the files.  Returns the exit status."""
    mpi = find_launcher(request.mpi)
    cases = list_cases(request)
    ranks = cases[0].workload.ranks
    check_regions(request.regions, ranks)
    contestants = [MPI_OWN, *request.strategies, MPI_AGAIN]
    with tempfile.TemporaryDirectory(prefix="vicinal-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _write_task(folder, request, cases)
        steps = len(cases) * len(contestants) * (BUILDS + 2 + request.repetitions)
        run_ranks(folder, "bench_worker", ranks, mpi, steps)
        rows = _read_results(folder, cases, contestants)

    if request.json:
        request.json.write_text(as_json(rows))
    title = f"neighborhood allgather on {ranks:,} ranks ({mpi.abi}), regions {request.regions}"
    if request.plot:
        from .plots import plot_bench

        plot = request.plot
        plot.write(lambda path: plot_bench(path, plot.kind, title, rows))
    notes = [
        f"exchange: the slowest rank's mean of {request.iterations} in a row, the best and the median of "
        f"{request.repetitions} repetitions, contestants in turn; set-up: the best of {BUILDS}",
        f"{MPI_AGAIN}: the same as {MPI_OWN}, so that its ratio's distance from 1 is noise",
    ]
    if request.matrices:
        notes.append("SpMM: the exchange and the rank's part of Z = X Y after it, both timed")
    show_bench(title, rows, notes)
    wrong = sorted({row["strategy"] for row in rows if not row["correct"]})
    if wrong:
        raise CommandError(f"what arrived was wrong under {', '.join(wrong)}; please report this")
    return 0


def list_cases(request: Request) -> list[Case]:
    """Every graph with every block size; refuses graphs that do not fit the number of ranks."""
    graphs = [recorded(path) for path in request.patterns]
    ranks = request.ranks or (graphs[0].ranks if graphs else None)
    if ranks is None:
        raise CommandError("say on how many ranks, by --ranks; only a recorded --pattern brings a number of its own")
    for graph in graphs:
        if graph.ranks != ranks:
            raise CommandError(f"pattern {graph.name} has {graph.ranks} ranks, but {ranks} are to run; run it alone")
    graphs = [
        *(random_sparse(ranks, density) for density in request.densities),
        *(moore(ranks, radius, dimensions) for radius, dimensions in request.moore),
        *graphs,
    ]
    cases = [Case(graph, size) for graph in graphs for size in request.sizes]
    for name in request.matrices:
        matrix = read_matrix(name)
        starts = block_starts(matrix, ranks)
        block_bytes = int(np.diff(starts).max()) * request.columns * matrix.value_bytes
        cases.append(Case(block_rows(matrix, starts), block_bytes, matrix))
    if not cases:
        raise CommandError("nothing to measure: give --density, --moore, --matrix or --pattern")
    return cases


def _write_task(folder: Path, request: Request, cases: Sequence[Case]) -> None:
    """What the ranks read: the graphs, and for a multiplication X, Y, and Z as SciPy has it."""
    described: list[dict[str, Any]] = []
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, case in enumerate(cases):
        described.append({"block_bytes": case.block_bytes, "multiplies": case.matrix is not None})
        for side, (starts, others) in (
            ("in", case.workload.incoming()), ("out", case.workload.outgoing())
        ):
            arrays[f"{number}-{side}_starts"], arrays[f"{number}-{side}"] = starts, others
        if case.matrix is not None:
            of_case = _multiplication(case.matrix, case.workload.ranks, request.columns)
            arrays.update({f"{number}-{name}": array for name, array in of_case.items()})
    task = {
        "ranks": cases[0].workload.ranks,
        "regions": request.regions,
        "strategies": list(request.strategies),
        "iterations": request.iterations,
        "repetitions": request.repetitions,
        "builds": BUILDS,
        "cases": described,
    }
    write_run(folder, task, arrays)


def _multiplication(matrix: Matrix, ranks: int, columns: int) -> dict[str, npt.NDArray[Any]]:
    generator = np.random.default_rng(0)
    dense: npt.NDArray[Any] = generator.random((matrix.rows, columns)) + 0.5
    if np.iscomplexobj(matrix.values):
        dense = dense + 1j * (generator.random((matrix.rows, columns)) + 0.5)
    sparse = matrix.scipy()
    return {
        "starts": block_starts(matrix, ranks),
        "row_starts": matrix.row_starts,
        "columns": matrix.columns,
        "values": matrix.values,
        "y": dense,
        "z": sparse @ dense,
        "bound": TOLERANCE * (abs(sparse) @ abs(dense)),
    }


def _read_results(folder: Path, cases: Sequence[Case], contestants: Sequence[str]) -> list[BenchRow]:
    """The rows, from what each rank left."""
    results = [np.load(folder / f"result-{rank}.npz") for rank in range(cases[0].workload.ranks)]

    def by_rank(name: str) -> npt.NDArray[Any]:
        return np.stack([result[name] for result in results])

    setup = by_rank("setup").max(axis=0).min(axis=2) * 1e6
    exchange = by_rank("exchange").max(axis=0) * 1e6
    correct = by_rank("correct").min(axis=0)
    counts = by_rank("counts")
    rows = []
    for number, case in enumerate(cases):
        own = exchange[number, 0]
        for index, contestant in enumerate(contestants):
            times = exchange[number, index]
            row = BenchRow(
                workload=case.workload.name,
                ranks=case.workload.ranks,
                edges=case.workload.edges,
                block_bytes=case.block_bytes,
                strategy=contestant,
                setup_us=round(float(setup[number, index]), 3),
                exchange_us=round(float(times.min()), 3),
                exchange_median_us=round(float(np.median(times)), 3),
                ratio_to_mpi=round(float(times.min() / own.min()), 4),
                median_ratio_to_mpi=round(float(np.median(times) / np.median(own)), 4),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                nonlocal_bytes=None,
                local_bytes=None,
                correct=bool(correct[number, index]),
            )
            if contestant not in (MPI_OWN, MPI_AGAIN):
                of_strategy = dict(zip(COUNTED, counts[:, number, index].T, strict=True))
                row["nonlocal_messages"] = int(of_strategy["nonlocal_messages"].sum())
                row["nonlocal_messages_max"] = int(of_strategy["nonlocal_messages"].max())
                row["nonlocal_bytes"] = int(of_strategy["nonlocal_elements"].sum())
                row["local_bytes"] = int(
                    of_strategy["local_elements"].sum() + of_strategy["shared_elements"].sum()
                )
            rows.append(row)
    return rows
