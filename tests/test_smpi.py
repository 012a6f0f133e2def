"""The library itself under SimGrid's simulated MPI: a part of `make smpi`.

tools/confirm_library.py defines the comparisons and the tolerances of predicted times.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from launching import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

import confirm_library  # noqa: E402  (found through the path set above)
import smpi  # noqa: E402
from vicinal import _core  # noqa: E402

pytestmark = pytest.mark.check_all

with_simgrid = pytest.mark.skipif(
    not smpi.installed(), reason=f"needs SimGrid (Debian, Ubuntu: apt install {smpi.PACKAGE})"
)


@with_simgrid
def test_the_library_runs_on_simulated_ranks_as_predicted(tmp_path: Path) -> None:
    """Received data is correct in all kinds of exchange, under all strategies and methods."""
    program = confirm_library.build(BUILD)
    done = [*confirm_library.compare(program, 64, _core.Profile.default(), tmp_path, short=True)]
    rows = [row for part in done for row in part.rows]
    strategies = len(_core.strategies(with_reverse=False, one_block=False))
    assert len([it for it in rows if it.case.kind == "exchange"]) == strategies
    assert sum(part.checked for part in done) > 64 * 26 * len(rows) // 2
    failed = [finding.line() for finding in confirm_library.findings(rows) if not finding.good]
    assert not failed, "\n".join(failed)
