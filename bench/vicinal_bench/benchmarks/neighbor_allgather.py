"""`vicinal bench neighbor-allgather`: strategies against the MPI library's own collective.

Timing works as in the other benchmarks (competition.py). In addition, strategies are set up several
times, and their messages are counted. The ranks run ranks/neighbor_allgather.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vicinal_command.matrices import Matrix, block_starts, read_matrix, require_finite
from vicinal_command.outputs import CommandError
from vicinal_command.ranks.process import COUNTED
from vicinal_command.tables import Column, size, timed, whole

from .competition import MPI_AGAIN, MPI_OWN, Results, Terms, compete, conclude
from .tables import CONTESTANT, TIMES, VERDICT, WORKLOAD, Timed, per_rank
from .workloads import Workload, block_rows, made_of, moore, random_sparse, recorded

STRATEGIES = ("direct", "aggregate", "common-neighbor", "distance-halving", "distance-halving-pruned", "cascade")
"""Strategies measured by default."""
BUILDS = 3
"""Number of set-ups of each contestant; the fastest counts."""
TOLERANCE = 1e-12
"""Allowed error of Z, relative to |X| |Y|."""

COLUMNS = (
    WORKLOAD,
    Column("edges\nper rank", per_rank("edges"), of_case=True),
    Column("block", lambda row: size(row["block_bytes"]), of_case=True),
    CONTESTANT,
    Column("set-up", timed("setup_us")),
    *TIMES,
    Column("non-local\nmessages", whole("nonlocal_messages")),
    Column("most\nper rank", whole("nonlocal_messages_max")),
    VERDICT,
)


class BenchRow(Timed):
    """One contestant's results on one graph. Bytes and messages are those sent, per exchange."""

    edges: int
    block_bytes: int
    setup_us: float
    nonlocal_messages: int | None
    nonlocal_messages_max: int | None
    nonlocal_bytes: int | None
    local_bytes: int | None


@dataclass(frozen=True)
class Request:
    """Arguments of `vicinal bench neighbor-allgather`."""

    ranks: int | None
    """None: as many as the recorded patterns have."""
    densities: Sequence[float]
    moore: Sequence[tuple[int, int]]
    """Radius and dimensions."""
    matrices: Sequence[str]
    patterns: Sequence[str]
    sizes: Sequence[int]
    """Bytes per block; a matrix has blocks of its own size."""
    columns: int
    """Number of columns of the dense matrix in the product with a sparse one."""
    terms: Terms


@dataclass(frozen=True)
class Case:
    """One measurement: a graph, and the data of its edges."""

    workload: Workload
    block_bytes: int
    matrix: Matrix | None = None
    """The sparse matrix of a multiplication."""


def neighbor_allgather(request: Request) -> int:
    """Runs, checks and times; shows the table and writes the files. Returns the exit status."""
    terms = request.terms
    cases = list_cases(request)
    ranks = cases[0].workload.ranks
    described, arrays = _describe(request, cases)
    results = compete(terms, "neighbor_allgather", ranks, described, arrays, BUILDS)
    rows = _read_rows(results, cases, terms.all_contestants)
    panels = {
        f"blocks of {size(count)}": [row for row in rows if row["block_bytes"] == count]
        for count in sorted({row["block_bytes"] for row in rows})
    }
    title = f"neighborhood allgather on {ranks:,} ranks ({results.mpi.abi}), regions {terms.regions}"
    notes = [*terms.notes("exchange", "MPI_Neighbor_allgather"), f"set-up: the best of {BUILDS}"]
    if request.matrices:
        notes.append("SpMM: the exchange and the rank's part of Z = X Y after it, both timed")
    facts = {**made_of([case.workload for case in cases]), **results.facts}
    return conclude(terms, title, COLUMNS, notes, rows, panels, facts)


def list_cases(request: Request) -> list[Case]:
    """Every graph with every block size. Refuses graphs that do not fit the number of ranks."""
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
        require_finite(matrix)
        starts = block_starts(matrix, ranks)
        block_bytes = int(np.diff(starts).max()) * request.columns * matrix.value_bytes
        cases.append(Case(block_rows(matrix, starts), block_bytes, matrix))
    if not cases:
        raise CommandError("nothing to measure: give --density, --moore, --matrix or --pattern")
    return cases


def _describe(
    request: Request, cases: Sequence[Case]
) -> tuple[list[dict[str, Any]], dict[str, npt.NDArray[Any]]]:
    """Input of the ranks: the graphs, and for a multiplication X, Y, and Z as computed by SciPy."""
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
    return described, arrays


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


def _read_rows(results: Results, cases: Sequence[Case], contestants: Sequence[str]) -> list[BenchRow]:
    rows = []
    for number, case in enumerate(cases):
        for index, contestant in enumerate(contestants):
            row = BenchRow(
                workload=case.workload.name,
                ranks=case.workload.ranks,
                edges=case.workload.edges,
                block_bytes=case.block_bytes,
                strategy=contestant,
                setup_us=results.setup_us(number, index),
                **results.measured(number, index),
                nonlocal_messages=None,
                nonlocal_messages_max=None,
                nonlocal_bytes=None,
                local_bytes=None,
                correct=results.correct(number, index),
            )
            if contestant not in (MPI_OWN, MPI_AGAIN):
                of_strategy = dict(zip(COUNTED, results.counts(number, index).T, strict=True))
                row["nonlocal_messages"] = int(of_strategy["nonlocal_messages"].sum())
                row["nonlocal_messages_max"] = int(of_strategy["nonlocal_messages"].max())
                row["nonlocal_bytes"] = int(of_strategy["nonlocal_elements"].sum())
                row["local_bytes"] = int(
                    of_strategy["local_elements"].sum() + of_strategy["shared_elements"].sum()
                )
            rows.append(row)
    return rows
