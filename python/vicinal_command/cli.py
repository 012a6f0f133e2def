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

from vicinal import Error

from . import cli_bench
from .options import add_common, add_mpi, add_regions, add_timing, positive, regions_of, virtual_regions_of
from .outputs import CommandError, OutputFile

BASELINE = "direct"
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
        from vicinal import __version__, _core
    except ImportError as error:
        text = f"vicinal's compiled part cannot be loaded ({error}); install vicinal again"
        raise CommandError(text) from error
    if options.version:
        print("vicinal", __version__)
        return 0
    if options.command is None:
        raise CommandError("no command given: choose spmv, explain, bench, calibrate or strategies; see `vicinal --help`")
    known = dict(_core.strategies())
    if options.command == "strategies":
        width = max(map(len, known))
        for name, summary in known.items():
            print(f"{name:<{width}}  {summary}")
        return 0

    if options.command == "calibrate":
        from . import calibrate

        return calibrate.calibrate(
            calibrate.Request(
                OutputFile(options.file), options.ranks, regions_of(options) or "node/numa", options.quick, options.mpi
            )
        )
    strategies = _strategies(options.strategy) if options.command != "bench" else ()
    json = OutputFile(options.json) if options.json else None
    plot = None
    if options.plot:
        from .plots import plot_file

        plot = plot_file(options.plot)
    if options.command == "bench":
        return cli_bench.run(options, list(known), json, plot)
    if options.command == "spmv":
        from . import spmv

        return spmv.spmv(
            spmv.Request(
                options.matrix, options.ranks, regions_of(options) or "node", strategies, options.iterations,
                options.repetitions, options.mpi, json, plot,
            )
        )
    from . import explain

    chosen = None if options.strategy == "all" else options.strategy
    _check_details(options, chosen)
    return explain.explain(
        explain.Request(
            options.matrix, options.ranks, virtual_regions_of(options), strategies, chosen, options.verify, json,
            plot, OutputFile(options.goal) if options.goal else None, options.rank,
        )
    )


def _strategies(asked: str) -> Sequence[str]:
    """The strategies to look at: the baseline, with which all are compared, and those asked for."""
    from vicinal import _core

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


def _check_details(options: argparse.Namespace, chosen: str | None) -> None:
    for name in ("goal", "rank"):
        if getattr(options, name) is not None and chosen is None:
            raise CommandError(f"--{name} shows one strategy's plan; name it by --strategy")
    if options.rank is not None and not 0 <= options.rank < options.ranks:
        raise CommandError(f"there is no rank {options.rank}; --rank takes 0 to {options.ranks - 1}")


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

    cli_bench.add_benches(commands)
    calibrate = commands.add_parser(
        "calibrate", help="measure what messages cost on this machine, for choosing plans by",
        description="Measure on MPI ranks what messages, copies and handovers cost, and write it as a profile, which "
        "VICINAL_PROFILE=FILE, the info key vicinal_profile or the argument `profile` has plans chosen by.",
    )
    calibrate.add_argument("file", metavar="FILE", help="the profile to be written (JSON)")
    calibrate.add_argument(
        "--ranks", type=positive, default=max(2, os.cpu_count() or 1), metavar="N",
        help="how many ranks (default: one for each processor, %(default)s here)",
    )
    add_regions(calibrate, "node/numa")
    calibrate.add_argument("--quick", action="store_true", help="measure a few sizes, and less often")
    add_mpi(calibrate)
    for command in (spmv, explain):
        command.add_argument(
            "matrix", metavar="MATRIX",
            help="a Matrix Market file (.mtx, .mtx.gz), or the name of a PyAMG example such as helmholtz_2D",
        )
        command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
        add_common(command, launched=command is spmv)
        command.add_argument(
            "--strategy", default="all", metavar="NAME",
            help=f"all (default), or one, beside {BASELINE}; see `vicinal strategies`",
        )
    add_timing(spmv, iterations=100)
    explain.add_argument(
        "--verify", action=argparse.BooleanOptionalAction,
        help="prove that each plan does what the matrix asks for; by default, while that takes no longer "
        "than half a minute",
    )
    explain.add_argument("--goal", metavar="FILE", help="write the strategy's LogGOPSim GOAL program")
    explain.add_argument("--rank", type=int, metavar="R", help="print rank R's plan under the strategy")
    return parser
