"""Conversion of arrays between NumPy's conventions and those of the compiled modules.

User arguments are checked here or in the bindings, before other ranks can wait for the exchange.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import Error

LARGEST = np.iinfo(np.int64).max
HOST_DEVICES = (1, 3, 11)
"""DLPack device types in host memory: plain, and pinned for NVIDIA's or AMD's devices."""


def shown(value: Any) -> str:
    """Text of a value for a message: the value itself if it is short, else its type."""
    text = repr(value)
    return text if len(text) <= 40 else f"of type {type(value).__name__}"


def is_masked(array: Any) -> bool:
    """Returns whether an array has a mask, even one that hides nothing. Exchanges move no masks."""
    return isinstance(array, np.ma.MaskedArray) and np.ma.getmask(array) is not np.ma.nomask


def is_array(value: Any) -> bool:
    """Returns whether exchanges can access the memory of a value."""
    if isinstance(value, np.ndarray):
        return True
    names = ("__cuda_array_interface__", "__dlpack__", "__array_interface__", "__array_struct__")
    if any(hasattr(value, name) for name in names):
        return True
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def is_on_device(array: Any) -> bool:
    """Returns whether an array lies in GPU memory, which NumPy cannot access."""
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    return hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] not in HOST_DEVICES


def type_and_bytes(array: Any) -> tuple[np.dtype[Any], int]:
    """Type of an array's values, and its size in bytes, on the host or on a GPU."""
    if not is_on_device(array):
        reached = to_numpy(array)
        return reached.dtype, reached.nbytes
    described = getattr(array, "__cuda_array_interface__", None)
    dtype = np.dtype(described["typestr"] if described else array.dtype)
    return dtype, math.prod(array.shape) * dtype.itemsize


def stream_handle(stream: Any) -> int:
    """Driver's handle of a GPU stream: a number, or a stream of CuPy, PyTorch or Numba."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("ptr", "cuda_stream", "handle"):  # CuPy's, PyTorch's, Numba's
        stream = getattr(stream, name, stream)
    stream = getattr(stream, "value", stream)  # a pointer of ctypes
    try:
        return operator.index(0 if stream is None else stream)
    except TypeError:
        raise Error(
            f"stream is {stream!r}; give a stream of CuPy, PyTorch or Numba, or its handle as a number", "argument"
        ) from None


def to_numpy(array: Any) -> NDArray[Any]:
    """NumPy array on the same memory."""
    if isinstance(array, np.ndarray):
        return array
    try:
        return np.asarray(memoryview(array))
    except TypeError:  # no buffer protocol
        pass
    if hasattr(array, "__dlpack__") and not hasattr(array, "__array__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def ghosts_like(owned: Any, count: int, by_columns: bool) -> NDArray[Any]:
    """New array for `count` ghosts, with the type and shape of `owned`'s entries."""
    if is_on_device(owned):
        raise Error(
            "x lies in a device's memory and has no room for ghosts at its end; give an array for them there, as ghosts=",
            "argument",
        )
    array = to_numpy(owned)
    return np.empty((count, *array.shape[1:]), array.dtype, order="F" if by_columns else "C")


def tail(array: Any, first: int) -> NDArray[Any]:
    """View of the entries of `array` from `first` on."""
    return array[first:] if is_on_device(array) else np.atleast_1d(to_numpy(array))[first:]


def read_indices(values: Any, what: str) -> NDArray[np.int64]:
    """Reads whole numbers as int64. `what` names the argument in messages."""
    expected = "give a list or a one-dimensional array of whole numbers"
    if is_masked(values):
        raise Error(f"{what} has a mask, which would be ignored; {expected} without one", "argument")
    if isinstance(values, Set):
        raise Error(f"{what} is a {type(values).__name__}, which has no order; give a list, such as sorted(...) of it", "argument")
    if isinstance(values, str):
        raise Error(f"{what} is {values!r}; {expected}, and settings by name, as in strategy='direct'", "argument")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise Error(f"{what} is no array: {error}", "argument") from None
    if array.ndim == 0:
        raise Error(f"{what} is {shown(values)}; {expected}", "argument")
    if array.ndim != 1:
        raise Error(f"{what} has shape {array.shape}; give a one-dimensional array", "argument")
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        how = {"b": " (of a mask, numpy.flatnonzero makes them)", "f": " (astype(int) makes them)", "O": " below 2**63"}
        raise Error(
            f"{what} holds {array.dtype}, such as {shown(array[:1].tolist()[0])}; give whole numbers"
            f"{how.get(array.dtype.kind, '')}",
            "argument",
        )
    if array.dtype.kind == "u" and array.max() > LARGEST:
        raise Error(f"{what} holds {array.max()}; numbers must be below 2**63", "argument")
    return np.ascontiguousarray(array, np.int64)


def read_ranks(values: Any, what: str) -> NDArray[np.int32]:
    """Reads ranks as int32. The library checks that they exist."""
    array = read_indices(values, what)
    if array.size and (array.max() >= 2**31 or array.min() < -(2**31)):
        raise Error(f"{what} holds {np.abs(array).max()}, which is no rank", "rank")
    return array.astype(np.int32)


def read_owned(owned: Any) -> tuple[int, int] | NDArray[np.int64]:
    """Reads owned indices: a tuple of two whole numbers is a range; anything else, an array."""
    if isinstance(owned, range) and owned.step == 1:
        owned = (owned.start, max(owned.start, owned.stop))
    if not isinstance(owned, tuple):
        return read_indices(owned, "owned")
    if len(owned) != 2:
        raise Error(
            f"owned is a tuple of {len(owned)} entries; give (first, last) for a range, or else a list or an array of "
            "indices",
            "argument",
        )
    try:
        first, last = operator.index(owned[0]), operator.index(owned[1])
    except TypeError:
        raise Error(f"owned is {owned!r}; a range is a tuple of two whole numbers", "argument") from None
    if not 0 <= first <= last <= LARGEST:
        raise Error(
            f"owned is ({first}, {last}); a range needs 0 <= first <= last, and ends before its last",
            "argument",
        )
    return first, last
