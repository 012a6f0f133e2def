"""Options of the commands that plan on virtual ranks: the exchange, the ranks and the machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .inputs import Input, serves
from .options import add_common, add_profile, add_strategy, check_strategy, positive


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Adds the options for the input, the number of ranks, and the profile."""
    command.add_argument(
        "input", metavar="MATRIX",
        help="a Matrix Market file (.mtx, .mtx.gz), the name of a PyAMG example such as helmholtz_2D, or a recorded "
        "pattern: src,dst,MB (.csv, .csv.gz)",
    )
    command.add_argument(
        "--ranks", type=positive, metavar="N",
        help="how many ranks; for a pattern as many as it has (default), or fewer, among which its ranks are folded",
    )
    add_common(command, launched=False)
    add_strategy(command)
    add_profile(command)
    command.add_argument(
        "--idle-ranks", choices=("rest", "lead"), default="rest",
        help="whether ranks without edges take part, and may lead for their region (default rest)",
    )
    command.add_argument(
        "--partition", metavar="FILE",
        help="who owns which row: the number of its rank for each, one per line or as .npy; by default near-equal "
        "blocks of rows",
    )
    command.add_argument(
        "--values", type=positive, default=1, metavar="K",
        help="values per row: the block size, or the number of vectors (default 1)",
    )
    command.add_argument(
        "--exchanges", type=positive, metavar="E",
        help="how many exchanges a recorded pattern's megabytes are the total of (default 1)",
    )


def input_of(options: argparse.Namespace) -> Input:
    """The input to plan for."""
    return Input(options.input, options.ranks, options.partition, options.values, options.exchanges)


def strategies(options: argparse.Namespace) -> Sequence[str]:
    """The strategies to plan, the baseline first."""
    return check_strategy(options.strategy, **serves(options.input))


def chosen(options: argparse.Namespace) -> str | None:
    """The strategy, if a single one was given."""
    return None if options.strategy == "all" else str(options.strategy)
