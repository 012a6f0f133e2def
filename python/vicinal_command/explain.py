"""`vicinal explain`: messages and predicted time of each strategy, at any number of ranks.

Nothing is launched: planners run on virtual ranks in this process. The verifier, which sees the
plans of all ranks, proves that they do what the matrix or pattern requires. Every region counts as
a host of its own. Times are prices of the plans on a machine's profile.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vicinal import Error

from .inputs import Problem, VirtualRequest, plan, read_input, read_machine, suited
from .memory import available_memory
from .outputs import CommandError, OutputFile, interruptible, progress
from .prices import Prediction, predict, profile_of
from .reasons import ExplainRow, verdict
from .report import tables_beside
from .rows import LOCAL_NOTE, Counts, Row, make_row
from .tables import VERIFIED, Column, duration, in_bytes, show, size, timed, whole

if TYPE_CHECKING:
    from vicinal._core import Machine, Patterns, PlanSet, Profile

    from .plots import Traffic

VERIFY_SECONDS = 30
"""Seconds after which plans are verified only with --verify."""
STRATEGY = Column("strategy", lambda row: str(row["strategy"]), left=True)
COLUMNS = (
    STRATEGY,
    Column("predicted", timed("predicted_us"), kept=True),
    Column("non-local\nmessages", whole("nonlocal_messages")),
    Column("most\nper rank", whole("nonlocal_messages_max")),
    Column("busiest\nrank's", whole("busiest_messages")),
    Column("non-local\nbytes", in_bytes("nonlocal_bytes")),
    Column("most\nper rank", in_bytes("nonlocal_bytes_max")),
    Column("busiest\nrank's", in_bytes("busiest_bytes")),
    Column("saved", lambda row: f"{row['saved_percent']:.0f} %"),
    Column("local\nbytes", in_bytes("local_bytes")),
    Column("verified", lambda row: VERIFIED[row["correct"]], kept=True),
)


@dataclass(frozen=True)
class Request(VirtualRequest):
    """Arguments of `vicinal explain`."""

    verify: bool | None
    """None: verify within the time limit."""
    phases: bool
    goal: OutputFile | None
    rank: int | None
    memory: str
    """Memory of the buffers: 'host' or 'device'."""
    device_way: str
    """Transport of device buffers, as in `vicinal_device_way`."""
    goal_signals: bool
    """True if the GOAL program has signals, as empty messages."""


def explain(request: Request) -> int:
    """Plans, proves, prices and counts; shows and writes the results. Returns the exit status."""
    return _Explanation(request).run()


class _Explanation:
    def __init__(self, request: Request) -> None:
        self.begin = time.monotonic()
        self.request = request
        self.profile: Profile = profile_of(request.profile)
        self.problem: Problem = read_input(request.input)
        self.request = replace(request, strategies=suited(request, self.problem))
        if request.rank is not None and not 0 <= request.rank < self.problem.ranks:
            raise CommandError(f"there is no rank {request.rank}; --rank takes 0 to {self.problem.ranks - 1}")
        self.machine: Machine = read_machine(request.regions, self.problem.ranks)
        if request.plot:
            _require_room_for_maps(self.machine.regions)
        self.apart, self.once = self.problem.between_regions(self.machine)
        self.rows: list[ExplainRow] = []
        self.findings: list[str] = []
        self.drawn: list[Traffic] = []
        """For a plot: traffic of the baseline, and of the strategy with the fewest messages."""
        self.text = ""

    def run(self) -> int:
        request = self.request
        with progress("planning", 2 * len(request.strategies)) as advance:
            for index, strategy in enumerate(request.strategies):
                plans = plan(
                    strategy, self.problem, self.machine, self.profile, idle_ranks_lead=request.idle_ranks_lead,
                    memory=request.memory, device_way=None if request.device_way == "automatic" else request.device_way,
                )
                advance(2 * index + 1)
                self._keep(strategy, plans)
                advance(2 * (index + 1))
                # Plans of thousands of ranks are large, so only one strategy's are in memory.
                del plans
        self._show()
        if self.findings:
            raise CommandError(f"a plan does not do what it should: {self.findings[0]}; please report this")
        return 0

    def _keep(self, strategy: str, plans: PlanSet) -> None:
        """Evaluates a strategy's plans, and keeps the results that are shown."""
        request, problem = self.request, self.problem
        correct = None
        in_time = time.monotonic() - self.begin < VERIFY_SECONDS
        if request.verify or (request.verify is None and in_time):
            finding = _prove(plans, problem.patterns)
            self.findings += [f"{strategy}: {finding}"] if finding else []
            correct = finding is None
        predicted = interruptible(
            lambda: predict(plans, self.profile, problem.value_bytes, request.memory, request.device_way)
        )
        counts = plans.statistics()
        self.rows.append(_make_row(strategy, counts, predicted, problem.value_bytes, self.apart, correct))
        if request.plot:
            self._draw(plans, counts["nonlocal_messages"])
        if strategy == request.chosen:
            if request.goal:
                rate = 1e-9 / self.profile.copy_seconds_per_byte
                request.goal.write_text(plans.goal(problem.value_bytes, rate, signals=request.goal_signals))
            if request.rank is not None:
                self.text = plans.text(request.rank)

    def _draw(self, plans: PlanSet, sent: npt.NDArray[Any]) -> None:
        """Keeps the traffic between regions of the baseline, and of the strategy with the least."""
        from .plots import Traffic

        row = self.rows[-1]
        if len(self.drawn) == 2 and _sends(row) >= _sends(self.drawn[1].row):
            return
        messages, elements = plans.region_traffic()
        self.drawn[1:] = [Traffic(row, sent, messages, elements * self.problem.value_bytes)]

    def _show(self) -> None:
        request, problem = self.request, self.problem
        regions, found = self.machine.regions, verdict(self.rows)
        if request.json:
            facts = {
                **problem.facts_on(request.regions, regions),
                "deduplication": {
                    "bytes_apart": self.apart * problem.value_bytes,
                    "bytes_once": self.once * problem.value_bytes,
                },
                "verdict": found,
                **({"memory": request.memory, "device_way": request.device_way} if request.memory != "host" else {}),
            }
            request.json.write(self.rows, facts, self.profile.name)
        title = problem.title(regions)
        if request.plot:
            from .plots import plot_traffic

            plot, before, after = request.plot, self.drawn[0], self.drawn[-1]
            plot.write(lambda path: plot_traffic(path, plot.kind, title, before, after))
        stream = tables_beside(request.json)
        best = next(row for row in self.rows if row["strategy"] == found["strategy"])
        show(
            title, self.rows, COLUMNS, self._notes(), stream=stream, best=best, findings=[found["reason"]]
        )
        if request.phases:
            names = dict.fromkeys(name for row in self.rows for name in row["predicted_phases_us"])
            columns = (STRATEGY, *(Column(name, _phase(name)) for name in names))
            notes = ["phases: of the chain of events that ends last, so that they add up to the time predicted"]
            show("predicted time by phase", self.rows, columns, notes, stream=stream, best=best)
        if request.rank is not None:
            print(self.text, file=stream)

    def _way(self) -> str:
        way = self.request.device_way
        return way if way != "automatic" else f"the fastest of {', '.join(self.profile.device_ways)}"

    def _notes(self) -> list[str]:
        apart, once = (count * self.problem.value_bytes for count in (self.apart, self.once))
        share = f" ({100 * (apart - once) / apart:.0f} % less)" if apart else ""
        notes = [
            f"predicted: by the profile {self.profile.name}, until the last rank is done; nothing was run"
            f"{f', of buffers in the memory of GPUs, {self._way()}' if self.request.memory == 'device' else ''}",
            "busiest rank's: what the rank whose processor is busy longest sends to other regions and receives from "
            "them",
            f"saved: of the {size(apart)} that pass between regions where each edge's values go apart; each value once "
            f"for each pair of regions is {size(once)}{share}",
            LOCAL_NOTE,
        ]
        if self.request.verify is False:
            notes.append("plans were not verified, as asked by --no-verify")
        elif any(row["correct"] is None for row in self.rows):
            notes.append(f"after {VERIFY_SECONDS} s, plans were no longer verified; --verify insists")
        return notes


