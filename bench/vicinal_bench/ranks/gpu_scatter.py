"""Program of one rank of `vicinal bench gpu-scatter`, started by benchmarks/gpu_scatter.py.

The timed loops are compiled (python/bindings/mpi_gpu_scatter.cpp).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal import Settings
from vicinal._scatters import ApplicationWay, Contestant, Gpu, Vectors, count_gpus, gpu
from vicinal_command.ranks.process import Exchange, RankProcess, run

from .competition import compete

if TYPE_CHECKING:
    from mpi4py import MPI

APPLICATION, COPY, VICINAL = "application", "copy on the GPU", "vicinal, "
"""Names of contestants. vicinal's, and some of the application's, have a suffix."""
OWN_WAYS: dict[str, ApplicationWay] = {
    f"{APPLICATION}, point to point": "point to point", f"{APPLICATION}, whole vectors": "whole vectors",
}
"""Further contestants of the application."""
MPS = "nvidia-cuda-mps"
"""Prefix of the process names of NVIDIA's MPS, which lets several processes use a GPU at once."""


class Scatter:
    """One rank's side of a case."""

    def __init__(self, process: RankProcess, number: int, device: Gpu) -> None:
        rank, case = process.comm.rank, process.task["cases"][number]
        count, stride = case["values"], case["stride"]
        starts, targets = process.load(f"{number}-starts"), process.load(f"{number}-targets")
        # A rank's vector has one part for each of its edges, of `stride` times as many values, in
        # the order of edges.
        mine = np.flatnonzero(targets == rank)
        needed = stride * (count * mine[:, None] + np.arange(count))
        self.vectors = Vectors(
            process.comm, device, np.searchsorted(starts, mine, side="right") - 1,
            targets[starts[rank] : starts[rank + 1]], count, stride, stride * count * int(starts[rank]), needed.ravel(),
        )

    def fill(self, round_: int) -> None:
        self.vectors.fill(round_)

    def delivered(self) -> None:
        """Returns nothing. right() compares with the expected values."""

    def compute(self) -> None:
        """Does nothing: only the scatter is timed."""

    def right(self, round_: int) -> bool:
        return self.vectors.right(round_)


class Scattered:
    """A contestant, timed in two parts."""

    def __init__(self, contestant: Contestant, repetitions: int) -> None:
        self.contestant, self._repetitions = contestant, repetitions
        self.turns: list[tuple[float, float]] = []

    def run(self) -> None:
        self.contestant.run(1)

    def counts(self) -> list[int]:
        """Nanoseconds to begin one scatter, by turn. The end takes the remaining time."""
        return [round(begun * 1e9) for begun, _ in self.turns[-self._repetitions :]]

    def free(self) -> None:
        self.contestant.free()


def turn(_: Scatter, exchange: Any, iterations: int) -> float:
    """Runs these scatters in compiled code. Returns the mean seconds of one."""
    exchange.turns.append(exchange.contestant.run(iterations))
    return sum(exchange.turns[-1])


def main(process: RankProcess) -> None:
    """Runs one rank, from its task to its results."""
    device, process.facts["gpu"] = take_gpu(process.comm)
    task = process.task

    def set_up(case: Scatter, contestant: str | None) -> Exchange:
        vectors = case.vectors
        if contestant is None:
            made = vectors.application("collective")
        elif contestant in OWN_WAYS:
            made = vectors.application(OWN_WAYS[contestant])
        elif contestant == COPY:
            made = vectors.copy()
        else:
            way = contestant.removeprefix(VICINAL)
            made = vectors.halo(Settings(device_way=way, regions=task["regions"], profile=task["profile"]))
        return Scattered(made, task["repetitions"])

    compete(process, lambda number: Scatter(process, number, device), set_up, turn)


def take_gpu(comm: MPI.Intracomm) -> tuple[Gpu, dict[str, Any]]:
    """This rank's GPU, which ranks of a host share in blocks, and facts about all GPUs."""
    from mpi4py import MPI

    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    count = count_gpus()
    number = host.rank * count // host.size
    device = gpu(number)
    # On a host with more GPUs than ranks, each rank has its own.
    sharing = host.allgather(number).count(number)
    host.Free()
    return device, {
        "name": device.name,
        "driver": device.driver,
        "of_each_host": count,
        "ranks_on_each": max(comm.allgather(sharing)),
        "kernels": device.kernels,
        "mps": is_served(device.driver),
    }


def is_served(driver: str, processes: Path = Path("/proc")) -> bool | None:
    """Returns whether NVIDIA's MPS serves this host's GPUs; None if unknown, as for other vendors.

    Its processes may be invisible, in a container beside this one. Then only their pipe may be
    visible.
    """
    if driver != "CUDA":
        return None
    for words in processes.glob("[0-9]*/cmdline"):
        try:
            program = words.read_bytes().partition(b"\0")[0].decode(errors="replace")
        except OSError:  # the process has ended meanwhile, or belongs to another user
            continue
        if Path(program).name.startswith(MPS):
            return True
    pipes = os.environ.get("CUDA_MPS_PIPE_DIRECTORY")
    return None if Path(pipes or "/tmp/nvidia-mps", "control").exists() else False


if __name__ == "__main__":
    run(main)
