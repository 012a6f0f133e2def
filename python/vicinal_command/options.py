"""Options shared by several subcommands, and the types of option values."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from vicinal import Error

from .outputs import CommandError

REPETITIONS = 5
BASELINE = "direct"
"""The strategy with which all others are compared."""


def positive(text: str) -> int:
    """Parses a whole number from 1 upwards."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return value


def add_regions(command: argparse.ArgumentParser, standard: str | None) -> None:
    """Adds the options for regions. `standard` is their default; None for virtual ranks."""
    regions = command.add_mutually_exclusive_group()
    regions.add_argument(
        "--ranks-per-region", type=positive, metavar="K",
        help="regions of K ranks each, as --regions blocks:K",
    )
    regions.add_argument(
        "--regions", metavar="TEXT",
        help="who is near whom: blocks:K, round-robin:N, list:L0,L1,... (a label per rank)"
        + ("" if standard is None else f", node, numa, or two of these as OUTER/INNER (default {standard})"),
    )


def add_common(command: argparse.ArgumentParser, launched: bool) -> None:
    """Adds the options of every command that compares strategies."""
    add_regions(command, "node" if launched else None)
    add_files(command)


def add_wide(command: argparse.ArgumentParser) -> None:
    """Adds the option of every command that shows tables."""
    command.add_argument(
        "--wide", action="store_true", help="show all columns of tables, however narrow the terminal is"
    )


def add_files(command: argparse.ArgumentParser) -> None:
    """Adds the options for result files."""
    add_wide(command)
    command.add_argument(
        "--json", metavar="FILE",
        help="write the rows as JSON; - is standard output, and the tables then go to standard error",
    )
    command.add_argument("--plot", metavar="FILE", help="draw the results (.png, .svg, .pdf)")


def add_profile(command: argparse.ArgumentParser) -> None:
    """Adds the option of every command that predicts times."""
    command.add_argument(
        "--profile", metavar="FILE",
        help="the machine whose times are predicted; by default VICINAL_PROFILE says which, or it is the built-in one",
    )


def add_strategy(command: argparse.ArgumentParser) -> None:
    """Adds the option of every command for all strategies, or for one besides the baseline."""
    command.add_argument(
        "--strategy", default="all", metavar="NAME",
        help=f"all (default), or one, beside {BASELINE}; see `vicinal strategies`",
    )


def check_strategy(asked: str, *, with_reverse: bool, one_block: bool, complete: bool = False) -> Sequence[str]:
    """The strategies to use: the baseline and those in `asked`, which must serve such exchanges.

    With `complete`, exchanges are over a whole communicator.
    """
    from vicinal import _core

    serving = [name for name, _ in _core.strategies(with_reverse=with_reverse, one_block=one_block, complete=complete)]
    if asked == "all":
        return serving
    if asked not in dict(_core.strategies(complete=True)):
        raise CommandError(f"there is no strategy '{asked}'; choose all or one of {', '.join(serving)}")
    try:
        _core.require_serves(asked, with_reverse=with_reverse, one_block=one_block, complete=complete)
    except Error as error:
        raise CommandError(str(error)) from error
    return list(dict.fromkeys([BASELINE, asked]))


def add_timing(command: argparse.ArgumentParser, iterations: int, repetitions: int = REPETITIONS) -> None:
    """Adds the options of every command that times exchanges."""
    command.add_argument(
        "--iterations", type=positive, default=iterations, metavar="N",
        help=f"exchanges in a row that are timed together (default {iterations})",
    )
    command.add_argument(
        "--repetitions", type=positive, default=repetitions, metavar="K",
        help=f"how often each contestant has its turn (default {repetitions})",
    )
    add_mpi(command)


def add_mpi(command: argparse.ArgumentParser) -> None:
    """Adds the option for the MPI that starts the ranks."""
    command.add_argument(
        "--mpi", metavar="NAME",
        help="mpich, openmpi, abi (one's library of the MPI standard's own ABI), system (the one on PATH), or the "
        "folder of an MPI; by default VICINAL_MPI says which, or the first one found is taken",
    )


def regions_of(options: argparse.Namespace) -> str | None:
    """The given regions, if any."""
    if options.ranks_per_region is not None:
        return f"blocks:{options.ranks_per_region}"
    return str(options.regions) if options.regions is not None else None


def regions_are_known(options: argparse.Namespace) -> bool:
    """Returns whether the regions follow from the options alone, without a run."""
    return regions_of(options) not in (None, "node", "numa") and "/" not in str(regions_of(options))


def virtual_regions_of(options: argparse.Namespace) -> str:
    """The regions of virtual ranks, which must be given."""
    regions = regions_of(options)
    if regions in (None, "node", "numa"):
        raise CommandError(
            "virtual ranks live on no machine that could say who is near whom; give --ranks-per-region K, or "
            "--regions blocks:K, round-robin:N or list:L0,L1,..."
        )
    return str(regions)
