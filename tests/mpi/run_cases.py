"""Runs all cases of the Python interface on the ranks of this launch."""

from __future__ import annotations

import cases_allgather  # noqa: F401  (importing a module adds its cases)
import cases_alltoall  # noqa: F401
import cases_arrays  # noqa: F401
import cases_choosing  # noqa: F401
import cases_exchange  # noqa: F401
import cases_family  # noqa: F401
import cases_graph  # noqa: F401
import cases_halo  # noqa: F401
import cases_mistakes  # noqa: F401
import cases_partitions  # noqa: F401
import cases_refusals  # noqa: F401
import cases_reverse  # noqa: F401
import cases_settings  # noqa: F401
from harness import run

if __name__ == "__main__":
    run()
