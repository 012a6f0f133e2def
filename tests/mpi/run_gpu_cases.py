"""Runs all cases with arrays of GPU libraries on the ranks of this launch."""

from __future__ import annotations

import cases_gpu  # noqa: F401  (importing a module adds its cases)
from harness import run

if __name__ == "__main__":
    run()