def _prove(plans: PlanSet, patterns: Patterns) -> str | None:
    """The verifier's first finding, if any."""
    try:
        interruptible(lambda: plans.verify(patterns))
    except Error as error:
        return str(error)
    return None


def _make_row(
    strategy: str, counts: Counts, predicted: Prediction, value_bytes: int, apart: int, correct: bool | None
) -> ExplainRow:
    rank = predicted.busiest
    elements = int(counts["nonlocal_elements"][rank] + counts["nonlocal_received_elements"][rank])
    saved = apart - int(counts["nonlocal_elements"].sum())
    return ExplainRow(
        **make_row(strategy, counts, value_bytes, correct),
        predicted_us=predicted.microseconds,
        predicted_phases_us=predicted.phases,
        busiest_rank=rank,
        busiest_messages=int(counts["nonlocal_messages"][rank] + counts["nonlocal_received_messages"][rank]),
        busiest_bytes=elements * value_bytes,
        saved_bytes=saved * value_bytes,
        saved_percent=round(100 * saved / apart, 2) if apart else 0.0,
    )


def _phase(name: str) -> Any:
    return lambda row: duration(row["predicted_phases_us"].get(name))


def _sends(row: Row) -> tuple[int, int]:
    return row["nonlocal_messages"] or 0, row["nonlocal_bytes"] or 0


def _require_room_for_maps(regions: int) -> None:
    """Refuses maps of regions by regions that would not fit into memory."""
    # Messages and bytes of two strategies and of a third one under evaluation, and copies in the
    # picture.
    needed = 8 * np.dtype(np.int64).itemsize * regions**2
    available = available_memory()
    if available is not None and needed > available:
        raise CommandError(
            f"--plot draws maps of {regions:,} × {regions:,} regions, which take about {needed / 1e9:.1f} GB of "
            f"memory, but {available / 1e9:.1f} GB are available; leave it out, or give larger regions"
        )
