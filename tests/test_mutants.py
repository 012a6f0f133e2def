"""What tests/mutants says of the sources is still so: a bug whose text has moved is never put in again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from launching import ROOT

tomllib: Any = pytest.importorskip("tomllib", reason="needs Python 3.11")
FOLDER = ROOT / "tests" / "mutants"


@pytest.mark.parametrize("listed", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_the_text_of_each_bug_occurs_once(listed: Path) -> None:
    moved = []
    for mutant in tomllib.loads(listed.read_text())["mutant"]:
        file = ROOT / mutant["file"]
        count = file.read_text().count(mutant["old"]) if file.exists() else 0
        if count != 1:
            moved.append(f"{mutant['name']}: {count} times in {mutant['file']}")
    assert not moved
