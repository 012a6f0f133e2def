"""The order in which contestants run."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from vicinal_command.ranks.process import in_turn

CONTESTANTS = ["MPI", "direct", "aggregate", "automatic", "MPI again"]


def test_everybody_has_a_turn_in_each_repetition() -> None:
    for repetition in range(20):
        turns = in_turn(CONTESTANTS, repetition)
        assert sorted(number for number, _ in turns) == list(range(len(CONTESTANTS)))
        assert all(CONTESTANTS[number] == contestant for number, contestant in turns)


@pytest.mark.parametrize("count", range(2, 12))
def test_each_comes_after_each_other_equally_often(count: int) -> None:
    after: Counter[tuple[int, int]] = Counter()
    for repetition in range(count * (1 + count % 2)):
        numbers = [number for number, _ in in_turn(range(count), repetition)]
        after.update(itertools.pairwise(numbers))
    assert len(after) == count * (count - 1) and len(set(after.values())) == 1
