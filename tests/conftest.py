"""What all tests share: the MPIs to loop over, the totals of the programs at the end, and no process left behind."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from counting import Totals, closing_lines  # noqa: E402  (found through the path set above)
from launching import kill, processes_with, requested_mpis, wait_until  # noqa: E402

SESSION = "VICINAL_TEST_SESSION"
"""Names this run of the tests in the environment of all that it starts."""
TOTALS = pytest.StashKey[Totals]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOTALS] = {}
    os.environ[SESSION] = uuid.uuid4().hex
    # As Ctrl-C does, so that what runs is ended on the way out.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def left_behind() -> list[int]:
    """The processes that tests started and did not end; this one is not among them, nor are its helpers."""
    return [pid for pid in processes_with(os.environ[SESSION], SESSION) if pid != os.getpid()]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Whatever is still there some seconds later fails the run, and is ended."""
    if wait_until(lambda: not left_behind(), 10):
        return
    for pid in left_behind():
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        print(f"\nprocess {pid} was left behind: {line}", file=sys.stderr)
    kill(left_behind())
    session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that names `mpi` runs once on each MPI asked for."""
    if "mpi" in metafunc.fixturenames:
        metafunc.parametrize("mpi", requested_mpis(), scope="session")


@pytest.fixture(scope="session")
def totals(pytestconfig: pytest.Config) -> Totals:
    """What the cases of each program came to, added up over its runs."""
    return pytestconfig.stash[TOTALS]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in closing_lines(config.stash[TOTALS]):
        terminalreporter.write_line(line)
