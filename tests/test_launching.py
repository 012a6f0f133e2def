"""Processes that tests start end with the tests, however these end, and always react to signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from launching import ROOT, processes_with, run_apart, run_command, wait_until

pytestmark = pytest.mark.check_all

MARK = "VICINAL_TEST_MARK"
SLEEPERS = ["sh", "-c", "sleep 1000 & sleep 1000"]
PYTEST = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "xdist", "-p", "no:cacheprovider"]
ALONE = {"PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests")]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""For tests inside a test: without plugins, which take a second to start."""
WAYS = [pytest.param([], id="one process"), pytest.param(["-n", "2"], id="workers")]


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


def line_of(pid: int) -> str:
    """Returns the command line of a process, or nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def sleepers(mark: str) -> int:
    return [line_of(pid) for pid in processes_with(mark, MARK)].count("sleep 1000")


def test_a_run_past_its_time_is_ended_whole(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The run gets time to end after SIGTERM, which it ignores.
    monkeypatch.setattr("launching.PATIENCE", 0.5)
    with pytest.raises(AssertionError, match="ran past"):
        run_command(SLEEPERS, {**os.environ, MARK: mark}, 0.2)
    assert not processes_with(mark, MARK)


def test_interrupts_are_heard_where_the_parent_ignores_them() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        program = "import signal; print(signal.getsignal(signal.SIGINT).__name__)"
        result = run_command([sys.executable, "-c", program], os.environ, 20)
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.output.strip() == "default_int_handler", result.output


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_tests_that_are_ended_leave_nothing(sign: signal.Signals, way: list[str], mark: str, tmp_path: Path) -> None:
    """A launcher receives a signal even if the tests are killed, and ends its ranks."""
    file = tmp_path / "test_sleep.py"
    file.write_text("import os\nfrom launching import run_command\n"
                    "def sleep():\n    run_command(['sleep', '1000'], os.environ, 900)\n"
                    "def test_one(): sleep()\ndef test_other(): sleep()\n")
    printed = tmp_path / "printed"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [*PYTEST, *way, str(file)], cwd=tmp_path,
            env={**os.environ, MARK: mark, **ALONE}, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        # With workers, each of them runs a test.
        assert wait_until(lambda: sleepers(mark) == (2 if way else 1), 60), (
            f"{[line_of(pid) for pid in processes_with(mark, MARK)]} run, and the tests printed: {printed.read_text()}")
        process.send_signal(sign)
        process.wait(60)
        assert wait_until(lambda: not processes_with(mark, MARK), 10), "a process was left behind"
    finally:
        for pid in processes_with(mark, MARK):
            os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
@pytest.mark.parametrize("way", WAYS)
def test_a_process_left_behind_fails_the_tests(way: list[str], mark: str, tmp_path: Path) -> None:
    file = tmp_path / "test_leave.py"
    file.write_text("import subprocess\ndef test_leave():\n"
                    "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n")
    environment = {**os.environ, MARK: mark, **ALONE, "VICINAL_TEST_PATIENCE": "0.1"}
    result = run_apart([*PYTEST, *way, str(file)], environment, 100)
    assert result.returncode == 1 and "1 passed" in result.stdout, result.stdout
    assert "was left behind: sleep 1000" in result.stderr, result.stderr
    assert not processes_with(mark, MARK)


SHARING = """
import time
from pathlib import Path
import pytest
from counting import check_cases
from launching import Result

HERE = Path(__file__).parent

def spend(name):
    begin = time.monotonic()
    time.sleep(0.4)
    (HERE / name).write_text(f"{begin} {time.monotonic()}")

@pytest.mark.alone
def test_alone():
    spend("alone")

@pytest.mark.parametrize("number", range(4))
def test_shared(number, totals):
    spend(str(number))
    skipped = "" if number == 2 else "skipped two: needs 2 ranks\\n"
    ran = "ok two\\n" if number == 2 else ""
    output = f"ok one\\n{ran}{skipped}skipped three: needs 3 ranks\\n1 passed, 0 failed, 1 skipped\\n"
    check_cases(Result(0, output), "program", totals)
"""


def times_of(file: Path) -> tuple[float, float]:
    begin, end = map(float, file.read_text().split())
    return begin, end


def test_workers_share_the_machine_but_with_who_runs_alone(tmp_path: Path) -> None:
    """The counts of the workers are added up: a case that ran in one worker has run."""
    (tmp_path / "test_sharing.py").write_text(SHARING)
    environment = {**os.environ, **ALONE}
    line = [*PYTEST, "-n", "2", "--maxschedchunk", "1", "-o", "markers=alone", str(tmp_path / "test_sharing.py")]
    result = run_apart(line, environment, 100)
    assert result.returncode == 0 and "5 passed" in result.stdout, result.stdout + result.stderr
    assert [line for line in result.stdout.splitlines() if line.startswith("program: ")] == [
        "program: 4 passed, 0 failed, 4 skipped", "program: three ran nowhere: needs 3 ranks"]
    shared = [times_of(tmp_path / str(number)) for number in range(4)]
    begin, end = times_of(tmp_path / "alone")
    assert all(other_end <= begin or end <= other_begin for other_begin, other_end in shared), (shared, begin, end)
    assert any(one[0] < other[1] and other[0] < one[1] for one in shared for other in shared if one != other), shared
