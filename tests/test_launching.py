"""What tests start ends with them, however they end, and hears a signal whoever started the tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from launching import ROOT, processes_with, run_apart, run_command, wait_until

MARK = "VICINAL_TEST_MARK"
SLEEPERS = ["sh", "-c", "sleep 1000 & sleep 1000"]
PATH = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests")])


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


def test_a_run_past_its_time_is_ended_whole(mark: str) -> None:
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
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_tests_that_are_ended_leave_nothing(sign: signal.Signals, mark: str, tmp_path: Path) -> None:
    """A launcher hears of it even where the tests are killed, and ends its ranks."""
    file = tmp_path / "test_sleep.py"
    file.write_text("import os\nfrom launching import run_command\n"
                    "def test_sleep():\n    run_command(['sleep', '1000'], os.environ, 900)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", str(file)], cwd=tmp_path,
        env={**os.environ, MARK: mark, "PYTHONPATH": PATH}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert wait_until(lambda: len(processes_with(mark, MARK)) == 2, 60), "the test did not start"
        process.send_signal(sign)
        process.wait(60)
        assert wait_until(lambda: not processes_with(mark, MARK), 10), "a process was left behind"
    finally:
        for pid in processes_with(mark, MARK):
            os.kill(pid, signal.SIGKILL)
        process.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
def test_a_process_left_behind_fails_the_tests(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "test_leave.py"
    file.write_text("import subprocess\ndef test_leave():\n"
                    "    subprocess.Popen(['sleep', '1000'], start_new_session=True)\n")
    environment = {**os.environ, MARK: mark, "PYTHONPATH": PATH, "VICINAL_TEST_PATIENCE": "0.1"}
    line = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", str(file)]
    result = run_apart(line, environment, 100)
    assert result.returncode == 1 and "1 passed" in result.stdout, result.stdout
    assert "was left behind: sleep 1000" in result.stderr, result.stderr
    assert not processes_with(mark, MARK)
