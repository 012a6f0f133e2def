"""The planner produces the plan that docs/architecture.md works out by hand."""

from __future__ import annotations

import re

import numpy as np
from launching import ROOT
from vicinal import _core


def test_the_plan_by_hand_is_the_plan() -> None:
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    machine = _core.Machine(labels, labels)
    item = [(0, 0, 1)]
    out = [[(2, item), (3, item)], [(3, item), (0, item)], [], []]
    one = [(0, 0, 1)]
    into = [[(1, 1, one)], [], [(0, 1, one)], [(0, 1, one), (1, 1, [(0, 1, 1)])]]
    patterns = _core.Patterns.from_edges(out, into, True)
    plans = _core.PlanSet.plan("aggregate", machine, patterns)
    plans.verify(patterns)

    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text[text.index("## A plan by hand") :]
    written = re.findall(r"(?:^    (?:rank|  ).*\n)+", section[: section.index("\n## ", 1)], re.MULTILINE)
    assert len(written) == 4
    for rank, block in enumerate(written):
        assert "".join(line[4:] for line in block.splitlines(keepends=True)) == plans.text(rank)
