"""Buffer specifications of vector collectives, as mpi4py takes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import read_indices, to_numpy
from ._errors import Error


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass
class Side:
    """One side of an all-to-all: counts and displacements in elements of `datatype`, by edge."""

    buffer: Any = None
    counts: NDArray[np.int64] = field(default_factory=_none)
    displacements: NDArray[np.int64] = field(default_factory=_none)
    datatype: Any = None


def read_side(spec: Any, degree: int, what: str) -> Side:
    """Read `spec` for `degree` edges; the argument is called `what` in messages."""
    from mpi4py import MPI

    buffer, counts, displacements, datatype = _parts(spec, what, MPI.Datatype)
    if isinstance(datatype, str):
        datatype = MPI.Datatype.fromcode(datatype)
    elif datatype is None:
        datatype = MPI.BYTE if buffer is None else _datatype_of(buffer, what, MPI.Datatype)
    if counts is None:
        counts = _equal_shares(buffer, degree, datatype.extent, what)
    elif np.ndim(counts) == 0:
        counts = [counts] * degree
    counts = read_indices(counts, f"the array of counts of {what}")
    if displacements is None:
        displacements = np.cumsum(counts) - counts
    displacements = read_indices(displacements, f"the array of displacements of {what}")
    return Side(buffer, counts, displacements, datatype)


def _parts(spec: Any, what: str, datatype_class: type) -> tuple[Any, Any, Any, Any]:
    """Buffer, counts, displacements and datatype, None for what is left out."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    if not 1 <= len(spec) <= 4:
        raise Error(
            f"{what} is a list of {len(spec)} entries; give [array, counts, displs, type] or a shorter form "
            "that mpi4py knows",
            "argument",
        )
    buffer, *rest = spec
    datatype = rest.pop() if rest and isinstance(rest[-1], (str, datatype_class)) else None
    if len(rest) == 3 and rest[-1] is None:
        rest.pop()
    if len(rest) == 2:
        return buffer, rest[0], rest[1], datatype
    if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2:
        return buffer, rest[0][0], rest[0][1], datatype
    if len(rest) > 2:
        raise Error(f"the type in {what} is {rest[-1]!r}; give an mpi4py.MPI.Datatype or its letter", "datatype")
    return buffer, rest[0] if rest else None, None, datatype


def _datatype_of(buffer: Any, what: str, datatype_class: Any) -> Any:
    dtype = to_numpy(buffer).dtype
    try:
        return datatype_class.fromcode(dtype.char)
    except (KeyError, ValueError):
        raise Error(f"{what} holds {dtype}, for which MPI has no type of its own; give one", "datatype") from None


def _equal_shares(buffer: Any, degree: int, extent: int, what: str) -> list[int]:
    if degree == 0:
        return []
    size = 0 if buffer is None else to_numpy(buffer).nbytes
    if size % (extent * degree):
        raise Error(
            f"{what} has {size} bytes, which cannot be shared equally among {degree} edges in elements of "
            f"{extent} bytes; give counts",
            "count",
        )
    return [size // (extent * degree)] * degree
