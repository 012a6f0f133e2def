"""Buffer specifications of neighborhood collectives, as mpi4py takes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import is_array, read_indices, shown, type_and_bytes
from ._errors import Error

FORMS = "[array, counts, displs, type] or a shorter form that mpi4py knows"


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass
class Side:
    """One side of a collective: counts and displacements for each entry of the graph.

    They are in elements of the single datatype; with a datatype for each entry, displacements are
    in bytes. If all blocks are equal, there is one count.
    """

    buffer: Any = None
    counts: NDArray[np.int64] = field(default_factory=_none)
    displacements: NDArray[np.int64] = field(default_factory=_none)
    datatypes: list[Any] = field(default_factory=list)


def read_side(spec: Any, degree: int, what: str) -> Side:
    """Reads `spec` for `degree` edges with a count each. `what` names the argument in messages."""
    buffer, counts, displacements, datatype = _parts_with_type(spec, what)
    if counts is None:
        counts = [_equal_share(buffer, degree, datatype.extent, what)] * degree
    elif np.ndim(counts) == 0:
        counts = [counts] * degree
    counts = read_indices(counts, f"the array of counts of {what}")
    if displacements is None:
        displacements = np.cumsum(counts) - counts
    displacements = read_indices(displacements, f"the array of displacements of {what}")
    return Side(buffer, counts, displacements, [datatype])


def read_blocks(spec: Any, blocks: int, what: str) -> Side:
    """Reads `spec` for `blocks` blocks of one size. A given count is the count of one block."""
    buffer, count, displacement, datatype = _parts_with_type(spec, what)
    if displacement is not None and np.any(np.asarray(displacement) != 0):
        raise Error(f"{what} has a displacement; give a part of the array instead", "argument")
    if count is None:
        count = _equal_share(buffer, blocks, datatype.extent, what)
    if np.ndim(count) != 0:
        raise Error(f"{what} has an array of counts; give [array, count, type] with one count, that of each block", "argument")
    return Side(buffer, read_indices([count], f"the count of {what}"), _none(), [datatype])


def read_partitions(given: Any, degree: int, what: str) -> NDArray[np.int32]:
    """Reads numbers of partitions: one for each of `degree` edges, or one for all."""
    numbers = read_indices([given] * degree if np.ndim(given) == 0 else given, what)
    if numbers.size and numbers.max() >= 2**31:
        raise Error(f"{what} holds {numbers.max()}; numbers of partitions must be below 2**31", "count")
    return np.maximum(numbers, -1).astype(np.int32)


def read_typed_side(spec: Any, degree: int, what: str) -> Side:
    """Reads `spec` for `degree` edges with different datatypes, and displacements in bytes."""
    from mpi4py import MPI

    if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 4:
        raise Error(f"{what} is {shown(spec)}; give [array, counts, displs, types] or [array, types]", "argument")
    buffer, *rest, given = spec
    _check_buffer(buffer, what, f"{what} begins with")
    if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2:
        rest = list(rest[0])
    counts, displacements = [*rest, None, None][:2]
    if isinstance(given, str) or not isinstance(given, Iterable):
        given = [given] * degree
    types = [_read_type(each, what, MPI.Datatype) for each in given]
    if len(types) != degree:
        raise Error(
            f"{what} has {len(types)} datatypes for {degree} edges; give an mpi4py.MPI.Datatype for each", "datatype"
        )
    counts = read_indices([1] * degree if counts is None else counts, f"the array of counts of {what}")
    displacements = [0] * degree if displacements is None else displacements
    return Side(buffer, counts, read_indices(displacements, f"the array of displacements of {what}"), types)


def is_in_place(spec: Any) -> bool:
    """Returns whether `spec` is MPI.IN_PLACE rather than a buffer."""
    from mpi4py import MPI

    return isinstance(spec, type(MPI.IN_PLACE)) and spec == MPI.IN_PLACE


def _parts_with_type(spec: Any, what: str) -> tuple[Any, Any, Any, Any]:
    """Buffer, counts, displacements (None if omitted) and datatype."""
    from mpi4py import MPI

    buffer, counts, displacements, datatype = _parts(spec, what, MPI.Datatype)
    if datatype is not None:
        datatype = _read_type(datatype, what, MPI.Datatype)
    else:
        datatype = MPI.BYTE if buffer is None else _datatype_of(buffer, what, MPI.Datatype)
    return buffer, counts, displacements, datatype


def _parts(spec: Any, what: str, datatype_class: type) -> tuple[Any, Any, Any, Any]:
    """Buffer, counts, displacements and datatype, with None for omitted ones."""
    if not isinstance(spec, (list, tuple)):
        _check_buffer(spec, what, f"{what} is")
        return spec, None, None, None
    if spec:
        _check_buffer(spec[0], what, f"{what} is a {type(spec).__name__} that begins with")
    if not 1 <= len(spec) <= 4:
        raise Error(f"{what} is a {type(spec).__name__} of {len(spec)} entries; give {FORMS}", "argument")
    buffer, *rest = spec
    datatype = rest.pop() if rest and isinstance(rest[-1], (str, type, np.dtype, datatype_class)) else None
    if len(rest) == 3 and rest[-1] is None:
        rest.pop()
    if len(rest) == 2:
        return buffer, rest[0], rest[1], datatype
    if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2:
        return buffer, rest[0][0], rest[0][1], datatype
    if len(rest) > 2:
        _read_type(rest[-1], what, datatype_class)
    return buffer, rest[0] if rest else None, None, datatype


def _check_buffer(buffer: Any, what: str, begin: str) -> None:
    """Refuses a buffer without memory to send or to fill. The message begins with `begin`."""
    if isinstance(buffer, np.ndarray) or buffer is None:
        return
    if is_in_place(buffer):
        raise Error(f"{begin} MPI.IN_PLACE, which only the whole of sendbuf can be; give an array", "buffer")
    if not is_array(buffer):
        raise Error(
            f"{begin} {shown(buffer)}, which is no array; give one as {what} (numpy.array makes one of numbers), or {FORMS}",
            "buffer",
        )


def _read_type(given: Any, what: str, datatype_class: Any) -> Any:
    """Reads a datatype, which may be given by its type code in mpi4py."""
    if isinstance(given, datatype_class):
        return given
    try:
        return datatype_class.fromcode(given)
    except (KeyError, TypeError, ValueError):
        raise Error(
            f"the type in {what} is {shown(given)}; give an mpi4py.MPI.Datatype, such as MPI.DOUBLE, or its letter",
            "datatype",
        ) from None


def _datatype_of(buffer: Any, what: str, datatype_class: Any) -> Any:
    dtype, _ = type_and_bytes(buffer)
    if not dtype.isnative:
        raise Error(
            f"{what} holds {dtype}, which is in another byte order than this machine's; convert it, or give a type "
            "such as MPI.BYTE",
            "datatype",
        )
    try:
        return datatype_class.fromcode(dtype.char)
    except (KeyError, ValueError):
        raise Error(f"{what} holds {dtype}, for which MPI has no type of its own; give one, or MPI.BYTE", "datatype") from None


def _equal_share(buffer: Any, shares: int, extent: int, what: str) -> int:
    if shares == 0:
        return 0
    size = 0 if buffer is None else type_and_bytes(buffer)[1]
    if size % (extent * shares):
        raise Error(
            f"{what} has {size} bytes, which cannot be shared equally among {shares} edges in elements of "
            f"{extent} bytes; give a multiple of {extent * shares} bytes, or counts",
            "count",
        )
    return size // (extent * shares)
