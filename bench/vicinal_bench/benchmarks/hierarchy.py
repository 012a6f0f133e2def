"""The hierarchy of algebraic multigrid for `vicinal bench amg`, distributed among ranks.

The problem is rotated anisotropic diffusion on a grid, by bilinear finite elements. The hierarchy
is classical AMG (Ruge and Stüben's splitting, direct interpolation), from PyAMG. Ranks own blocks
of the grid, and regions blocks of ranks, as nearly square as their numbers allow. On coarser levels
a row stays with its owner.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal_command.inputs import Problem, halo_of
from vicinal_command.matrices import Integers, Matrix, in_rows
from vicinal_command.memory import available_memory
from vicinal_command.outputs import CommandError
from vicinal_command.partition import by_parts

ANGLE, ANISOTROPY = math.pi / 4, 0.001
BYTES_PER_ROW = 1000
"""Memory to build, distribute and plan a hierarchy; 780 to 1,030 bytes were measured."""


def grid_of(rows: int) -> tuple[int, int]:
    """The most nearly square grid of `rows` points. The second number is not the smaller one."""
    return _sides(rows, 1.0)


def require_memory(rows: int) -> None:
    """Refuses a problem whose hierarchy needs more memory than is available."""
    available = available_memory()
    needed = rows * BYTES_PER_ROW
    if available is not None and needed > available:
        raise CommandError(
            f"a hierarchy of {rows:,} rows takes about {needed / 1e9:.1f} GB of memory, but {available / 1e9:.1f} GB "
            "are available; take fewer rows"
        )


def build(grid: tuple[int, int]) -> Any:
    """PyAMG's hierarchy of the problem on a grid."""
    try:
        import pyamg
        from pyamg.gallery import stencil_grid
        from pyamg.gallery.diffusion import diffusion_stencil_2d
    except ImportError as error:
        raise CommandError("PyAMG, which builds the hierarchy, is not installed: run `pip install pyamg`") from error
    stencil = diffusion_stencil_2d(epsilon=ANISOTROPY, theta=ANGLE, type="FE")
    matrix = stencil_grid(stencil, grid, format="csr")
    # The splitting of each level defines the rows of the next one.
    return pyamg.ruge_stuben_solver(matrix, interpolation="direct", max_levels=30, max_coarse=10, keep=True)


def owners(grid: tuple[int, int], ranks: int, ranks_per_region: int) -> Integers:
    """The owner of each grid point. Ranks fill their regions, numbered region by region."""
    inner = _sides(ranks_per_region, 1.0)
    outer = _sides(ranks // ranks_per_region, grid[1] * inner[0] / (grid[0] * inner[1]))
    down, across = (
        np.arange(points) * (many * few) // points for points, many, few in zip(grid, outer, inner, strict=True)
    )
    region = down[:, None] // inner[0] * outer[1] + across[None, :] // inner[1]
    place = down[:, None] % inner[0] * inner[1] + across[None, :] % inner[1]
    return np.asarray(region * ranks_per_region + place, np.int64).ravel()


@dataclass(frozen=True)
class Level:
    """A matrix of the hierarchy, with its rows distributed among ranks."""

    number: int
    matrix: Matrix
    starts: Integers
    """Rank r has the rows from starts[r] to starts[r + 1] - 1."""
    problem: Problem
    """The halo exchange of its product with a vector."""
    idle: int
    """Ranks without a row."""


def levels_of(hierarchy: Any, owner: Integers, ranks: int) -> Iterator[Level]:
    """The levels, from the finest one, whose rows have the owners `owner`."""
    for number, level in enumerate(hierarchy.levels):
        matrix, starts = by_parts(in_rows(f"level {number}", level.A), owner, ranks)
        problem = halo_of(matrix, starts, f"{matrix.rows:,} rows", {})
        yield Level(number, matrix, starts, problem, int((np.diff(starts) == 0).sum()))
        if number + 1 < len(hierarchy.levels):
            owner = owner[np.flatnonzero(level.splitting)]


def _sides(count: int, ratio: float) -> tuple[int, int]:
    """Two factors of `count` whose ratio, second over first, is nearest to `ratio`."""
    divisors: Sequence[int] = [side for side in range(1, math.isqrt(count) + 1) if count % side == 0]
    pairs = [(side, count // side) for side in divisors] + [(count // side, side) for side in reversed(divisors)]
    return min(pairs, key=lambda pair: abs(math.log(pair[1] / pair[0] / ratio)))
