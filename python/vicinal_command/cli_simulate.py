"""`vicinal simulate`: its options, and the request built from them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .cli_inputs import add_inputs, chosen, input_of
from .options import virtual_regions_of
from .outputs import OutputFile
from .report import Report


def add_simulate(commands: Any) -> None:
    """Adds the subcommand `simulate`."""
    simulate = commands.add_parser(
        "simulate", help="follow all ranks through an exchange: who waits for what, and where the time goes",
        description="Plan a matrix's halo exchange, or a recorded pattern, on virtual ranks under every strategy, run "
        "the plans of all ranks on a machine's profile, event by event, and show where the time goes and who waits for "
        "what.",
    )
    add_inputs(simulate)
    simulate.add_argument(
        "--timeline", metavar="FILE",
        help="write what each rank does, under the strategy or the fastest one, as Chrome trace events (JSON), for "
        "Perfetto",
    )


def run(
    options: argparse.Namespace, asked: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    """Simulates these strategies."""
    from . import simulate

    timeline = OutputFile(options.timeline) if options.timeline else None
    return simulate.simulate(
        simulate.Request(
            input_of(options), virtual_regions_of(options), asked, chosen(options), options.profile,
            options.idle_ranks == "lead", json, plot, timeline=timeline,
        )
    )
