"""Sparse exchanges: each rank knows the ranks it sends to, but not those it receives from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import is_masked, is_on_device, read_ranks, shown, type_and_bytes
from ._errors import Error, fault_of
from ._load import address_of_comm, native
from ._settings import SPARSE, Settings, check_settings, info_keys
from ._types import Fault

if TYPE_CHECKING:
    from mpi4py import MPI

ANY_TYPE = 2**63 - 1
"""The type given by a rank without arrays."""


def sparse_exchange(
    comm: MPI.Comm, messages: Mapping[int, ArrayLike], *, settings: Settings | None = None
) -> dict[int, NDArray[Any]]:
    """Sends an array to each of some ranks. Returns the received arrays, by sender.

    `messages` maps ranks to one-dimensional arrays or single values, of one type on all ranks.
    Empty messages and a message to the own rank are delivered, too. Messages may lie on a GPU (see
    docs/gpu.md); received arrays are NumPy's. `settings.exchange` names the method.

    Collective; the settings must be the same on all ranks. Costs an allreduce, in which the ranks
    agree on the type and on errors, and the exchange. Raises vicinal.Error on every rank if one
    rank failed or if the types differ.
    """
    ranks, arrays, code, keys, fault = _read(messages, "messages", settings)
    received = native().sparse_exchange(address_of_comm(comm), ranks, arrays, code, keys, fault)
    return dict(_split(received))


def sparse_query(
    comm: MPI.Comm,
    requests: Mapping[int, ArrayLike],
    answer: Callable[[int, NDArray[Any]], ArrayLike],
    *,
    settings: Settings | None = None,
) -> dict[int, NDArray[Any]]:
    """Sends a request to each of some ranks. Returns their replies, by the rank that was asked.

    vicinal calls `answer(rank, request)` for each request to this rank, by ascending rank. It
    returns the reply, a one-dimensional array, of one type on all ranks. It must not communicate by
    vicinal on `comm`. An exception from it is raised here, and as vicinal.Error on all other ranks.
    Otherwise as `sparse_exchange`.
    """
    ranks, arrays, code, keys, fault = _read(requests, "requests", settings)
    query = native().Query(address_of_comm(comm), ranks, arrays, code, keys, fault)
    replies: list[Any] = []
    raised: Exception | None = None
    try:
        if not callable(answer):
            raise TypeError(f"answer is {shown(answer)}; give a function of a rank and its request that returns the reply")
        replies = [answer(rank, request) for rank, request in _split(query.requests())]
        arrays, code = _read_arrays(replies, "the reply")
    except Exception as error:  # other ranks wait for this rank's replies
        raised = error
        fault = (error.kind, str(error)) if isinstance(error, Error) else ("argument", f"answer raised {error!r}")
        arrays, code = [], ANY_TYPE
    try:
        return dict(_split(query.answer(arrays, code, fault)))
    except Error:
        if raised is not None:
            raise raised from None
        raise


def _read(
    messages: Mapping[int, ArrayLike], what: str, settings: Settings | None
) -> tuple[NDArray[np.int32], list[Any], int, dict[str, str], Fault | None]:
    """Arguments for the compiled module. Its agreement of all ranks raises any error."""
    check_settings(settings)
    try:
        keys = info_keys(SPARSE, None, settings)
        if not isinstance(messages, Mapping):
            raise TypeError(f"{what} is {shown(messages)}; give a dict that maps ranks to arrays, such as {{1: x}}")
        ranks = read_ranks(list(messages.keys()), f"the list of ranks in {what}")
        arrays, code = _read_arrays(list(messages.values()), "the message")
    except Exception as error:
        return np.empty(0, np.int32), [], ANY_TYPE, {}, fault_of(error)
    return ranks, arrays, code, keys, None


def _read_arrays(values: list[Any], what: str) -> tuple[list[Any], int]:
    """Bytes of arrays of one type, with those on a GPU unchanged, and a number for the type."""
    arrays = [value if is_on_device(value) else _to_host(value, what) for value in values]
    types = [type_and_bytes(array)[0] for array in arrays]
    for array, dtype in zip(arrays, types):
        if len(array.shape) != 1:
            raise Error(f"{what} has shape {tuple(array.shape)}; give one-dimensional arrays", "buffer")
        if dtype != types[0]:
            raise Error(f"{what}s hold {types[0]} and {dtype}; all must hold the same", "datatype")
    if not arrays:
        return [], ANY_TYPE
    code = _code_of(types[0], f"{what} is {shown(values[0])}: {types[0]}")
    return [array.view(np.uint8) if isinstance(array, np.ndarray) else array for array in arrays], code


def _to_host(value: Any, what: str) -> NDArray[Any]:
    """Contiguous NumPy array; a single value becomes an array of one."""
    if is_masked(value):
        raise Error(f"{what} has a mask, which would be lost; give its filled(...) or its data", "buffer")
    return np.ascontiguousarray(value)


def _code_of(dtype: np.dtype[Any], begin: str) -> int:
    """NumPy's name for a type, in the bytes of a number."""
    name = dtype.str.encode()
    if dtype.hasobject or dtype.names is not None or dtype.itemsize == 0 or len(name) > 8:
        raise Error(f"{begin} cannot be exchanged; give an array of numbers, or of texts of a fixed length", "datatype")
    return int.from_bytes(name.ljust(8), "big")


def _split(received: Any) -> list[tuple[int, NDArray[Any]]]:
    """Each sender, and a view of the values that it sent."""
    name, ranks, offsets, data = received
    if not name:
        return []
    values = data.view(np.dtype(name))
    places = (offsets // values.itemsize).tolist()
    return [(rank, values[places[i] : places[i + 1]]) for i, rank in enumerate(ranks.tolist())]
