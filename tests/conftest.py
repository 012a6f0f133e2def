"""What all tests share: the MPIs to loop over, and the totals of the C++ programs at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "python", ROOT / "tests"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from counting import Totals, closing_lines  # noqa: E402  (found through the path set above)
from launching import requested_mpis  # noqa: E402

TOTALS = pytest.StashKey[Totals]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TOTALS] = {}


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
