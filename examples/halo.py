"""A sparse matrix-vector product on distributed rows, the ghosts brought by a halo.

    mpiexec -n 4 python -m mpi4py examples/halo.py

By way of mpi4py's runner, so that an exception in one rank ends all of them.
"""

import numpy as np
import scipy.sparse
from mpi4py import MPI

import vicinal

comm = MPI.COMM_WORLD
n = 100_000
first, last = comm.rank * n // comm.size, (comm.rank + 1) * n // comm.size

# This rank's rows of a matrix whose row i needs x[i-1], x[i], x[i+1] and x[i+1000].
rows = np.arange(first, last)
columns = np.stack([rows - 1, rows, rows + 1, rows + 1000]) % n
needed = np.setdiff1d(columns, rows)
halo = vicinal.Halo(comm, owned=(first, last), needed=needed)

# Columns in local numbers: owned ones first, then the ghosts.
local = np.where(
    (columns >= first) & (columns < last),
    columns - first,
    last - first + np.searchsorted(needed, columns),
)
matrix = scipy.sparse.csr_matrix(
    (np.tile([[1.0], [-4.0], [1.0], [2.0]], len(rows)).ravel(), (np.tile(rows - first, 4), local.ravel())),
    shape=(last - first, last - first + len(needed)),
)

x = np.zeros(last - first + len(needed))
x[: last - first] = np.sin(rows)
halo.start(x)
halo.wait()
y = matrix @ x
total = comm.allreduce(float(y @ y))
if comm.rank == 0:
    print(f"|Ax|² = {total:.6f}")
