"""A PETSc Krylov solver whose halo uses `-sf_type neighbor`; it knows nothing of vicinal.

Each of 18 or 32 ranks holds a block of a periodic grid with the 27-point stencil, and has 17
neighbors. The program prints the residual of each iteration to the last bit.

With `--gamg` PETSc's algebraic multigrid is the preconditioner. It creates more graphs, and the
last digits of its residuals differ from run to run.

With `--time` the program also prints the times of the slowest rank, for two operations. The first
is a product with the matrix, which is mostly a scatter; the second is a solver iteration. Each line
has a name, the number of operations in a batch, and each batch's seconds per operation.

PETSc's own log times of scatters are no measure here. An early rank waits in the scatter for ranks
that are still in the previous reduction.
"""

import itertools
import sys
import time

import petsc4py

petsc4py.init(["krylov", "-sf_type", "neighbor"])

import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402

BATCHES = 15
PRODUCTS = 100
EDGE = 4

comm = PETSc.COMM_WORLD
RANKS = {18: (3, 3, 2), 32: (4, 4, 2)}.get(comm.size)
if RANKS is None:
    sys.exit(f"{comm.size} ranks, but 18 or 32 are expected")
SIZES = [count * EDGE for count in RANKS]
place = np.unravel_index(comm.rank, RANKS)


def number(point):
    """Returns the number of a grid point; the points of a rank are consecutive."""
    point = [at % size for at, size in zip(point, SIZES, strict=True)]
    rank = np.ravel_multi_index([at // EDGE for at in point], RANKS)
    return int(rank) * EDGE**3 + int(np.ravel_multi_index([at % EDGE for at in point], (EDGE,) * 3))


matrix = PETSc.Mat().createAIJ(((EDGE**3, None), (EDGE**3, None)), nnz=(27, 26), comm=comm)
for inside in itertools.product(range(EDGE), repeat=3):
    point = [rank * EDGE + at for rank, at in zip(place, inside, strict=True)]
    row = number(point)
    for step in itertools.product((-1, 0, 1), repeat=3):
        matrix.setValue(row, number([at + by for at, by in zip(point, step, strict=True)]), -1.0 if any(step) else 26.5)
matrix.assemble()
solution, right = matrix.createVecs()
first, last = right.getOwnershipRange()
right.setArray(np.sin(np.arange(first, last) * 0.7) + np.arange(first, last) % 5)

solver = PETSc.KSP().create(comm)
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("gamg" if "--gamg" in sys.argv else "jacobi")
solver.setTolerances(rtol=1e-12, max_it=200)
history = []
solver.setMonitor(lambda _, iteration, residual: history.append(residual))
solver.solve(right, solution)
if comm.rank == 0:
    print(f"PETSc {'.'.join(map(str, PETSc.Sys.getVersion()))}: {len(history)} residuals")
    print(" ".join(residual.hex() for residual in history))


def timed(act, times):
    comm.barrier()
    begun = time.perf_counter()
    for _ in range(times):
        act()
    return (time.perf_counter() - begun) / times


if "--time" in sys.argv:
    solver.cancelMonitor()
    iterations = solver.getIterationNumber()
    batches = []
    for _ in range(BATCHES):
        product = timed(lambda: matrix.mult(right, solution), PRODUCTS)
        batches.append((product, timed(lambda: solver.solve(right, solution), 1) / iterations))
    batches = comm.tompi4py().gather(batches)
    if comm.rank == 0:
        for which, (name, count) in enumerate((("product", PRODUCTS), ("iteration", iterations))):
            print(name, count, *(max(rank[batch][which] for rank in batches) for batch in range(BATCHES)))
