"""Commands whose packages are not installed say so in one line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from commanding import HERE, refused
from launching import run_apart


def run_without(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process that cannot import `module`."""
    program = f"import sys; sys.modules[{module!r}] = None; from vicinal_command.cli import main; sys.exit(main())"
    return run_apart([sys.executable, "-c", program, *words], {**os.environ, **HERE}, 60)


@pytest.mark.parametrize("words", [["bench"], ["bench", "sdde", "--ranks", "4"], ["reproduce", "--help"]], ids=" ".join)
def test_missing_benchmarks_are_named(words: list[str]) -> None:
    refused(run_without("vicinal_bench", *words), words[0], "pip install vicinal-bench", "pip install ./bench")


def test_help_names_missing_benchmarks() -> None:
    result = run_without("vicinal_bench", "--help")
    assert result.returncode == 0, result.stderr
    assert " ".join(result.stdout.split()).count("pip install vicinal-bench") == 2


@pytest.mark.parametrize("module", ["elftools", "rich", "scipy"])
def test_missing_dependencies_are_named(module: str) -> None:
    refused(run_without(module, "strategies"), module, 'pip install "vicinal[command]"')
    assert run_without(module, "--version").returncode == 0
