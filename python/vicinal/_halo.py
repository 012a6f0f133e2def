"""The halo: "I own these indices and need those"."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import read_indices, read_owned, read_ranks, shown
from ._errors import Error, fault_of
from ._load import address_of_comm, native
from ._request import Request
from ._settings import HaloSettings, check_names, given_settings
from ._types import Exchange, Fault, Statistics

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Self, Unpack


class Halo:
    """Exchanges the values of a global index space along its ranks' borders.

    Parameters
    ----------
    comm
        An mpi4py communicator.  It may be freed before the halo.
    owned
        What this rank owns: a tuple `(first, last)` for the indices first to last - 1, or any list or array of
        indices, in any order; position i of an exchanged array belongs to owned[i] (or first + i).
    needed
        The indices whose values this rank wants from their owners, in the order in which its ghosts
        shall lie.  Indices may repeat, and may be its own.
    owners
        The rank that owns each of `needed`, where it is known.  Given by all ranks, it saves looking
        owners up, which takes an allreduce and two exchanges of messages.
    strategy
        The planner: "automatic" (default), "direct", "nearest-first", "aggregate", "aggregate-plain",
        "two-step" or "split".
    regions
        Who is near whom: "node" (default), "numa", "blocks:K", "round-robin:N", "list:0,0,1,...", or a
        sequence with a label for each rank.
    local
        How ranks of a host hand data over: "shared" memory (default) or "messages".
    device_way
        How what lies in a GPU's memory is moved (docs/gpu.md): "automatic" (default), "staged", "direct", "shared",
        "direct-shared", or, where what is exchanged stays allocated until the halo is gone on all ranks, "lent" or "direct-lent".
    in_flight
        How many exchanges of each direction may be in flight at once: 1 to 8 (default 4).
    split_bytes, leader_shift
        See vicinal.h.
    idle_ranks
        Whether ranks that exchange nothing "rest" (default), or take part in all exchanges and may "lead" for their
        region, as on coarse levels of multigrid, where few ranks have rows.  Then they must start exchanges as the
        others do.
    profile
        What the machine costs, by which plans are chosen: the path of a file that `vicinal calibrate` has
        written.  Its contents, not its path, must be the same on all ranks (default: a published machine).
    choice
        How "automatic" is decided: "adaptive" (default), which times further plans in exchanges that repeat,
        "estimate", or "measure", which times the likely planners while the halo is made.
    plan_after
        After how many exchanges further plans are made and compared (default 8).
    bias
        Factors of planners' costs where one is chosen: {"direct": 0.8}, or as in vicinal.h.
    wisdom
        The path of a file in which what has been measured is remembered, and looked up.
    progress
        "relaxed" (default): ranks may relay for others, which they do in every call of vicinal; a blocking
        call of MPI between `start` and `wait` may then deadlock.  "strict": exchanges go direct, one message
        per pair of ranks, unless there is a progress thread, and whatever MPI allows in between works.
    verify
        True has all ranks prove the halo's plans together before they are used, at the cost of gathering
        them on one rank (default False).

    Collective over `comm`; everything else is local, but all ranks must start the exchanges of each
    direction in the same order, with as many values per index and values of the same size.  The
    settings must be the same on all ranks.

    Raises vicinal.Error, on every rank, for an index that nobody owns or two own, an owner that does
    not own, a setting that cannot be read, or an argument that is wrong on any rank.
    """

    __slots__ = ("_halo",)

    def __init__(
        self,
        comm: MPI.Comm,
        owned: tuple[int, int] | range | ArrayLike,
        needed: ArrayLike,
        owners: ArrayLike | None = None,
        **settings: Unpack[HaloSettings],
    ) -> None:
        check_names(settings, HaloSettings)
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
            given = given_settings(**settings)
        except Exception as error:  # raised where all ranks meet, so that the others learn of it
            fault = fault_of(error)
        self._halo = module.make_halo(address, mine, wanted, ranks, given, fault)

    def start(self, x: Any, ghosts: Any = None, *, stream: Any = None) -> Exchange:
        """Begin to bring the owned values of all ranks to their ghosts.

        `x` and `ghosts` are arrays: NumPy's, or with the buffer protocol, DLPack or `__array_interface__`; or in
        a GPU's memory, with `__cuda_array_interface__` or DLPack, such as CuPy's, PyTorch's or Numba's
        (docs/gpu.md), for which the ghosts are given or at the end of `x`.  The first dimension is that of indices; what an index has in the others is
        its block of values.  Arrays are in C order; a two-dimensional one in Fortran order is a set of
        vectors.  One without dimensions has one value.  NumPy's masked arrays are refused, unless their mask is nomask.

        - `x` with an entry for each owned index, and `ghosts` with one for each needed index;
        - or `x` with the ghosts at its end, and no `ghosts`;
        - or `x` with the owned entries only, and no `ghosts`: an array of ghosts is made, and returned
          when the exchange is complete.  It is used again once you no longer refer to it.

        With a `stream` of the GPU in whose memory the arrays lie (CuPy's, PyTorch's, Numba's, or its handle) the exchange
        comes after what is on it so far, and neither this process nor the GPU waits for that.  A stream that an
        array names by itself is followed, too.

        Never waits for other ranks.  Until the exchange is complete, `x` must not be changed nor the
        ghosts used; both are kept alive.  Raises vicinal.Error for arrays that do not fit, and where
        `in_flight` exchanges are already.
        """
        return self._halo.start(x, ghosts, stream)

    def wait(self, exchange: Exchange | None = None, *, stream: Any = None) -> Any:
        """Wait for an exchange, or for all that are in flight, in order.

        Returns what `exchange`, or the last of them, has filled; None where none is in flight.  With a `stream` of the
        GPU, what is put on that from now on comes after the exchange, as `Exchange.wait` says.
        """
        if exchange is None:
            return self._halo.wait(stream)
        if not hasattr(exchange, "wait"):
            raise TypeError(f"exchange is {shown(exchange)}; give what start or start_reverse has returned")
        return exchange.wait(stream)

    def exchange(self, x: Any, ghosts: Any = None, *, stream: Any = None) -> NDArray[Any]:
        """Start an exchange, wait for it and return the ghosts."""
        try:
            exchange = self._halo.start(x, ghosts, stream)
        except Exception:
            self._halo.wait_idle(False)  # the others may need this rank to the end of it
            raise
        return exchange.wait()

    def start_reverse(
        self, x: Any, ghosts: Any = None, op: str | MPI.Op = "sum", *, stream: Any = None
    ) -> Exchange:
        """Begin to bring the ghosts' values back to their owners, where `op` combines them with `x`.

        `op` is "sum", "min", "max", "replace" (the last in order stays), or an mpi4py.MPI.Op.  MPI.MINLOC and MPI.MAXLOC
        take pairs of a number and an int, of a type such as numpy.dtype("f8,i4", align=True).  The
        contributions to an index are combined in the same order in each execution: results are
        reproducible to the bit.  Arrays and `stream` are as for `start`, with the ghosts given or at the
        end of `x`.
        """
        return self._halo.start_reverse(x, ghosts, op, stream)

    def reverse(
        self, x: Any, ghosts: Any = None, op: str | MPI.Op = "sum", *, stream: Any = None
    ) -> NDArray[Any]:
        """Start a reverse exchange, wait for it and return `x`."""
        try:
            exchange = self._halo.start_reverse(x, ghosts, op, stream)
        except Exception:
            self._halo.wait_idle(True)
            raise
        return exchange.wait()

    def persistent(self, x: Any, ghosts: Any = None, *, op: str | MPI.Op | None = None) -> Request:
        """A request that exchanges these arrays each time that it is started; the reverse with an `op`.

        The arrays are as for `start` and `start_reverse`, with the ghosts given or at the end of `x`, and are kept alive.
        Collective: it has a plan of its own, keeps step with no other exchange, and may outlive the halo.  All ranks
        start it equally often.  Raises vicinal.Error, on every rank, for arguments that are wrong on any.
        """
        return Request(self._halo.persistent(x, ghosts, op))

    def free(self) -> None:
        """Wait for what is in flight and give everything back.  Also happens when the halo is dropped."""
        self._halo.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error, other ranks may never take part in what is in flight here.
        if error is None:
            self.free()

    @property
    def owned_count(self) -> int:
        """The number of owned indices."""
        return self._halo.owned_count

    @property
    def ghost_count(self) -> int:
        """The number of ghosts: needed indices, those given twice counted twice."""
        return self._halo.ghost_count

    @property
    def send_map(self) -> dict[int, NDArray[np.int64]]:
        """For each rank that this one sends to, the positions of what is sent among the owned entries."""
        return self._halo.send_map()

    @property
    def receive_map(self) -> dict[int, NDArray[np.int64]]:
        """For each rank that this one receives from, the positions that it fills among the ghosts."""
        return self._halo.receive_map()

    @property
    def statistics(self) -> Statistics:
        """What one exchange costs this rank, in indices."""
        return Statistics(*self._halo.counts())

    @property
    def strategy(self) -> str:
        """The name of the planner."""
        return self._halo.strategy

    def describe(self) -> str:
        """This rank's plans, forward and reverse, as text."""
        return self._halo.text()

    def __repr__(self) -> str:
        try:
            return f"<vicinal.Halo: {self.owned_count} owned, {self.ghost_count} ghosts, {self.strategy}>"
        except Error:
            return "<vicinal.Halo: freed>"
