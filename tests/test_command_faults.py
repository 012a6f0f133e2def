"""Errors of the `vicinal` command.

An error ends it with one line, which names the remedy, and a nonzero status. It leaves no
incomplete file and no rank behind.
"""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from commanding import HERE, refused, vicinal, without_progress, write_matrix
from launching import PATIENCE, as_from_a_terminal, requested_mpis, run_apart, wait_until
from vicinal_command.cli import main

HEADER = "%%MatrixMarket matrix coordinate real general\n"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def vicinal_here(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Runs the command in this process, for requests that end at once: this saves dozens of process
    starts."""
    monkeypatch.setenv("VICINAL_MPI", requested_mpis()[0])
    before = signal.getsignal(signal.SIGTERM)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        status = main([str(argument) for argument in arguments])
        return subprocess.CompletedProcess(arguments, status, *capfd.readouterr())

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def matrix_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_matrix(tmp_path_factory.mktemp("matrices"))


BAD_MATRICES: dict[str, tuple[str | bytes, str]] = {
    "rectangle.mtx": (HEADER + "3 4 1\n1 1 1.0\n", "not square"),
    "cut.mtx": (HEADER + "3 3 3\n1 1 1.0\n2 2 1.0\n", "runcated"),
    "cut.mtx.gz": (gzip.compress((HEADER + "3 3 1\n1 1 1.0\n").encode())[:-12], "truncated"),
    "promises.mtx": (HEADER + "3 3 900000000000\n1 1 1.0\n", "truncated"),
    "text.mtx": ("once upon a time\n", "not a Matrix Market file"),
    "noise.mtx": (bytes(range(128, 256)) * 20, "not a Matrix Market file"),
    "nothing.mtx": ("", "not a Matrix Market file"),
    "plain.mtx.gz": (HEADER + "3 3 1\n1 1 1.0\n", "Not a gzipped file"),
    "outside.mtx": (HEADER + "3 3 2\n1 1 1.0\n2 9 1.0\n", "out of bounds"),
    "zero.mtx": (HEADER + "3 3 2\n1 1 1.0\n0 2 1.0\n", "out of bounds"),
    "words.mtx": (HEADER + "3 3 2\n1 1 one\n2 2 1.0\n", "line 3, column 5: 'one'"),
    "empty.mtx": (HEADER + "0 0 0\n", "empty"),
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_bad_matrices_are_refused(name: str, vicinal_here: Run, tmp_path: Path) -> None:
    content, words = BAD_MATRICES[name]
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    output = tmp_path / "rows.json"
    request = ("explain", file, "--ranks", 2, "--ranks-per-region", 1, "--json", output)
    refused(vicinal_here(*request), str(file), words)
    assert not output.exists()


def bad_requests(file: Path, folder: Path) -> dict[str, tuple[list[object], tuple[str, ...]]]:
    spmv, explain = ["spmv", file, "--ranks", 4], ["explain", file, "--ranks", 4, "--ranks-per-region", 2]
    simulate = ["simulate", *explain[1:]]
    return {
        "no command": ([], ("spmv, explain, simulate, bench, reproduce, calibrate or strategies",)),
        "unknown command": (["dance"], ("dance", "spmv")),
        "no ranks": (["spmv", file], ("--ranks",)),
        "no such file": (["spmv", folder / "none.mtx", "--ranks", 2], ("none.mtx", "does not exist")),
        "a folder": (["spmv", folder, "--ranks", 2], ("is no file",)),
        "no such example": (["spmv", "helmholtz_9D", "--ranks", 2], ("helmholtz_9D", "helmholtz_2D")),
        "more ranks than rows": (["spmv", file, "--ranks", 204], ("204 ranks", "203 rows")),
        "no ranks at all": (["spmv", file, "--ranks", 0], ("--ranks", "'0'")),
        "negative ranks": (["explain", file, "--ranks", -4], ("--ranks", "'-4'")),
        "half a rank": (["spmv", file, "--ranks", 2.5], ("--ranks", "'2.5'")),
        "empty regions": ([*spmv, "--ranks-per-region", 0], ("--ranks-per-region", "'0'")),
        "unknown strategy": ([*spmv, "--strategy", "magic"], ("magic", "direct", "split")),
        "allgathers only": ([*explain, "--strategy", "distance-halving"], ("distance-halving", "reverse")),
        "no reverse": ([*spmv, "--strategy", "distance-halving"], ("nobody behind wants",)),
        "unknown regions": ([*spmv, "--regions", "rooms:3"], ("rooms:3", "blocks:K")),
        "short list": ([*spmv, "--regions", "list:0,0,1"], ("3 labels", "4 ranks")),
        "bad list": ([*explain[:4], "--regions", "list:0,0,x,1"], ('"x"',)),
        "two kinds of regions": ([*spmv, "--ranks-per-region", 2, "--regions", "node"], ("not allowed with",)),
        "virtual nodes": ([*explain[:4], "--regions", "node"], ("--ranks-per-region",)),
        "no iterations": ([*spmv, "--iterations", 0], ("--iterations",)),
        "unknown MPI": ([*spmv, "--mpi", "nompi"], ("nompi", "mpich")),
        "no folder": ([*explain, "--json", folder / "no" / "rows.json"], ("cannot write", "no folder")),
        "a folder as file": ([*explain, "--json", folder], ("cannot write", "is a folder")),
        "unknown picture": ([*explain, "--plot", folder / "plot.xyz"], (".png",)),
        "goal of all": ([*explain, "--goal", folder / "x.goal"], ("--strategy",)),
        "no such rank": ([*explain, "--strategy", "split", "--rank", 4], ("no rank 4", "0 to 3")),
        "no such profile": ([*explain, "--profile", folder / "none.json"], ("none.json",)),
        "unwritable timeline": ([*simulate, "--timeline", folder / "no" / "t.json"], ("cannot write", "no folder")),
        "no timeline's plot": ([*simulate, "--plot", folder / "plot.gif"], (".png",)),
        "no regions to simulate": ([*simulate[:4]], ("--ranks-per-region",)),
        "no ranks to simulate": ([*simulate[:2], "--ranks-per-region", 2], ("--ranks",)),
        "unknown strategy to simulate": ([*simulate, "--strategy", "magic"], ("magic", "direct")),
        "no such partition": ([*explain, "--partition", folder / "none.txt"], ("none.txt", "No such file")),
    }


@pytest.mark.parametrize("fault", bad_requests(Path(), Path()))
def test_bad_requests_are_refused(fault: str, vicinal_here: Run, matrix_file: Path, tmp_path: Path) -> None:
    arguments, words = bad_requests(matrix_file, tmp_path)[fault]
    refused(vicinal_here(*arguments), *words)
    assert not list(tmp_path.iterdir())


def test_missing_launcher_is_refused(matrix_file: Path, tmp_path: Path) -> None:
    result = vicinal("spmv", matrix_file, "--ranks", 2, "--mpi", "system", env={"PATH": str(tmp_path)})
    refused(result, "mpiexec", "PATH")


def test_missing_mpi4py_is_refused(matrix_file: Path, tmp_path: Path) -> None:
    # An entry of None in sys.modules makes Python report the module as missing.
    program = "import sys; sys.modules['mpi4py'] = None; from vicinal_command.cli import main; sys.exit(main())"
    line = [sys.executable, "-c", program, "spmv", str(matrix_file), "--ranks", "2"]
    result = run_apart(line, {**os.environ, **HERE}, 60)
    refused(result, "mpi4py", "pip install")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_folder_is_refused(matrix_file: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    result = vicinal("explain", matrix_file, "--ranks", 2, "--ranks-per-region", 1,
                     "--json", tmp_path / "rows.json")
    refused(result, "cannot write", "Permission denied")


def test_missing_temporary_folder_is_refused(matrix_file: Path) -> None:
    """Python falls back to other folders than TMPDIR, so the test replaces the folder inside the
    process."""
    program = (
        "import sys, tempfile; tempfile.tempdir = '/no/such/folder'; from vicinal_command.cli import main; "
        "sys.exit(main())"
    )
    line = [sys.executable, "-c", program, "spmv", str(matrix_file), "--ranks", "2"]
    result = run_apart(line, {**os.environ, **HERE, "VICINAL_MPI": requested_mpis()[0]}, 60)
    refused(result, "/no/such/folder")


@pytest.mark.full
def test_a_failing_rank_is_one_line(mpi: str, matrix_file: Path, tmp_path: Path) -> None:
    """All ranks read the setting and refuse it; the command prints one line."""
    output = tmp_path / "rows.json"
    result = vicinal("spmv", matrix_file, "--ranks", 4, "--mpi", mpi, "--json", output,
                     env={"VICINAL_LOCAL": "telepathy"})
    refused(result, "telepathy")
    assert not output.exists()


@pytest.mark.full
def test_ranks_that_cannot_load_mpi_are_one_line(mpi: str, matrix_file: Path) -> None:
    refused(vicinal("spmv", matrix_file, "--ranks", 2, "--mpi", mpi, env={"MPI4PY_MPIABI": "none"}),
            "mpi4py cannot load MPI")


def processes_of(folder: Path) -> list[int]:
    """Returns the processes that name the folder on their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def ranks_of(folder: Path) -> list[int]:
    """Returns the ranks among these processes; launchers name their program, too."""
    words = {pid: Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in processes_of(folder)}
    return [pid for pid, line in words.items() if line[1:3] == [b"-m", b"vicinal_command.ranks.spmv"]]


def start_endless(mpi: str, matrix: Path, folder: Path) -> subprocess.Popen[str]:
    """Starts a run of two ranks that would take days, and returns when the ranks run."""
    environment = {**os.environ, **HERE, "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-m", "vicinal_command", "spmv", matrix, "--ranks", "2", "--mpi", mpi,
         "--iterations", "100000000"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=partial(as_from_a_terminal, os.getpid()),
    )
    if not wait_until(lambda: any(file.stat().st_size > 10 for file in folder.glob("vicinal-*/progress")), 90):
        process.kill()
        raise AssertionError("the ranks did not start")
    return process


def ended(process: subprocess.Popen[str], folder: Path) -> tuple[int, str]:
    """Returns the exit status and the one line of output; checks that no rank and no folder is
    left."""
    try:
        output, errors = process.communicate(timeout=60 * PATIENCE)
    finally:
        process.kill()
    errors = without_progress(errors)
    assert (output, errors.count("\n")) == ("", 1), errors
    assert not list(folder.glob("vicinal-*"))
    nothing_runs(folder)
    return process.returncode, errors


def nothing_runs(folder: Path) -> None:
    gone = wait_until(lambda: not processes_of(folder), 30)
    for pid in processes_of(folder):
        os.kill(pid, signal.SIGKILL)
    assert gone, "ranks were left behind"


@pytest.mark.full
@pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_leaves_nothing_behind(
    mpi: str, sign: signal.Signals, status: int, matrix_file: Path, tmp_path: Path
) -> None:
    process = start_endless(mpi, matrix_file, tmp_path)
    process.send_signal(sign)
    assert ended(process, tmp_path)[0] == status


@pytest.mark.full
def test_killing_leaves_nothing_behind(mpi: str, matrix_file: Path, tmp_path: Path) -> None:
    """A killed command cannot end its ranks; they detect that it is gone, and clean up."""
    process = start_endless(mpi, matrix_file, tmp_path)
    process.kill()
    process.wait()
    nothing_runs(tmp_path)
    assert not list(tmp_path.glob("vicinal-*"))


@pytest.mark.full
def test_a_killed_rank_is_one_line(mpi: str, matrix_file: Path, tmp_path: Path) -> None:
    process = start_endless(mpi, matrix_file, tmp_path)
    os.kill(ranks_of(tmp_path)[-1], signal.SIGKILL)
    status, line = ended(process, tmp_path)
    assert status == 2 and line.startswith("vicinal: the ranks ended with status"), line
