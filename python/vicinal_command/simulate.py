"""`vicinal simulate`: simulates one exchange of all ranks, event by event, under each strategy.

Nothing is launched: planners run on virtual ranks in this process, and the plans of all ranks run
on a machine's profile. See docs/command.md for the rules. Every region counts as a host of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .chains import segments, told
from .inputs import Problem, VirtualRequest, plan, read_input, read_machine, suited
from .outputs import OutputFile, interruptible, progress
from .prices import Simulated, follow, profile_of
from .report import tables_beside
from .rows import Counts, Row, make_row
from .tables import Column, duration, show, timed, whole

if TYPE_CHECKING:
    from vicinal._core import Machine, Profile

STRATEGY = Column("strategy", lambda row: str(row["strategy"]), left=True)
OF_RANKS = (
    Column("busiest\nrank", whole("busiest_rank")),
    Column("\nbusy", timed("busiest_us")),
    Column("waiting,\nmedian", timed("waiting_median_us")),
    Column("\nmost", timed("waiting_max_us")),
    Column("\nof rank", whole("waiting_max_rank")),
)
BY_PHASE = (
    Column("phase", lambda row: str(row["phase"]), left=True),
    Column("on the\nchain", timed("chain")),
    Column("busy,\nmean", timed("busy")),
    Column("\nmost", timed("busy_max")),
    Column("waiting,\nmean", timed("waiting")),
    Column("\nmost", timed("waiting_max")),
)


class SimulateRow(Row):
    """One strategy's simulation. Medians and maxima are over ranks."""

    simulated_us: float
    """Time until the last rank is done."""
    simulated_phases_us: dict[str, float]
    """Time by phase, along the chain of events that ends last."""
    busiest_rank: int
    """The rank whose processor is busy longest."""
    busiest_us: float
    waiting_median_us: float
    """Idle time of a rank until it is done: median over ranks."""
    waiting_max_us: float
    waiting_max_rank: int
    busy_phases_us: dict[str, float]
    """By phase, the mean of all ranks."""
    waiting_phases_us: dict[str, float]
    chain: list[dict[str, Any]]
    """The critical chain, as segments of one rank and phase."""


@dataclass(frozen=True)
class Request(VirtualRequest):
    """Arguments of `vicinal simulate`."""

    timeline: OutputFile | None


def simulate(request: Request) -> int:
    """Plans, simulates, shows the results and writes the files. Returns the exit status."""
    profile = profile_of(request.profile)
    problem = read_input(request.input)
    request = replace(request, strategies=suited(request, problem))
    machine = read_machine(request.regions, problem.ranks)
    rows: list[SimulateRow] = []
    baseline: Simulated | None = None
    shown: tuple[str, Simulated] | None = None
    with progress("simulating", 2 * len(request.strategies)) as advance:
        for index, strategy in enumerate(request.strategies):
            plans = plan(strategy, problem, machine, profile, idle_ranks_lead=request.idle_ranks_lead)
            advance(2 * index + 1)
            found = interruptible(partial(follow, plans, profile, problem.value_bytes))
            advance(2 * (index + 1))
            rows.append(_make_row(strategy, plans.statistics(), problem.value_bytes, found))
            # Plans of thousands of ranks and their simulations are large, so only those to be shown
            # are kept.
            del plans
            if request.plot and baseline is None:
                baseline = found
            if request.chosen is not None:
                shown = (strategy, found)  # the last one is the requested strategy
            elif shown is None or found.microseconds < shown[1].microseconds:
                shown = (strategy, found)
    assert shown is not None
    _write(request, problem, machine, profile, rows, shown)
    _plot(request, problem, machine, baseline, shown)
    _show(request, problem, machine, profile, rows, shown)
    return 0


