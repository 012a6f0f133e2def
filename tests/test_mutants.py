"""The quotations in tests/mutants match the sources: a bug whose text has moved is never
inserted."""

from __future__ import annotations

import sys

import pytest
from launching import ROOT

pytest.importorskip("tomllib", reason="needs Python 3.11")
sys.path.insert(0, str(ROOT / "tools"))

import mutants  # noqa: E402  (found through the path set above)


def test_the_text_of_each_bug_occurs_once() -> None:
    counts = {mutant.name: mutants.places(mutant, ROOT) for mutant in mutants.read_mutants([])}
    assert counts
    assert {name: count for name, count in counts.items() if count != 1} == {}
