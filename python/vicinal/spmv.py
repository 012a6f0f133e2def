"""`vicinal spmv`: a real matrix's halo exchange, run and timed under every strategy.

This process alone reads the matrix.  What the ranks need it puts into a folder of its own, which they
map into memory, and into which they put their results; the folder goes when the command ends, however
it ends, and ranks that find it gone end too.  The ranks themselves are spmv_worker.py.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .launch import LauncherError, Mpi, command, find_mpi
from .matrices import Integers, Matrix, block_starts, read_matrix
from .outputs import CommandError, OutputFile, progress
from .spmv_worker import ELSEWHERE
from .tables import COUNTED, LOCAL_NOTE, Row, as_json, make_row, show

BUILDS = 3
"""How often each strategy's halo is formed; the fastest counts."""
TOLERANCE = 1e-12
"""How far y may be off, per row, relative to |A| |x|."""
POLL_SECONDS = 0.1


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
    mpi = _find_launcher(request.mpi)
    _check_regions(request.regions, request.ranks)
    matrix = read_matrix(request.matrix)
    starts = block_starts(matrix, request.ranks)
    with tempfile.TemporaryDirectory(prefix="vicinal-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        _write_run(folder, request, matrix, starts)
        _run_ranks(folder, request, mpi)
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


def _find_launcher(name: str | None) -> Mpi:
    if importlib.util.find_spec("mpi4py") is None:
        raise CommandError("mpi4py is not installed, and the ranks need it: run `pip install mpi4py`")
    try:
        mpi = find_mpi(name)
    except LauncherError as error:
        raise CommandError(str(error)) from error
    if importlib.util.find_spec(f"vicinal._mpi_{mpi.abi}") is None:
        raise CommandError(
            f"vicinal was not built for {mpi.abi}: build it with MPI={mpi.abi}, or give another --mpi"
        )
    return mpi


def _check_regions(regions: str, ranks: int) -> None:
    from . import _core

    if regions not in ("node", "numa"):
        _core.read_regions(regions, ranks)


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
    try:
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        (folder / "task.json").write_text(json.dumps(task))
    except OSError as error:
        raise CommandError(
            f"cannot write the matrix for the ranks to {folder}: {error.strerror or error}; set TMPDIR to a "
            "folder with room"
        ) from error


def _run_ranks(folder: Path, request: Request, mpi: Mpi) -> None:
    """Start the ranks and wait for their end, showing how far they are."""
    worker = [sys.executable, "-m", "vicinal.spmv_worker", str(folder)]
    line, environment = command(mpi, request.ranks, worker)
    package = str(Path(__file__).resolve().parents[1])
    paths = [path for path in (os.environ.get("PYTHONPATH"), package) if path]
    environment.update(PYTHONPATH=os.pathsep.join(paths), PYTHONSAFEPATH="1")
    # More ranks than cores is the usual case here; threads of a BLAS would only be in their way.
    environment.setdefault("OMP_NUM_THREADS", "1")
    # The strategies and regions of the command line are meant, whatever the environment says.
    for name in ("VICINAL_STRATEGY", "VICINAL_REGIONS"):
        environment.pop(name, None)

    done = folder / "progress"
    done.touch()
    steps = len(request.strategies) * (BUILDS + 2 + request.repetitions)
    with (folder / "output").open("wb") as output, progress("exchanging", steps) as advance:
        try:
            process = subprocess.Popen(
                line, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            text = f"cannot start {line[0]}: {error.strerror or error}; give another --mpi"
            raise CommandError(text) from error
        try:
            while True:
                try:
                    status = process.wait(POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    advance(done.stat().st_size)
        finally:
            _end(process)
    faults = sorted(folder.glob("fault-*"), key=lambda path: path.stat().st_mtime_ns)
    if faults or status != 0:
        raise CommandError(_what_failed(faults, status, (folder / "output").read_text(errors="replace")))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a launcher that is still running; its ranks end when they find the folder gone."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _what_failed(faults: Sequence[Path], status: int, output: str) -> str:
    """One line for what may have been many: the fault of a rank that found it itself, if there is one."""
    messages = [path.read_text() for path in faults]
    own = [message for message in messages if not message.startswith(ELSEWHERE)]
    for message in own or messages:
        return message.removeprefix(ELSEWHERE)
    lines = [" ".join(line.split()) for line in output.splitlines() if re.search(r"\w", line)]
    telling = [line for line in lines if re.search("signal|error|fail|not enough|No such", line, re.IGNORECASE)]
    said = (telling or lines[-1:] or ["it said nothing"])[0]
    return f"the ranks ended with status {status}; the launcher said: {said}"


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