def _make_row(strategy: str, counts: Counts, value_bytes: int, found: Simulated) -> SimulateRow:
    waiting = found.waiting.sum(axis=1)
    longest = int(waiting.argmax())
    return SimulateRow(
        **make_row(strategy, counts, value_bytes, correct=None),
        simulated_us=found.microseconds,
        simulated_phases_us=found.chain_phases,
        busiest_rank=found.busiest,
        busiest_us=round(float(found.busy[found.busiest].sum()), 3),
        waiting_median_us=round(float(np.median(waiting)), 3),
        waiting_max_us=round(float(waiting[longest]), 3),
        waiting_max_rank=longest,
        busy_phases_us=_by_phase(found, found.busy.mean(axis=0)),
        waiting_phases_us=_by_phase(found, found.waiting.mean(axis=0)),
        chain=[part.describe(found) for part in segments(found)],
    )


def _by_phase(found: Simulated, times: Any) -> dict[str, float]:
    return {phase: round(float(time), 3) for phase, time in zip(found.phases, times, strict=True) if time > 0}


def _write(
    request: Request, problem: Problem, machine: Machine, profile: Profile, rows: Sequence[SimulateRow],
    shown: tuple[str, Simulated],
) -> None:
    strategy, found = shown
    facts = problem.facts_on(request.regions, machine.regions)
    if request.json:
        request.json.write(rows, {**facts, "shown": strategy}, profile.name)
    if request.timeline:
        from .trace import write_trace

        about = {**facts, "strategy": strategy, "profile": profile.name}
        request.timeline.write(lambda path: write_trace(path, found, machine, about))


def _plot(
    request: Request, problem: Problem, machine: Machine, baseline: Simulated | None, shown: tuple[str, Simulated]
) -> None:
    if not request.plot or baseline is None:
        return
    from .gantt import plot_timelines

    plot, first = request.plot, (request.strategies[0], baseline)
    drawn = [first] if shown[0] == first[0] else [first, shown]
    plot.write(lambda path: plot_timelines(path, plot.kind, problem.title(machine.regions), drawn))


def _show(
    request: Request, problem: Problem, machine: Machine, profile: Profile, rows: Sequence[SimulateRow],
    shown: tuple[str, Simulated],
) -> None:
    strategy, found = shown
    stream = tables_beside(request.json)
    names = dict.fromkeys(name for row in rows for name in row["simulated_phases_us"])
    phases = (Column(name, partial(_phase, name)) for name in names)
    columns = (STRATEGY, Column("simulated", timed("simulated_us"), kept=True), *phases, *OF_RANKS)
    notes = [
        f"simulated: on the profile {profile.name}, until the last rank is done; nothing was run",
        "phases: of the chain of what waited for what that ends last, so that they add up to the time simulated",
        "waiting: how long a rank's processor has nothing to do for it, until it is done",
    ]
    if not found.chain.size:
        notes.append("no rank waits for another, for nothing is to be exchanged")
    best = next(row for row in rows if row["strategy"] == strategy)
    show(problem.title(machine.regions), rows, columns, notes, stream=stream, best=best)
    if not found.chain.size:
        return
    findings = [f"who waits for what under {strategy}, from the begin to the end:", *told(found)]
    title = f"where the ranks' time goes under {strategy}"
    show(title, _phases(found), BY_PHASE, [], stream=stream, findings=findings)


def _phase(name: str, row: Mapping[str, Any]) -> str:
    return duration(row["simulated_phases_us"].get(name))


def _phases(found: Simulated) -> list[dict[str, Any]]:
    """One row for each phase with any time."""
    return [
        {
            "phase": phase,
            "chain": found.chain_phases.get(phase),
            "busy": float(found.busy[:, number].mean()),
            "busy_max": float(found.busy[:, number].max()),
            "waiting": float(found.waiting[:, number].mean()),
            "waiting_max": float(found.waiting[:, number].max()),
        }
        for number, phase in enumerate(found.phases)
        if found.busy[:, number].any() or found.waiting[:, number].any()
    ]
