"""A skipped case does not count as passed, in every test runner."""

from __future__ import annotations

import os
import re
import sys

import pytest
from counting import Totals, check_cases, check_program, closing_lines
from launching import BUILD, ROOT, Result, abi_of, run_ranks

pytestmark = pytest.mark.check_all

PATH = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "mpi")])


def test_cases_are_added_up_over_runs() -> None:
    totals: Totals = {}
    check_cases(Result(0, "ok one\nskipped two: needs 2 ranks\n1 passed, 0 failed, 1 skipped\n"), "program", totals)
    assert closing_lines(totals) == ["program: 1 passed, 0 failed, 1 skipped", "program: two ran nowhere: needs 2 ranks"]
    check_cases(Result(0, "ok one\nok two\n2 passed, 0 failed, 0 skipped\n"), "program", totals)
    assert closing_lines(totals) == ["program: 3 passed, 0 failed, 1 skipped"]


@pytest.mark.parametrize(
    ("code", "output", "says"),
    [
        (0, "ok one\n", "without its totals"),
        (1, "FAILED one: 1 is not 2\n0 passed, 1 failed, 0 skipped\n", "1 is not 2"),
        (3, "ok one\n1 passed, 0 failed, 0 skipped\n", "ended with 3"),
        (0, "0 passed, 0 failed, 0 skipped\n", "ran no case"),
    ],
)
def test_what_did_not_pass_fails(code: int, output: str, says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        check_cases(Result(code, output), "program", {})


def told_of(code: int, output: str) -> list[str]:
    with pytest.raises(AssertionError) as told:
        check_cases(Result(code, output), "program", {})
    return str(told.value).splitlines()


def test_what_died_is_told_without_what_passed() -> None:
    output = "ok one\nskipped two: needs 2 ranks\nok two\nrank 1: killed\nok three\nthe launcher: signal 9\n"
    assert told_of(9, output)[1:5] == [
        "(3 cases passed, 1 skipped; the last that passed: three)", "at last:", "rank 1: killed", "the launcher: signal 9"]


def test_the_end_is_told_first() -> None:
    """Viewers of a long message may cut off its end, so the reason comes first."""
    noise = "".join(f"warning {number}\n" for number in range(500))
    after = told_of(15, f"{noise}ok one\n1 passed, 0 failed, 0 skipped\nrank 1: aborted\n")
    assert after[0].startswith("program ended with 15;"), after[0]
    assert after[2:4] == ["after its totals, 1 passed, 0 failed, 0 skipped:", "rank 1: aborted"]
    assert after[4] == "before that, the last 100 of 500 lines:"
    assert "warning 499" in after and "warning 300" not in after
    died = told_of(9, f"ok one\n{noise}rank 1: killed\n")
    assert died[2:4] == ["at last:", "warning 471"] and died[32:34] == [
        "rank 1: killed", "before that, the last 100 of 471 lines:"]


def test_programs_count_as_one_case() -> None:
    totals: Totals = {}
    check_program(Result(0, ""), "program", totals)
    check_program(Result(77, ""), "program", totals)
    with pytest.raises(AssertionError, match="ended with 1"):
        check_program(Result(1, ""), "program", totals)
    assert closing_lines(totals) == ["program: 1 passed, 1 failed, 1 skipped"]


def test_cases_for_more_ranks_are_skipped(mpi: str) -> None:
    program = BUILD / "bin" / f"vicinal_engine_tests_{abi_of(mpi)}"
    result = run_ranks(mpi, 1, [program, "misuse_is_an_error"])
    assert "skipped misuse_is_an_error_and_no_hang: needs 2 ranks" in result.output, result.output
    assert "0 passed, 0 failed, 1 skipped" in result.output, result.output


def test_cases_in_python_for_more_ranks_are_skipped(mpi: str) -> None:
    program = [sys.executable, ROOT / "tests" / "mpi" / "run_cases.py", "other_topologies"]
    result = run_ranks(mpi, 1, program, env={"PYTHONPATH": PATH})
    assert "skipped cases_family.other_topologies: needs 2 ranks" in result.output, result.output
    assert "0 passed, 0 failed, 1 skipped" in result.output, result.output


# In C++ a return on one line; in Python a return alone under a condition at the top of a case.
QUIET_WAYS_OUT = {
    "tests/cpp/engine/*.cpp": re.compile(r"^  if \((?!.*cells).*(size|thread_multiple).*return;$", re.MULTILINE),
    "tests/mpi/*.py": re.compile(r"^    if .*(comm\.size|THREAD_MULTIPLE|few\().*:\n? +return$", re.MULTILINE),
}


def quiet_ways_out(text: str, pattern: str) -> list[str]:
    """Returns the lines that leave a case without calling skip."""
    return [match[0] for match in QUIET_WAYS_OUT[pattern].finditer(text)]


def test_quiet_ways_out_are_seen() -> None:
    [cpp, python] = QUIET_WAYS_OUT
    assert quiet_ways_out("  if (world_size() < 2) return;\n", cpp)
    assert not quiet_ways_out('  if (world_size() < 2) testing::skip("needs 2 ranks");\n', cpp)
    for condition in "comm.size < 2", "comm.size == 1 or not few(comm.size)", "MPI.Query_thread() < MPI.THREAD_MULTIPLE":
        assert quiet_ways_out(f"    if {condition}:\n        return\n", python)
        assert quiet_ways_out(f"    if {condition}: return\n", python)
        assert not quiet_ways_out(f'    if {condition}:\n        skip("needs 2 ranks")\n', python)


@pytest.mark.parametrize("pattern", QUIET_WAYS_OUT)
def test_all_runners_say_what_they_skipped(pattern: str) -> None:
    """A case that returns early without `skip` would count as passed."""
    paths = sorted(ROOT.glob(pattern))
    quiet = [f"{path.relative_to(ROOT)}: {way}" for path in paths for way in quiet_ways_out(path.read_text(), pattern)]
    assert paths and not quiet, "\n".join(["leave a case by skip(\"needs ...\"), not by return:", *quiet])
