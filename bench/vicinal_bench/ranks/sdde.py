"""Program of one rank of `vicinal bench sdde`, started by benchmarks/sdde.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vicinal import Settings, sparse_exchange
from vicinal_command.ranks.process import Exchange, RankProcess, run

from .competition import compete

if TYPE_CHECKING:
    import numpy.typing as npt
    from mpi4py import MPI

TAG = 7


class Asking:
    """One rank's side of a case: the requests to each owner, and the received requests."""

    def __init__(self, process: RankProcess, number: int) -> None:
        def load(name: str) -> npt.NDArray[np.int64]:
            array: npt.NDArray[np.int64] = process.load(f"{number}-{name}")
            return array

        first, end = load("first")[process.comm.rank : process.comm.rank + 2]
        starts, values = load("starts"), load("values")
        self._own = [np.array(values[starts[edge] : starts[edge + 1]]) for edge in range(first, end)]
        self._owners = load("owners")[first:end].tolist()
        self.fill(0)

    def fill(self, round_: int) -> None:
        """Sets as many values, different in each round, and forgets the received ones."""
        self.messages = dict(zip(self._owners, (own + round_ for own in self._own), strict=True))
        self.received: dict[int, npt.NDArray[np.int64]] = {}

    def delivered(self) -> list[tuple[int, bytes]]:
        """The askers, and the bytes of their requests."""
        return [(rank, self.received[rank].tobytes()) for rank in sorted(self.received)]

    def compute(self) -> None:
        """Does nothing: only the exchange is timed."""

    def right(self, round_: int) -> bool:
        """Returns true: there is no computed result."""
        del round_
        return True


class Own:
    """The exchange with MPI alone: counts by a collective, then messages of known sizes."""

    def __init__(self, comm: MPI.Intracomm, case: Asking) -> None:
        self._comm, self._case = comm, case

    def run(self) -> None:
        from mpi4py import MPI

        counts: npt.NDArray[np.int64] = np.zeros(self._comm.size, np.int64)
        for owner, values in self._case.messages.items():
            counts[owner] = len(values)
        theirs = np.empty_like(counts)
        self._comm.Alltoall(counts, theirs)
        self._case.received = {rank: np.empty(theirs[rank], np.int64) for rank in np.flatnonzero(theirs).tolist()}
        MPI.Request.Waitall([
            *(self._comm.Irecv(room, rank, TAG) for rank, room in self._case.received.items()),
            *(self._comm.Isend(values, owner, TAG) for owner, values in self._case.messages.items()),
        ])

    def counts(self) -> list[int]:
        return []

    def free(self) -> None:
        """Does nothing: it owns no resources."""


class ByMethod(Own):
    """An exchange by one of vicinal's methods."""

    def __init__(self, comm: MPI.Intracomm, case: Asking, method: str, regions: str) -> None:
        super().__init__(comm, case)
        self._settings = Settings(exchange=method, regions=regions)

    def run(self) -> None:
        self._case.received = sparse_exchange(self._comm, self._case.messages, settings=self._settings)


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""

    def set_up(case: Asking, contestant: str | None) -> Exchange:
        if contestant is None:
            return Own(process.comm, case)
        return ByMethod(process.comm, case, contestant, process.task["regions"])

    compete(process, lambda number: Asking(process, number), set_up)


if __name__ == "__main__":
    run(main)
