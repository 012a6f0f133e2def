"""Programs in trouble: killed midway, or waiting forever."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest
from launching import BUILD, ROOT, abi_of, run_ranks

pytestmark = pytest.mark.full

SHARED_MEMORY = Path("/dev/shm")


def c_program(mpi: str, name: str) -> Path:
    return BUILD / "c_tests" / f"{name}_{abi_of(mpi)}"


def trouble(mpi: str) -> Path:
    return c_program(mpi, "trouble")


def vicinal_names() -> set[str]:
    return {path.name for path in SHARED_MEMORY.glob("*vicinal*")} if SHARED_MEMORY.is_dir() else set()


@pytest.mark.alone  # other processes have such names, too
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_killed_rank_leaves_nothing(mpi: str, ranks: int) -> None:
    """The launcher ends the other ranks (or the test times out), and no name is left in shared
    memory."""
    before = vicinal_names()
    result = run_ranks(mpi, ranks, [trouble(mpi), "killed"], timeout=60, check=False)
    assert result.code != 0, result.output
    assert vicinal_names() <= before


@pytest.mark.parametrize("way", ["dump", "dump-testing"])
def test_a_signal_shows_what_is_waited_for(mpi: str, way: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    number = int(signal.SIGUSR1)
    run_ranks(mpi, 4, [trouble(mpi), way, dump], env={"VICINAL_DUMP_SIGNAL": str(number)}, timeout=60)
    text = dump.read_text()
    assert "vicinal: rank 0: an execution of a plan by aggregate waits for" in text, text
    assert "operation" in text, text
    assert "a call that has begun waits for messages from rank" in text, text


def test_a_signal_that_is_none_is_refused(mpi: str) -> None:
    result = run_ranks(mpi, 1, [trouble(mpi)], env={"VICINAL_DUMP_SIGNAL": "often"}, timeout=60, check=False)
    assert result.code != 0
    assert "VICINAL_DUMP_SIGNAL is 'often'" in result.output, result.output


# on a busy machine waits are long
@pytest.mark.parametrize("seconds", [pytest.param("1", marks=pytest.mark.alone), "0"])
def test_a_long_wait_says_so_once(mpi: str, seconds: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {"VICINAL_REPORT_WAITS": seconds, "VICINAL_LOG": f"warn:{log}"}
    result = run_ranks(mpi, 2, [trouble(mpi), "late", 4000], env=environment, timeout=60)
    said = [line for line in result.output.splitlines() if line.startswith("vicinal: rank 0: waits for")]
    if seconds == "0":
        assert not said, result.output
    else:
        assert len(said) == 1, result.output
        assert "rank 1" in said[0] and said[0].endswith(", 1 s"), result.output
    logged = [line for line in log.read_text().splitlines() if line.startswith("vicinal: rank 0: waits for")]
    assert logged == said, result.output


def test_every_wait_names_whom_it_is_for(mpi: str, tmp_path: Path) -> None:
    names = {
        "communicator": "all ranks of its communicator to set it up",
        "plan": "its plan, which waits for rank 1's",
        "planned": "an exchange planned by aggregate, with rank 1",
        "direct": "messages from rank 1",
        "any": "an exchange planned by aggregate, with rank 1; messages from rank 1",
        "sparse": "rank 1",
    }
    said = tmp_path / "said"
    run_ranks(mpi, 2, [c_program(mpi, "slow"), said], env={"VICINAL_REPORT_WAITS": "0.1"}, timeout=60)
    text = said.read_text()
    # The last rank arrives only after the first has reported this; later waits of a stage may be
    # long, too.
    for what, words in names.items():
        _, _, stage = text.partition(f"{what}:\n")
        first = next(line for line in stage.splitlines() if " waits for " in line)
        assert first.startswith("vicinal: rank 0: waits for ") and words in first, f"{what}: {text}"


def test_ranks_in_different_calls_say_in_which(mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {"VICINAL_REPORT_WAITS": "0.1", "VICINAL_LOG": f"warn:{log}.%r"}
    run_ranks(mpi, 2, [trouble(mpi), "order", log], env=environment, timeout=60, check=False)
    said = [(tmp_path / f"log.{rank}").read_text() for rank in range(2)]
    assert "waits for rank 0's" in said[1] and ", in the creation of a graph, " in said[1], said
    assert "waits for rank 1 of its communicator to take part" in said[0], said
    assert ", in the creation of a halo, " in said[0], said
    assert "; rank 1 has sent a control message for the creation of a graph" in said[0], said


@pytest.mark.parametrize(("wish", "refusal"), [
    ("no", ""), ("0", ""), ("off", ""),
    ("yes", "without MPI_THREAD_MULTIPLE"), ("perhaps", "VICINAL_PROGRESS_THREAD is 'perhaps'"),
])
def test_the_progress_thread_is_wished_for_in_words(mpi: str, wish: str, refusal: str) -> None:
    """The program calls MPI_Init, so a second thread may not call MPI."""
    result = run_ranks(mpi, 1, [trouble(mpi)], env={"VICINAL_PROGRESS_THREAD": wish}, timeout=60, check=False)
    assert (result.code == 0) == (refusal == ""), result.output
    assert refusal in result.output, result.output


def test_a_long_wait_that_is_no_time_is_refused(mpi: str) -> None:
    result = run_ranks(mpi, 1, [trouble(mpi)], env={"VICINAL_REPORT_WAITS": "soon"}, timeout=60, check=False)
    assert result.code != 0
    assert "VICINAL_REPORT_WAITS is 'soon'" in result.output, result.output


@pytest.mark.parametrize("thread", ["0", "1"])
def test_a_forked_process_harms_nobody(mpi: str, thread: str) -> None:
    """A forked process lacks the other threads, even one that was active during the fork."""
    program = BUILD / "c_tests" / f"forked_{abi_of(mpi)}"
    run_ranks(mpi, 4, [program], env={"VICINAL_PROGRESS_THREAD": thread}, timeout=100)


def test_a_communicator_may_be_freed_with_messages_pending(mpi: str) -> None:
    run_ranks(mpi, 3, [BUILD / "c_tests" / f"pending_{abi_of(mpi)}"], timeout=60)


def test_sessions_alone(mpi: str) -> None:
    """Sessions without MPI_Init."""
    run_ranks(mpi, 4, [BUILD / "c_tests" / f"sessions_{abi_of(mpi)}"], timeout=60)


FORKING = """
import os
import numpy as np
import vicinal
from mpi4py import MPI

