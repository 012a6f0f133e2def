"""`vicinal explain`: its options, and the request built from them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .cli_inputs import add_inputs, chosen, input_of
from .options import virtual_regions_of
from .outputs import CommandError, OutputFile
from .report import Report


def add_explain(commands: Any) -> None:
    """Adds the subcommand `explain`."""
    explain = commands.add_parser(
        "explain", help="predict and count what each strategy would do, at any number of ranks, without MPI",
        description="Plan a matrix's halo exchange, or a recorded pattern, on virtual ranks under every strategy, "
        "prove the plans, predict how long they take on a machine, count what they send, and say why the fastest is.",
    )
    add_inputs(explain)
    explain.add_argument("--phases", action="store_true", help="show the predicted time by phase, too")
    explain.add_argument(
        "--verify", action=argparse.BooleanOptionalAction,
        help="prove that each plan does what was asked for; by default, while that takes no longer "
        "than half a minute",
    )
    explain.add_argument("--goal", metavar="FILE", help="write the strategy's LogGOPSim GOAL program")
    explain.add_argument(
        "--goal-signals", action=argparse.BooleanOptionalAction, default=True,
        help="signals inside a host, and messages without elements, are empty messages there (default), or left out",
    )
    explain.add_argument(
        "--memory", choices=("host", "device"), default="host",
        help="where the buffers lie: with 'device' predict copies and kernels of GPUs, too, by a profile that has them "
        "(default host)",
    )
    explain.add_argument(
        "--device-way", default="automatic",
        choices=("automatic", "staged", "direct", "shared", "direct-shared", "lent", "direct-lent"),
        help="with --memory device: how buffers there are moved (docs/gpu.md); by default whichever is fastest by the "
        "profile, of those that need no promise",
    )
    explain.add_argument("--rank", type=int, metavar="R", help="print rank R's plan under the strategy")


def run(
    options: argparse.Namespace, asked: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    """Explains these strategies."""
    from . import explain

    strategy = chosen(options)
    for name in ("goal", "rank"):
        if getattr(options, name) is not None and strategy is None:
            raise CommandError(f"--{name} shows one strategy's plan; name it by --strategy")
    goal = OutputFile(options.goal) if options.goal else None
    return explain.explain(
        explain.Request(
            input_of(options), virtual_regions_of(options), asked, strategy, options.profile,
            options.idle_ranks == "lead", json, plot,
            verify=options.verify, phases=options.phases, goal=goal, rank=options.rank, memory=options.memory,
            device_way=options.device_way,
            goal_signals=options.goal_signals,
        )
    )
