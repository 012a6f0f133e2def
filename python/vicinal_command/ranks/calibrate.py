"""Program of one rank of `vicinal calibrate`, started by calibrate.py of the parent folder.

calibrate.py derives the numbers from the results. Every rank runs the same list of measurements,
and chooses the ranks of each measurement by the same rules. Timed loops are compiled
(src/calibrate/calibrate.hpp).
"""

from __future__ import annotations

import platform
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal import Graph, Settings
from vicinal._calibration import Pair, calibrator, effort

from .process import RankProcess, run

LEVELS = ("domain", "node", "network")


class Rank:
    """One rank's part in the measurements."""

    def __init__(self, process: RankProcess) -> None:
        self.process, self.task = process, process.task
        self.calibrator = calibrator(process.comm, self.task["regions"])
        self.hosts = self.calibrator.hosts()
        self.effort = effort(self.task["repetitions"], self.task["seconds"])
        self.results: dict[str, NDArray[Any]] = {}

    def run(self) -> None:
        """Measures everything that this rank can, and stores it in the folder."""
        self._cores()
        pairs = {level: self._pair(level) for level in LEVELS}
        for level, pair in pairs.items():
            if pair is not None:
                self._messages(level, pair)
            self.process.report()
        nearest = next((pairs[level] for level in LEVELS if pairs[level] is not None), None)
        if nearest is not None:
            self._queue(nearest)
        self.process.report()
        self._memory()
        self.process.report()
        self._port(pairs["network"])
        self.process.report()
        self._all_at_once()
        self.process.report()
        self._handed()
        self.process.report()
        self._device(pairs)
        self.process.report()
        self._version()
        self.process.leave(**self.results)

    def _keep(self, name: str, values: Any) -> None:
        """Stores a result. The array is empty if only other ranks have measured it."""
        array = np.asarray(values, float)
        if array.size:
            self.results[name] = array

    def _pair(self, level: str) -> Pair | None:
        """The lowest ranks whose distance is this level."""
        size = len(self.hosts)
        pairs = ((one, other) for one in range(size) for other in range(one + 1, size))
        return next((pair for pair in pairs if self.calibrator.level(*pair) == level), None)

    def _cores(self) -> None:
        task = self.task
        self._keep("unit", self.calibrator.unit(effort(task["repetitions"], task["work_seconds"] / 4)))
        self._keep("paces", self.calibrator.paces(effort(3, task["work_seconds"])))
        for what in ("flag", "message"):
            self._keep(f"turns_{what}", self.calibrator.turns(what == "message", effort(3, task["work_seconds"] / 2)))
        self._keep("host", [self.hosts[self.process.comm.rank]])
        self.process.report()

    def _messages(self, level: str, pair: Pair, of_gpu: bool = False) -> None:
        measure, task, name = self.calibrator, self.task, f"gpu_{level}" if of_gpu else level
        self._keep(f"{name}_one_way", measure.one_way(pair, task["sizes"], self.effort, of_gpu, False))
        if level == "network" and not of_gpu:
            self._keep(f"{name}_waited", measure.one_way(pair, task["sizes"], self.effort, False, True))
        limit = measure.eager_limit(pair, task["sizes"][-1], of_gpu)
        self._keep(f"{name}_eager", [limit] if limit >= 0 else [])
        for what in ("sends", "receives"):
            samples = getattr(measure, what)(pair, task["small"], task["counts"], self.effort, of_gpu)
            self._keep(f"{name}_{what}", samples)
            for bytes in task["handled"]:
                samples = getattr(measure, what)(pair, bytes, task["few"], self.effort, of_gpu)
                self._keep(f"{name}_{what}_{bytes}", samples)
        self._keep(f"{name}_pair", pair)

    def _queue(self, pair: Pair) -> None:
        """Measures a receive queue while the rank waits for a third one (else for itself)."""
        third = next((rank for rank in range(len(self.hosts)) if rank not in pair), pair[0])
        self._keep("queued", self.calibrator.queued(pair, third, self.task["queues"], self.effort))

    def _near(self) -> Pair | None:
        """The lowest two ranks that share a host, the nearest first."""
        size = len(self.hosts)
        near = [
            (one, other) for one in range(size) for other in range(one + 1, size)
            if self.hosts[one] == self.hosts[other]
        ]
        return min(near, key=lambda each: LEVELS.index(self.calibrator.level(*each)), default=None)

    def _memory(self) -> None:
        """Measures between the two nearest ranks of a host; otherwise copies by one rank only."""
        pair = self._near()
        if pair is not None:
            self._keep("handover", self.calibrator.handover(pair, self.effort))
        copies = pair or (0, 0)
        self._keep("copy", self.calibrator.copy(copies, self.task["copied"], effort(self.task["repetitions"] * 4, 0)))

    def _port(self, pair: Pair | None) -> None:
        """Measures between the hosts of a pair: 1, 2, 4, ... pairs of their ranks at once."""
        if pair is None:
            return
        ends = [[rank for rank, host in enumerate(self.hosts) if host == self.hosts[end]] for end in pair]
        pairs = list(zip(*ends, strict=False))
        counts = sorted({min(1 << power, len(pairs)) for power in range(len(pairs).bit_length() + 1)})
        for count in counts:
            enough = effort(self.task["repetitions"], self.task["crowd_seconds"])
            samples = self.calibrator.together(pairs[:count], self.task["stream"], enough)
            self._keep(f"together_{count}", samples)

    def _all_at_once(self) -> None:
        """Measures copies and exchanges of all ranks at once, with some peers at each level."""
        everybody = range(len(self.hosts))
        at_it = effort(3, self.task["work_seconds"])
        self._keep("copies", self.calibrator.copies(self.task["copied_by_all"], at_it))
        for level in LEVELS:
            others = min(sum(self.calibrator.level(one, other) == level for other in everybody if other != one)
                         for one in everybody)
            counts = sorted({min(count, others) for count in self.task["few"] if others > 0})
            self._keep(f"{level}_all_counts", counts)
            for bytes in (self.task["small"], *self.task["handled"]):
                for count in counts:
                    enough = effort(min(self.task["repetitions"], 5), self.task["crowd_seconds"])
                    samples = self.calibrator.all_at_once(level, count, bytes, enough)
                    self._keep(f"{level}_all_{bytes}_{count}", samples)

    def _handed(self) -> None:
        """Measures exchanges of all ranks at once through shared memory, each with some peers."""
        comm = self.process.comm
        mine = [rank for rank, host in enumerate(self.hosts) if host == self.hosts[comm.rank]]
        others = min(self.hosts.count(host) for host in self.hosts) - 1
        counts = sorted({min(count, others) for count in (1, *self.task["few"]) if others > 0})
        self._keep("handed_counts", counts)
        place = mine.index(comm.rank)
        for count in counts:
            before, after = (
                [mine[(place + way * step) % len(mine)] for step in range(1, count + 1)] for way in (1, -1)
            )
            graph = Graph(comm, before, after, strategy="aggregate", settings=Settings(regions="node"))
            request = graph.Neighbor_allgather_init(np.zeros(1), np.zeros((count, 1)))
            turns, samples = 20, []
            for _ in range(min(self.task["repetitions"], 5) + 1):
                self.process.meet()
                begin = perf_counter()
                for _ in range(turns):
                    request.start()
                    request.wait()
                mine_took = (perf_counter() - begin) / turns
                # Some MPIs' collectives occupy the core that other ranks still need.
                self.process.meet()
                seconds = self.process.most_of(mine_took)
                samples.append(seconds)
                turns = max(20, int(self.task["crowd_seconds"] / seconds))
            # The first sample is for warm-up, and to find how many turns fill a sample.
            self._keep(f"handed_{count}", samples[1:])
            request.free()

    def _device(self, pairs: dict[str, Pair | None]) -> None:
        """Measures rank 0's GPU, if any, and messages if MPI takes GPU memory on all ranks."""
        name, count, has_kernels, takes_pointers = self.calibrator.gpus()
        if name and self.process.comm.rank == 0:
            self.results["gpu"] = np.array([name, str(count), "kernels" if has_kernels else ""])
        self._keep("device", self.calibrator.device(self.task["device_sizes"], self.effort))
        near = self._near()
        if near is not None:
            self._keep("device_peer", self.calibrator.device_peer(near, self.task["device_sizes"], self.effort))
        if all(self.process.comm.allgather(takes_pointers)):
            for level, pair in pairs.items():
                if pair is not None:
                    self._messages(level, pair, of_gpu=True)

    def _version(self) -> None:
        """Stores the names of the machine and of the MPI, without Open MPI's build details."""
        from mpi4py import MPI

        if self.process.comm.rank == 0:
            text = MPI.Get_library_version().splitlines()[0].partition(",")[0]
            self.results["machine"] = np.array(platform.node())
            self.results["mpi"] = np.array(" ".join(text.replace("\x00", "").split()))


if __name__ == "__main__":
    run(lambda process: Rank(process).run())
