"""The `vicinal` command.

Faults that the user can put right are one line on standard error and exit status 2; everything is
checked as early as it can be, so that nothing is computed, and no file begun, in vain.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from ._errors import Error
from .outputs import CommandError, OutputFile

BASELINE = "direct"
DENSITIES = (0.05, 0.1, 0.3, 0.5, 0.7)
SIZES = (32, 400, 4096)
USAGE_STATUS = 2
INTERRUPTED_STATUS = 130
TERMINATED_STATUS = 143


class Terminated(BaseException):
    """The process was asked to end; what it has begun is to be cleaned up on the way out."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (or the process's own); return its exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(_parser().parse_args(arguments))
    except (CommandError, Error) as error:
        print("vicinal:", " ".join(str(error).split()), file=sys.stderr)
        return USAGE_STATUS
    except (KeyboardInterrupt, Terminated) as end:
        interrupted = isinstance(end, KeyboardInterrupt)
        print(f"vicinal: {'interrupted' if interrupted else 'terminated'}", file=sys.stderr, flush=True)
        # A thread may still be planning, and would keep the process, or crash its orderly end.
        os._exit(INTERRUPTED_STATUS if interrupted else TERMINATED_STATUS)
    except BrokenPipeError:
        # Who read the output has seen enough.  Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        print(f"vicinal: not enough memory ({error}); take a smaller matrix, or fewer ranks", file=sys.stderr)
        return USAGE_STATUS
    except OSError as error:
        print("vicinal:", error, file=sys.stderr)
        return USAGE_STATUS


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def _run(options: argparse.Namespace) -> int:
    try:
        from . import __version__, _core
    except ImportError as error:
        text = f"vicinal's compiled part cannot be loaded ({error}); install vicinal again"
        raise CommandError(text) from error
    if options.version:
        print("vicinal", __version__)
        return 0
    if options.command is None:
        raise CommandError("no command given: choose spmv, explain, bench or strategies; see `vicinal --help`")
    known = dict(_core.strategies())
    if options.command == "strategies":
        width = max(map(len, known))
        for name, summary in known.items():
            print(f"{name:<{width}}  {summary}")
        return 0

    if options.command == "bench":
        strategies = _contestants(options.strategy, list(known))
    else:
        strategies = _strategies(options.strategy)
    json = OutputFile(options.json) if options.json else None
    plot = None
    if options.plot:
        from .plots import plot_file

        plot = plot_file(options.plot)
    if options.command == "spmv":
        from . import spmv

        return spmv.spmv(
            spmv.Request(
                options.matrix, options.ranks, _regions(options) or "node", strategies, options.iterations,
                options.repetitions, options.mpi, json, plot,
            )
        )
    if options.command == "bench":
        from . import bench

        asked = options.density or options.moore or options.matrix or options.pattern
        return bench.neighbor_allgather(
            bench.Request(
                options.ranks, _regions(options) or "node", strategies,
                options.density if asked else DENSITIES, options.moore, options.matrix, options.pattern,
                options.sizes, options.columns, options.iterations, options.repetitions, options.mpi, json, plot,
            )
        )
    from . import explain

    chosen = None if options.strategy == "all" else options.strategy
    _check_details(options, chosen)
    return explain.explain(
        explain.Request(
            options.matrix, options.ranks, _virtual_regions(options), strategies, chosen, options.verify, json,
            plot, OutputFile(options.goal) if options.goal else None, options.rank,
        )
    )


def _strategies(asked: str) -> Sequence[str]:
    """The strategies to look at: the baseline, with which all are compared, and those asked for."""
    from . import _core
    from ._errors import Error

    # A halo is updated in both directions, and its ranks want different items.
    halo = {"with_reverse": True, "one_block": False}
    serving = [name for name, _ in _core.strategies(**halo)]
    if asked == "all":
        return serving
    if asked not in dict(_core.strategies()):
        raise CommandError(f"there is no strategy '{asked}'; choose all or one of {', '.join(serving)}")
    try:
        _core.require_serves(asked, **halo)
    except Error as error:
        raise CommandError(str(error)) from error
    return list(dict.fromkeys([BASELINE, asked]))


def _contestants(asked: str, known: Sequence[str]) -> Sequence[str]:
    """The strategies to set beside the MPI's own."""
    from .bench import STRATEGIES

    names = list(STRATEGIES) if asked == "all" else [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"there is no strategy '{name}'; choose all or some of {', '.join(known)}")
    return list(dict.fromkeys(names))


def _regions(options: argparse.Namespace) -> str | None:
    if options.ranks_per_region is not None:
        return f"blocks:{options.ranks_per_region}"
    return str(options.regions) if options.regions is not None else None


def _virtual_regions(options: argparse.Namespace) -> str:
    regions = _regions(options)
    if regions in (None, "node", "numa"):
        raise CommandError(
            "virtual ranks live on no machine that could say who is near whom; give --ranks-per-region K, or "
            "--regions blocks:K, round-robin:N or list:L0,L1,..."
        )
    return str(regions)


def _check_details(options: argparse.Namespace, chosen: str | None) -> None:
    for name in ("goal", "rank"):
        if getattr(options, name) is not None and chosen is None:
            raise CommandError(f"--{name} shows one strategy's plan; name it by --strategy")
    if options.rank is not None and not 0 <= options.rank < options.ranks:
        raise CommandError(f"there is no rank {options.rank}; --rank takes 0 to {options.ranks - 1}")


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return value


def _numbers(text: str) -> list[int]:
    return [_positive(part) for part in text.split(",")]


