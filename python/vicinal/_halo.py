"""The halo: a rank names the indices that it owns and those that it needs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import read_indices, read_owned, read_ranks, shown
from ._errors import Error, fault_of
from ._load import address_of_comm, native
from ._request import Request
from ._settings import HALO, Settings, check_settings, info_keys
from ._types import Exchange, Fault, Statistics

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Self


class Halo:
    """An exchange of the values of a global index space along the borders of its ranks.

    Parameters
    ----------
    comm
        An mpi4py communicator. It may be freed before the halo.
    owned
        The indices that this rank owns: a tuple `(first, last)` for the indices first to last - 1,
        or any list or array of indices, in any order. Position i of an exchanged array belongs to
        owned[i] (or first + i).
    needed
        The indices whose values this rank needs from their owners, in the order of its ghosts.
        Indices may repeat, and may be its own.
    owners
        The rank that owns each of `needed`, if it is known. If all ranks give it, no look-up of
        owners is needed, which takes an allreduce and two exchanges of messages.
    strategy
        The planner: "automatic" (default), "direct", "nearest-first", "aggregate", "aggregate-plain",
        "two-step", "split", "distance-halving-pruned", "cascade" or "common-neighbor".
    settings
        All other settings, a `Settings` (default: none given).

    Collective over `comm`. Everything else is local. All ranks must start the exchanges of each
    direction in the same order, with the same number of values per index, of the same size. The
    strategy and the settings must be the same on all ranks.

    Raises vicinal.Error on every rank: for an index without exactly one owner, a wrong entry of
    `owners`, an invalid setting, or an invalid argument of any rank.
    """

    __slots__ = ("_halo",)

    def __init__(
        self,
        comm: MPI.Comm,
        owned: tuple[int, int] | range | ArrayLike,
        needed: ArrayLike,
        owners: ArrayLike | None = None,
        *,
        strategy: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        check_settings(settings)
        module, address = native(), address_of_comm(comm)
        mine: tuple[int, int] | NDArray[np.int64] = (0, 0)
        wanted = np.empty(0, np.int64)
        ranks = None if owners is None else np.empty(0, np.int32)
        given: dict[str, str] = {}
        fault: Fault | None = None
        try:
            mine = read_owned(owned)
            wanted = read_indices(needed, "needed")
            ranks = None if owners is None else read_ranks(owners, "owners")
            given = info_keys(HALO, strategy, settings)
        except Exception as error:  # raised in the agreement of all ranks, so that all learn of it
            fault = fault_of(error)
        self._halo = module.make_halo(address, mine, wanted, ranks, given, fault)

    def start(self, x: Any, ghosts: Any = None, *, stream: Any = None) -> Exchange:
        """Begins to bring the owned values of all ranks to their ghosts.

        `x` and `ghosts` are arrays of NumPy, or objects with the buffer protocol, DLPack or
        `__array_interface__`. They may lie in GPU memory, with `__cuda_array_interface__` or
        DLPack, such as arrays of CuPy, PyTorch or Numba (docs/gpu.md). On a GPU, ghosts must be
        given or be at the end of `x`. The first dimension is that of indices. The others hold the
        block of values of an index. Arrays are in C order; a two-dimensional one in Fortran order
        is a set of vectors. An array without dimensions has one value. Masked arrays of NumPy are
        refused, unless their mask is nomask.

        - `x` with an entry for each owned index, and `ghosts` with one for each needed index;
        - or `x` with the ghosts at its end, and no `ghosts`;
        - or `x` with the owned entries only, and no `ghosts`: vicinal creates an array of ghosts
          and returns it on completion. It reuses the array once the caller drops it.

        `stream` is a stream of the GPU that holds the arrays: CuPy's, PyTorch's, Numba's, or its
        handle. The exchange then runs after the work on it so far. Neither this process nor the GPU
        waits for that. A stream that an array itself names is followed, too.

        Never waits for other ranks. Until completion, `x` must not be changed nor the ghosts used.
        Both are kept alive. Raises vicinal.Error for arrays that do not fit, and if `in_flight`
        exchanges are in flight.
        """
        return self._halo.start(x, ghosts, stream)

    def wait(self, exchange: Exchange | None = None, *, stream: Any = None) -> Any:
        """Waits for an exchange, or for all that are in flight, in order.

        Returns the array that `exchange`, or the last of them, has filled, or None if none is in
        flight. With a `stream` of the GPU, later work on it runs after the exchange, as for
        `Exchange.wait`.
        """
        if exchange is None:
            return self._halo.wait(stream)
        if not hasattr(exchange, "wait"):
            raise TypeError(f"exchange is {shown(exchange)}; give what start or start_reverse has returned")
        return exchange.wait(stream)

    def exchange(self, x: Any, ghosts: Any = None, *, stream: Any = None) -> NDArray[Any]:
        """Starts an exchange, waits for it and returns the ghosts."""
        try:
            exchange = self._halo.start(x, ghosts, stream)
        except Exception:
            self._halo.wait_idle(False)  # other ranks may need this rank until it is complete
            raise
        return exchange.wait()

    def start_reverse(
        self, x: Any, ghosts: Any = None, op: str | MPI.Op = "sum", *, stream: Any = None
    ) -> Exchange:
        """Begins to bring ghosts back to their owners, where `op` combines them with `x`.

        `op` is "sum", "min", "max", "replace" (the last in order stays), or an mpi4py.MPI.Op.
        MPI.MINLOC and MPI.MAXLOC take pairs of a number and an int, of a type such as
        numpy.dtype("f8,i4", align=True). The contributions to an index are combined in the same
        order in each execution, so results are reproducible to the bit. Arrays and `stream` are as
        for `start`, with the ghosts given or at the end of `x`.
        """
        return self._halo.start_reverse(x, ghosts, op, stream)

    def reverse(
        self, x: Any, ghosts: Any = None, op: str | MPI.Op = "sum", *, stream: Any = None
    ) -> NDArray[Any]:
        """Starts a reverse exchange, waits for it and returns `x`."""
        try:
            exchange = self._halo.start_reverse(x, ghosts, op, stream)
        except Exception:
            self._halo.wait_idle(True)
            raise
        return exchange.wait()

    def persistent(self, x: Any, ghosts: Any = None, *, op: str | MPI.Op | None = None) -> Request:
        """Creates a request that exchanges these arrays at each start, or in reverse with an `op`.

        The arrays are as for `start` and `start_reverse`, with the ghosts given or at the end of
        `x`, and are kept alive. Collective. The request has a plan of its own, so its order with
        other exchanges is free, and it may outlive the halo. All ranks start it equally often.
        Raises vicinal.Error on every rank for an invalid argument of any rank.
        """
        return Request(self._halo.persistent(x, ghosts, op))

    def free(self) -> None:
        """Waits for exchanges in flight and frees the halo, as dropping it does."""
        self._halo.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error, other ranks may never participate in the exchanges in flight here.
        if error is None:
            self.free()

    @property
    def owned_count(self) -> int:
        """Number of owned indices."""
        return self._halo.owned_count

    @property
    def ghost_count(self) -> int:
        """Number of ghosts: the needed indices, with repetitions."""
        return self._halo.ghost_count

    @property
    def send_map(self) -> dict[int, NDArray[np.int64]]:
        """Positions of the sent values among the owned entries, for each rank sent to."""
        return self._halo.send_map()

    @property
    def receive_map(self) -> dict[int, NDArray[np.int64]]:
        """Positions of the received values among the ghosts, for each rank received from."""
        return self._halo.receive_map()

    @property
    def statistics(self) -> Statistics:
        """Costs of one exchange on this rank, in indices."""
        return Statistics(*self._halo.counts())

    @property
    def strategy(self) -> str:
        """Name of the planner."""
        return self._halo.strategy

    def describe(self) -> str:
        """Returns this rank's plans, forward and reverse, as text."""
        return self._halo.text()

    def __repr__(self) -> str:
        try:
            return f"<vicinal.Halo: {self.owned_count} owned, {self.ghost_count} ghosts, {self.strategy}>"
        except Error:
            return "<vicinal.Halo: freed>"
