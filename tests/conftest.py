"""What all tests share: the MPIs to loop over, the totals of the programs at the end, and no process left behind.

VICINAL_TEST_TIER says which tests there are: `quick` (`make test`, the default), `full` (`make test-full`), which has those
marked so, too, or `all` (`make check-all`), which has those marked `check_all`, too.

Under pytest-xdist several workers run tests at a time. A test that keeps all cores busy, or looks at times or at what the
whole machine has, is marked `alone`: nothing else runs meanwhile. What workers found out is put together by whom they work for.
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
for folder in (ROOT / "python", ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from counting import Totals, add_up, closing_lines, in_plain_words  # noqa: E402  (found through the path set above)
from launching import QUIET, kill, processes_with, requested_mpis, wait_until  # noqa: E402

SESSION = "VICINAL_TEST_SESSION"
"""Names this run of the tests in the environment of all that it starts."""
TIER = "VICINAL_TEST_TIER"
TIERS = {"quick": ["full", "check_all"], "full": ["check_all"], "all": []}
"""Which marks of tests each leaves out."""
RANKS_BESIDE_OTHERS = 4
"""A test of more ranks than these runs alone."""
TOTALS = pytest.StashKey[Totals]()


def is_worker(config: pytest.Config) -> bool:
    """Whether other workers run tests beside this process, all for another one."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOTALS] = {}
    if not is_worker(config):  # which has inherited it
        os.environ[SESSION] = uuid.uuid4().hex
    # Which plans are chosen must not depend on how many cores there are.
    os.environ.setdefault("VICINAL_CORES", "0")
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    # As Ctrl-C does, so that what runs is ended on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def left_behind() -> list[int]:
    """The processes that tests started and did not end; this one is not among them, nor are its helpers."""
    return [pid for pid in processes_with(os.environ[SESSION], SESSION) if pid != os.getpid()]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Whatever is still there some seconds later fails the run, and is ended: workers, who have ended by then, leave that
    to whom they work for."""
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
    """A worker has ended. One that died has told nothing, and the test that it died of has failed."""
    add_up(node.config.stash[TOTALS], getattr(node, "workeroutput", {}).get("totals", {}))


def left_out() -> list[str]:
    """The marks of tests that are not run."""
    tier = os.environ.get(TIER, "quick")
    if tier not in TIERS:
        raise pytest.UsageError(f"{TIER} is '{tier}', but it is one of {', '.join(TIERS)}")
    return TIERS[tier]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Those of other tiers are left out. Those that run alone, also for their number of an MPI's ranks, come last: others do not wait for them in between."""
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
    """Among workers, with the machine to share, or to itself."""
    if not is_worker(item.config):
        return (yield)
    how = fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH
    folder = item.config._tmp_path_factory.getbasetemp().parent  # type: ignore[attr-defined]
    with (folder / "next").open("w") as turn, (folder / "machine").open("w") as machine:
        fcntl.flock(turn, fcntl.LOCK_EX)  # who wants the machine to itself is not passed by others who share it
        fcntl.flock(machine, how)
        fcntl.flock(turn, fcntl.LOCK_UN)
        return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that names `mpi` runs once on each MPI asked for, unless it says itself on which."""
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "mpi" in metafunc.fixturenames and not any("mpi" in names for names in given if not isinstance(names, str)):
        metafunc.parametrize("mpi", requested_mpis())


@pytest.fixture(scope="session")
def totals(pytestconfig: pytest.Config) -> Totals:
    """What the cases of each program came to, added up over its runs."""
    return pytestconfig.stash[TOTALS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in closing_lines(config.stash[TOTALS]):
        terminalreporter.write_line(line)