def _densities(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [-1.0]
    if not all(0 <= value <= 1 for value in values):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers from 0 to 1")
    return values


def _moore(text: str) -> tuple[int, int]:
    radius, *dimensions = _numbers(text)
    if len(dimensions) != 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no radius and number of dimensions, such as 1,2")
    return radius, dimensions[0]


def _parser() -> Parser:
    parser = Parser(
        prog="vicinal",
        description="Plan, prove, run and time the communication of a sparse matrix among ranks.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    spmv = commands.add_parser(
        "spmv", help="run and time a matrix's halo exchange under MPI",
        description="Run a matrix's halo exchange on MPI ranks under every strategy, check y = A x with "
        "each, and time them in turn.",
    )
    explain = commands.add_parser(
        "explain", help="count what each strategy would send, at any number of ranks, without MPI",
        description="Plan a matrix's halo exchange on virtual ranks under every strategy, prove the plans, "
        "and count what they send.",
    )
    commands.add_parser("strategies", help="list the strategies")

    bench = commands.add_parser("bench", help="time strategies against the MPI library's own collectives")
    benches = bench.add_subparsers(dest="collective", metavar="COLLECTIVE", required=True)
    allgather = benches.add_parser(
        "neighbor-allgather", help="MPI_Neighbor_allgather",
        description="Run neighborhood allgathers on MPI ranks by the MPI's own MPI_Neighbor_allgather and under "
        "strategies, check that all deliver the same, and time them in turn. Without any graph named, random "
        "ones of several densities are taken.",
    )
    for command in (spmv, explain):
        command.add_argument(
            "matrix", metavar="MATRIX",
            help="a Matrix Market file (.mtx, .mtx.gz), or the name of a PyAMG example such as helmholtz_2D",
        )
        command.add_argument("--ranks", type=_positive, required=True, metavar="N", help="how many ranks")
        _add_common(command, launched=command is spmv)
        command.add_argument(
            "--strategy", default="all", metavar="NAME",
            help=f"all (default), or one, beside {BASELINE}; see `vicinal strategies`",
        )
    _add_allgather(allgather)
    for command, iterations in ((spmv, 100), (allgather, 50)):
        command.add_argument(
            "--iterations", type=_positive, default=iterations, metavar="N",
            help=f"exchanges in a row that are timed together (default {iterations})",
        )
        command.add_argument(
            "--repetitions", type=_positive, default=5, metavar="K",
            help="how often each strategy has its turn (default 5)",
        )
        command.add_argument(
            "--mpi", metavar="NAME",
            help="mpich, openmpi, system (the one on PATH), or the folder of an MPI; by default VICINAL_MPI "
            "says which, or the first one found is taken",
        )
    explain.add_argument(
        "--verify", action=argparse.BooleanOptionalAction,
        help="prove that each plan does what the matrix asks for; by default, while that takes no longer "
        "than half a minute",
    )
    explain.add_argument("--goal", metavar="FILE", help="write the strategy's LogGOPSim GOAL program")
    explain.add_argument("--rank", type=int, metavar="R", help="print rank R's plan under the strategy")
    return parser


def _add_common(command: argparse.ArgumentParser, launched: bool) -> None:
    """The options of every command that compares strategies."""
    regions = command.add_mutually_exclusive_group()
    regions.add_argument(
        "--ranks-per-region", type=_positive, metavar="K",
        help="regions of K ranks each, as --regions blocks:K",
    )
    regions.add_argument(
        "--regions", metavar="TEXT",
        help="who is near whom: blocks:K, round-robin:N, list:L0,L1,... (a label per rank)"
        + (", node (default) or numa" if launched else ""),
    )
    command.add_argument("--json", metavar="FILE", help="write the rows as JSON")
    command.add_argument("--plot", metavar="FILE", help="draw the results (.png, .svg, .pdf)")


def _add_allgather(command: argparse.ArgumentParser) -> None:
    """The options of `bench neighbor-allgather` alone."""
    command.add_argument(
        "--ranks", type=_positive, metavar="N", help="how many ranks (default: as many as a --pattern has)"
    )
    _add_common(command, launched=True)
    command.add_argument(
        "--strategy", default="all", metavar="NAMES",
        help="all that suit an allgather (default), or some, such as direct,common-neighbor",
    )
    densities = ",".join(map(str, DENSITIES))
    command.add_argument(
        "--density", type=_densities, default=[], metavar="LIST",
        help=f"random graphs in which each edge is there with this probability, such as {densities}",
    )
    command.add_argument(
        "--moore", type=_moore, action="append", default=[], metavar="R,D",
        help="a grid of D dimensions on which each rank sends to all within R steps; may be repeated",
    )
    command.add_argument(
        "--matrix", action="append", default=[], metavar="MATRIX",
        help="Z = X Y for this sparse X, given as for spmv, and a dense Y: the allgather of Y's blocks of "
        "rows, and the multiplication; may be repeated",
    )
    command.add_argument(
        "--columns", type=_positive, default=16, metavar="K", help="columns of Y (default 16)"
    )
    command.add_argument(
        "--pattern", action="append", default=[], metavar="FILE",
        help="a recorded run: CSV, perhaps gzipped, of src,dst,MB; may be repeated",
    )
    command.add_argument(
        "--sizes", type=_numbers, default=list(SIZES), metavar="LIST",
        help=f"bytes per block (default {','.join(map(str, SIZES))}); a matrix has blocks of its own size",
    )


if __name__ == "__main__":
    sys.exit(main())
