"""Poisson's equation with DOLFINx, which exchanges ghosts with its neighbors; it knows nothing of
vicinal.

The program prints the norm of the solution to the last bit, and the number of ghost values that
differ from their owners'.

With `--time` it also prints the time of each scatter on the slowest rank. The line has a name, the
number of scatters in a batch, and each batch's seconds per scatter.

With `--dealt` the program divides the mesh itself. It cuts the mesh into boxes and assigns them to
ranks at random, as codes do that balance their load so. All cells that share a vertex are ghosts.
Each rank then has twice as many neighbors.
"""

import itertools
import sys
import time

import dolfinx
import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.cpp import graph
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py import PETSc

EDGE = 12
TURNS = 200
BATCHES = 15

CUTS = 4  # boxes along each edge of the cube


def deal(_comm, ranks, _dimension, cells, _ghosts):
    """Returns for each cell its owner and the ranks that have it as a ghost: a DOLFINx
    partitioner."""
    owners = (np.random.default_rng(1).permutation(CUTS**3) % ranks).reshape(CUTS, CUTS, CUTS)
    width = EDGE // CUTS
    ranks_of_cells, first = [], [0]
    for cell in cells.array.reshape(-1, 4):
        # Vertices are numbered along x first, then along y and z.
        x_y_z = [cell // (EDGE + 1) ** axis % (EDGE + 1) for axis in range(3)]
        owner = owners[tuple(axis.min() // width for axis in x_y_z)]
        others = set()
        for vertex in zip(*x_y_z, strict=True):
            boxes = [{min(i // width, CUTS - 1), max((i - 1) // width, 0)} for i in vertex]
            others.update(owners[box] for box in itertools.product(*boxes))
        ranks_of_cells += [owner, *sorted(others - {owner})]
        first.append(len(ranks_of_cells))
    return graph.AdjacencyList_int32(np.array(ranks_of_cells, np.int32), np.array(first, np.int32))


comm = MPI.COMM_WORLD
division = {"partitioner": deal} if "--dealt" in sys.argv else {}
cube = mesh.create_unit_cube(comm, EDGE, EDGE, EDGE, **division)
space = fem.FunctionSpace(cube, ("Lagrange", 1))
trial, test = ufl.TrialFunction(space), ufl.TestFunction(space)
x = ufl.SpatialCoordinate(cube)
left = ufl.inner(ufl.grad(trial), ufl.grad(test)) * ufl.dx
right = ufl.sin(5 * x[0]) * test * ufl.dx
facets = mesh.locate_entities_boundary(cube, 2, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
fixed = fem.dirichletbc(PETSc.ScalarType(0), fem.locate_dofs_topological(space, 2, facets), space)
options = {"ksp_type": "cg", "pc_type": "gamg", "ksp_rtol": 1e-10}
solution = LinearProblem(left, right, bcs=[fixed], petsc_options=options).solve()
norm = solution.vector.norm()

ghosted = fem.Function(space)
indices = space.dofmap.index_map
owned = indices.size_local
everywhere = indices.local_to_global(np.arange(owned + indices.num_ghosts, dtype=np.int32)).astype(float)
wrong = 0
for turn in range(TURNS):
    due = everywhere + turn * indices.size_global
    ghosted.x.array[:] = -1
    ghosted.x.array[:owned] = due[:owned]
    ghosted.x.scatter_forward()
    wrong += int(np.count_nonzero(ghosted.x.array != due))
wrong = comm.allreduce(wrong)
ghosts = comm.allreduce(indices.num_ghosts)
if comm.rank == 0:
    print(f"DOLFINx {dolfinx.__version__}: {ghosts} ghosts")
    print(f"norm {norm!r} wrong {wrong}")

if "--time" in sys.argv:
    neighbours = comm.gather(len(set(indices.owners)))
    batches = []
    for _ in range(BATCHES):
        comm.barrier()
        begun = time.perf_counter()
        for _ in range(TURNS):
            ghosted.x.scatter_forward()
        batches.append((time.perf_counter() - begun) / TURNS)
    batches = comm.gather(batches)
    if comm.rank == 0:
        mean = sum(neighbours) / comm.size
        print(f"ranks have ghosts of {min(neighbours)} to {max(neighbours)} others, {mean:.1f} in the mean")
        print("scatter", TURNS, *map(max, zip(*batches, strict=True)))
