""".ci/run with a fake `make` that prints its target."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from launching import ROOT, Result, run_command

pytestmark = pytest.mark.check_all

MAKE = """#!/bin/sh
echo "fake $1"
echo "$1: 2 passed, 0 failed, 1 skipped"
echo "something else"
[ "$1" != "$FAILS" ]
"""
PARTS = ["test", "lint", "check-clang", "integration", "install-check", "hosts-test", "fuzz", "test-sanitize-short"]
TOOLS = {
    "make": MAKE,
    "id": "#!/bin/sh\necho $FAKE_ID\n",
    "unshare": "#!/bin/sh\nexit $FAKE_UNSHARE\n",
    **dict.fromkeys(("ip", "tc", "nsenter", "clang++-16", "apt-get"), "#!/bin/sh\n"),
}


def run_ci(folder: Path, fails: str = "", user: int = 0, unshare: int = 0) -> Result:
    for name, script in TOOLS.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "FAILS": fails,
        "FAKE_ID": str(user),
        "FAKE_UNSHARE": str(unshare),
    }
    return run_command([str(ROOT / ".ci" / "run")], environment, 60)


def test_all_parts_run_and_are_told(tmp_path: Path) -> None:
    result = run_ci(tmp_path)
    assert result.code == 0, result.output
    _, _, end = result.output.partition("---- closing lines\n")
    closing, _, parts = end.partition("---- parts\n")
    assert closing.splitlines() == [f"{part}: 2 passed, 0 failed, 1 skipped" for part in PARTS]
    assert [line.split(": passed, ")[0] for line in parts.splitlines()[:-1]] == PARTS, parts


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_fails_fails_all_and_stops_none(part: str, tmp_path: Path) -> None:
    result = run_ci(tmp_path, fails=part)
    assert result.code == 1, result.output
    assert f"\n{part}: FAILED with status 1, " in result.output, result.output
    assert all(f"fake {each}\n" in result.output for each in PARTS), result.output


@pytest.mark.parametrize(("user", "unshare", "why"), [(1000, 0, "only root can"), (0, 1, "gives no namespaces")])
def test_hosts_that_cannot_be_are_said_not_to_have_been_tested(
    user: int, unshare: int, why: str, tmp_path: Path
) -> None:
    result = run_ci(tmp_path, user=user, unshare=unshare)
    assert result.code == 0, result.output
    assert "fake hosts-test" not in result.output, result.output
    told = [line for line in result.output.splitlines() if line.startswith("hosts-test: not run, ")]
    assert len(told) == 1 and why in told[0], result.output


def test_programs_of_others_that_cannot_be_installed_are_said_not_to_have_been_run(tmp_path: Path) -> None:
    result = run_ci(tmp_path, user=1000)
    assert result.code == 0, result.output
    assert "fake integration" not in result.output, result.output
    assert result.output.count("\nintegration: not run, only root can install") == 1, result.output
