"""Fixtures and hooks of all tests: the MPIs to loop over, the totals of programs, and a check for
leftover processes.

VICINAL_TEST_TIER selects the tests. `quick` (`make test`) is the default. `full` (`make test-full`)
adds tests with the mark `full`. `all` (`make check-all`) adds tests with the mark `check_all`.

Under pytest-xdist several workers run tests at once. The mark `alone` is for a test that keeps all
cores busy, or that looks at times or at machine-wide state. Nothing else runs meanwhile. The
controller merges the results of the workers.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "bench", ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from counting import Totals, add_up, closing_lines, in_plain_words  # noqa: E402  (found through the path set above)
from launching import QUIET, kill, processes_with, requested_mpis, wait_until  # noqa: E402

SESSION = "VICINAL_TEST_SESSION"
"""The environment variable that identifies this test run in every process that it starts."""
TIER = "VICINAL_TEST_TIER"
TIERS = {"quick": ["full", "check_all"], "full": ["check_all"], "all": []}
"""The marks that each tier leaves out."""
RANKS_BESIDE_OTHERS = 4
"""A test with more ranks than this runs alone."""
TOTALS = pytest.StashKey[Totals]()


def is_worker(config: pytest.Config) -> bool:
    """Returns whether this process is an xdist worker."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOTALS] = {}
    if not is_worker(config):  # a worker has inherited it
        os.environ[SESSION] = uuid.uuid4().hex
    # The choice of plans must not depend on the number of cores.
    os.environ.setdefault("VICINAL_CORES", "0")
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # SIGTERM acts like Ctrl-C, so that running programs are ended on exit.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def left_behind() -> list[int]:
    """Returns the processes that tests started and did not end, without this process and its
    helpers."""
    return [pid for pid in processes_with(os.environ[SESSION], SESSION) if pid != os.getpid()]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Kills the processes that remain after some seconds, and fails the run.

    Workers have exited by then, so only the controller checks.
    """
    if is_worker(session.config):
        output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
        output["totals"] = in_plain_words(session.config.stash[TOTALS])
        return
    if wait_until(lambda: not left_behind(), 10):
        return
    for pid in left_behind():
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        print(f"\nprocess {pid} was left behind: {line}", file=sys.stderr)
    kill(left_behind())
    session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Adds the totals of a worker that exited. A worker that crashed sends none, and its test has
    failed."""
    add_up(node.config.stash[TOTALS], getattr(node, "workeroutput", {}).get("totals", {}))


def left_out() -> list[str]:
    """Returns the marks of tests that do not run."""
    tier = os.environ.get(TIER, "quick")
    if tier not in TIERS:
        raise pytest.UsageError(f"{TIER} is '{tier}', but it is one of {', '.join(TIERS)}")
    return TIERS[tier]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects the tests of other tiers, and sorts tests that run alone to the end.

    A test with many ranks of an MPI runs alone, too. At the end such tests cannot make other tests
    wait.
    """
    marks = left_out()
    others = [item for item in items if any(item.get_closest_marker(mark) for mark in marks)]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if {"mpi", "name"} & given.keys() and given.get("ranks", 0) > RANKS_BESIDE_OTHERS:
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: item.get_closest_marker("alone") is not None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Shares the machine with other workers, or takes it exclusively for a test with the mark
    `alone`."""
    if not is_worker(item.config):
        return (yield)
    how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
    folder = item.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    with (folder / "next").open("w") as turn, (folder / "machine").open("w") as machine:
        # others cannot overtake a test that waits for the exclusive lock
        fcntl.flock(turn, fcntl.LOCK_EX)
        fcntl.flock(machine, how)
        fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test that has the argument `mpi` once on each requested MPI, unless the test names its
    MPIs."""
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "mpi" in metafunc.fixturenames and not any("mpi" in names for names in given if not isinstance(names, str)):
        metafunc.parametrize("mpi", requested_mpis())


@pytest.fixture(scope="session")
def totals(pytestconfig: pytest.Config) -> Totals:
    """The results of each program's cases, summed over its runs."""
    return pytestconfig.stash[TOTALS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in closing_lines(config.stash[TOTALS]):
        terminalreporter.write_line(line)