comm = MPI.COMM_WORLD
needed = [(comm.rank + 1) % comm.size]
blocks = vicinal.Settings(regions="blocks:2")
halo = vicinal.Halo(comm, (comm.rank, comm.rank + 1), needed, strategy="aggregate", settings=blocks)
x = np.array([comm.rank, -1.0])
# Not by sys.exit: there mpi4py finalizes MPI in the child, too, which MPI takes for the rank's own end.
for way in ("free", "abandon"):
    x[1] = -1
    halo.start(x)
    child = os.fork()
    if child == 0:
        if way == "free":
            del halo
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    halo.wait()
    assert x[1] == needed[0], x
print("well", flush=True)
"""


def test_a_process_forked_from_python_harms_nobody(mpi: str) -> None:
    environment = {"PYTHONPATH": str(ROOT / "python")}
    result = run_ranks(mpi, 4, [sys.executable, "-c", FORKING], env=environment, timeout=60)
    assert result.output.count("well") == 4, result.output


FAILING = """
import vicinal
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 1:
    raise RuntimeError("the last straw")
vicinal.Halo(comm, (comm.rank, comm.rank + 1), [(comm.rank + 1) % comm.size])
"""


def test_an_exception_in_one_python_rank_ends_them_all(mpi: str, tmp_path: Path) -> None:
    """With mpi4py's own runner, as README and the example say."""
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    environment = {"PYTHONPATH": str(ROOT / "python")}
    result = run_ranks(
        mpi, 3, [sys.executable, "-m", "mpi4py", program], env=environment, timeout=60, check=False
    )
    assert result.code != 0
    assert "the last straw" in result.output, result.output


def test_ranks_may_end_long_after_each_other(mpi: str) -> None:
    """The delay is longer than MPI_Finalize waits for communicators that other ranks still have."""
    program = BUILD / "c_tests" / f"ends_{abi_of(mpi)}"
    run_ranks(mpi, 2, [program, "late", 4000], timeout=60)


def test_a_rank_may_keep_its_communicators(mpi: str) -> None:
    run_ranks(mpi, 3, [BUILD / "c_tests" / f"ends_{abi_of(mpi)}", "never", 10], timeout=60)


@pytest.mark.parametrize("thread", ["0", "1"])
@pytest.mark.parametrize("shared", ["0", "1"])
@pytest.mark.parametrize("way", ["failed", "started"])
def test_the_end_of_mpi_with_something_under_way(mpi: str, way: str, shared: str, thread: str) -> None:
    program = BUILD / "c_tests" / f"leaving_{abi_of(mpi)}"
    environment = {"VICINAL_PROGRESS_THREAD": thread, "VICINAL_SHARED_MEMORY": shared}
    run_ranks(mpi, 4, [program, way], env=environment, timeout=60)


ENDING = """
import atexit
import os
import sys
from pathlib import Path
from mpi4py import MPI

def own_threads():
    return [task.name for task in Path("/proc/self/task").iterdir() if task.joinpath("comm").read_text() == "vicinal\\n"]

@atexit.register  # called after what was registered later, and before mpi4py ends MPI
def check():
    if own_threads():
        print("MPI ends while the progress thread runs", flush=True)
        os._exit(1)

import vicinal

comm = MPI.COMM_WORLD
halo = vicinal.Halo(comm, (comm.rank, comm.rank + 1), [(comm.rank + 1) % comm.size])
assert len(own_threads()) == 1
print("well", flush=True)
"""


def test_the_progress_thread_ends_before_mpi_does_in_python(mpi: str) -> None:
    environment = {"PYTHONPATH": str(ROOT / "python"), "VICINAL_PROGRESS_THREAD": "1"}
    result = run_ranks(mpi, 2, [sys.executable, "-c", ENDING], env=environment, timeout=60)
    assert result.output.count("well") == 2, result.output
