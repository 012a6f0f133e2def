"""`vicinal explain`: its options, and what follows from them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .inputs import Input, serves
from .options import add_common, add_strategy, check_strategy, positive, virtual_regions_of
from .outputs import CommandError, OutputFile
from .report import Report


def add_explain(commands: Any) -> None:
    """The subcommand `explain`."""
    explain = commands.add_parser(
        "explain", help="predict and count what each strategy would do, at any number of ranks, without MPI",
        description="Plan a matrix's halo exchange, or a recorded pattern, on virtual ranks under every strategy, prove "
        "the plans, predict how long they take on a machine, count what they send, and say why the fastest is.",
    )
    explain.add_argument(
        "input", metavar="MATRIX",
        help="a Matrix Market file (.mtx, .mtx.gz), the name of a PyAMG example such as helmholtz_2D, or a recorded "
        "pattern: src,dst,MB (.csv, .csv.gz)",
    )
    explain.add_argument(
        "--ranks", type=positive, metavar="N",
        help="how many ranks; for a pattern as many as it has (default), or fewer, among which its ranks are folded",
    )
    add_common(explain, launched=False)
    add_strategy(explain)
    explain.add_argument(
        "--profile", metavar="FILE",
        help="the machine whose times are predicted; by default VICINAL_PROFILE says which, or it is the built-in one",
    )
    explain.add_argument("--phases", action="store_true", help="show the predicted time by phase, too")
    explain.add_argument(
        "--partition", metavar="FILE",
        help="who owns which row: the number of its rank for each, one per line or as .npy; by default near-equal "
        "blocks of rows",
    )
    explain.add_argument(
        "--values", type=positive, default=1, metavar="K",
        help="values per row: the block size, or the number of vectors (default 1)",
    )
    explain.add_argument(
        "--exchanges", type=positive, metavar="E",
        help="how many exchanges a recorded pattern's megabytes are the total of (default 1)",
    )
    explain.add_argument(
        "--verify", action=argparse.BooleanOptionalAction,
        help="prove that each plan does what was asked for; by default, while that takes no longer "
        "than half a minute",
    )
    explain.add_argument("--goal", metavar="FILE", help="write the strategy's LogGOPSim GOAL program")
    explain.add_argument("--rank", type=int, metavar="R", help="print rank R's plan under the strategy")


def strategies(options: argparse.Namespace) -> Sequence[str]:
    """Those to look at."""
    return check_strategy(options.strategy, **serves(options.input))


def run(
    options: argparse.Namespace, asked: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    """Explain these strategies."""
    from . import explain

    chosen = None if options.strategy == "all" else options.strategy
    for name in ("goal", "rank"):
        if getattr(options, name) is not None and chosen is None:
            raise CommandError(f"--{name} shows one strategy's plan; name it by --strategy")
    given = Input(options.input, options.ranks, options.partition, options.values, options.exchanges)
    goal = OutputFile(options.goal) if options.goal else None
    return explain.explain(
        explain.Request(
            given, virtual_regions_of(options), asked, chosen, options.verify, options.profile, options.phases, json,
            plot, goal, options.rank,
        )
    )
