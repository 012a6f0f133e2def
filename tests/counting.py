"""Counts the cases of the test programs that pytest starts; each program runs many cases.

A program prints `ok NAME`, `FAILED NAME: why` or `skipped NAME: what it needs` per case. It ends
with `N passed, N failed, N skipped`. A program without that last line has died, whatever its exit
status. A skipped case has not passed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from launching import Result

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
CASE = re.compile(r"^(ok|skipped) ([^\s:]+)(?:: (.*))?$", re.MULTILINE)
LAST_LINES, EARLIER_LINES = 30, 100
"""Lengths of the excerpts of a failed program's output: the last lines, and the lines before
them."""
SKIPPED_PROGRAM = 77
"""The exit status of a program without cases that cannot run here."""


@dataclass
class Tally:
    """The results of one program's cases, summed over all its runs."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    ran: set[str] = field(default_factory=set)
    """Cases that passed in at least one run."""
    reasons: dict[str, str] = field(default_factory=dict)
    """The stated requirement of each skipped case."""

    def add(self, passed: int, failed: int, skipped: int) -> None:
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def never_ran(self) -> dict[str, str]:
        """Returns the cases that were skipped in every run, with the reason."""
        return {name: why for name, why in self.reasons.items() if name not in self.ran}


Totals = dict[str, Tally]
"""Tallies by program name."""


def how_it_ended(output: str) -> str:
    """Summarizes a program's output, the end first because long messages are truncated.

    The end is all that follows the totals, or the last lines of a program that died. Passed and
    skipped cases appear as numbers only, with the name of the last that passed.
    """
    closing = list(CLOSING.finditer(output))
    before, after = (output[: closing[-1].start()], output[closing[-1].end() :]) if closing else (output, "")
    passed = [case for outcome, case, _ in CASE.findall(output) if outcome == "ok"]
    skipped = len(CASE.findall(output)) - len(passed)
    earlier, last = ([line for line in part.splitlines() if line and not CASE.match(line)] for part in (before, after))
    if not closing:
        earlier, last = earlier[:-LAST_LINES], earlier[-LAST_LINES:]
    last_passed = f"; the last that passed: {passed[-1]}" if passed else ""
    told = [f"({len(passed)} cases passed, {skipped} skipped{last_passed})"]
    told += [f"after its totals, {closing[-1][0]}:" if closing else "at last:", *(last or ["(nothing)"])]
    if earlier:
        shown = earlier[-EARLIER_LINES:]
        told += [f"before that, the last {len(shown)} of {len(earlier)} lines:", *shown]
    return "\n".join(told)


def check_cases(result: Result, name: str, totals: Totals) -> None:
    """Counts a program's cases. Fails with the lines of failed cases, or with the end of the
    output."""
    closing = CLOSING.findall(result.output)
    ended = how_it_ended(result.output)
    assert closing, f"{name} ended with {result.code} and without its totals; it printed:\n{ended}"
    passed, failed, skipped = (sum(int(line[column] or 0) for line in closing) for column in range(3))
    tally = totals.setdefault(name, Tally())
    tally.add(passed, failed, skipped)
    for outcome, case, why in CASE.findall(result.output):
        if outcome == "ok":
            tally.ran.add(case)
        else:
            tally.reasons[case] = why
    faults = [line for line in result.output.splitlines() if "FAILED" in line]
    assert not faults and failed == 0, "\n".join([f"{name}:", *faults])
    assert result.code == 0, f"{name} ended with {result.code}; it printed:\n{ended}"
    assert passed + skipped > 0, f"{name} ran no case"


def in_plain_words(totals: Totals) -> dict[str, dict[str, Any]]:
    """Converts the totals to plain types, which another process merges by `add_up`."""
    return {name: asdict(tally) for name, tally in totals.items()}


def add_up(totals: Totals, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Merges the totals of another process."""
    for name, other in found.items():
        tally = totals.setdefault(name, Tally())
        tally.add(other["passed"], other["failed"], other["skipped"])
        tally.ran |= other["ran"]
        tally.reasons |= other["reasons"]


def check_program(result: Result, name: str, totals: Totals) -> None:
    """Counts a program that is a single case."""
    tally = totals.setdefault(name, Tally())
    skipped = result.code == SKIPPED_PROGRAM
    failed = result.code != 0 and not skipped
    tally.add(int(result.code == 0), int(failed), int(skipped))
    assert not failed, f"{name} ended with {result.code}; it printed:\n{result.output}"


def closing_lines(totals: Totals) -> list[str]:
    """Returns a line per program, and a line for each case that ran nowhere."""
    lines = [f"{name}: {tally}" for name, tally in sorted(totals.items())]
    for name, tally in sorted(totals.items()):
        lines += [f"{name}: {case} ran nowhere: {why}" for case, why in tally.never_ran().items()]
    return lines
