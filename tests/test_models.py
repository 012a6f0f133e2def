"""Model-checks the lock-free protocols between ranks; tests/models/*.pml describe their models.

Each model must hold in every interleaving, and each of its mutations must cause an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from launching import ROOT

MODELS = ROOT / "tests" / "models"
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = [
    pytest.mark.check_all,
    pytest.mark.skipif(shutil.which("spin") is None, reason="needs spin (Debian, Ubuntu: apt install spin)"),
    pytest.mark.skipif(COMPILER is None, reason="needs a C compiler"),
]

# Each variant of a protocol, with the mutations that must break it.
CASES: dict[str, dict[str, list[str]]] = {
    "slots": {
        "": ["NO_ACKNOWLEDGEMENT", "NO_AWAIT", "EARLY_ANNOUNCEMENT", "EARLY_SIGNAL", "LATER_FAULT", "EARLY_RETIREMENT"],
        "TAKING_IN": ["NO_ACKNOWLEDGEMENT", "NO_AWAIT", "EARLY_RELEASE", "EARLY_SIGNAL"],
    },
    "sparse_exchange": {
        "": ["ONE_TAG", "EARLY_ENTRY", "NO_CONSENSUS"],
        "PERSONALIZED": ["ONE_TAG", "EARLY_ENTRY", "NO_CONSENSUS"],
    },
}
WAYS = [(model, way) for model, ways in CASES.items() for way in ways]
MUTATIONS = [(model, way, mutation) for model, way in WAYS for mutation in CASES[model][way]]


def errors(model: str, defines: list[str], folder: Path) -> int:
    """Returns the number of errors that an exhaustive search finds; it stops at the first."""
    options = [f"-D{name}" for name in defines if name]
    assert COMPILER is not None
    for command in (
        ["spin", "-a", *options, str(MODELS / f"{model}.pml")],
        [COMPILER, "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"],
        ["./pan", "-m500000"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "too small" not in done.stdout and "out of memory" not in done.stdout, done.stdout
    found = re.search(r"errors: (\d+)", done.stdout)
    assert found is not None, done.stdout
    return int(found[1])


@pytest.mark.parametrize(("model", "way"), WAYS)
def test_a_protocol_holds_whatever_the_order(model: str, way: str, tmp_path: Path) -> None:
    assert errors(model, [way], tmp_path) == 0


@pytest.mark.parametrize(("model", "way", "mutation"), MUTATIONS)
def test_what_is_left_out_of_a_protocol_is_found(model: str, way: str, mutation: str, tmp_path: Path) -> None:
    assert errors(model, [way, mutation], tmp_path) == 1


def test_every_mutation_that_a_model_names_is_tried() -> None:
    for model, ways in CASES.items():
        named = set(re.findall(r"^ \*   ([A-Z_]{6,}) ", (MODELS / f"{model}.pml").read_text(), re.MULTILINE))
        assert named == {mutation for mutations in ways.values() for mutation in mutations}
