"""The `vicinal` command.

A fault that the user can correct is one line on standard error, with exit status 2. Everything is
checked as early as possible, before any computation and before any file is created.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

from vicinal import Error

from . import cli_explain, cli_inputs, cli_simulate
from .inputs import HALO
from .options import (
    add_common,
    add_mpi,
    add_regions,
    add_strategy,
    add_timing,
    check_strategy,
    positive,
    regions_are_known,
    regions_of,
)
from .outputs import CommandError, OutputFile
from .report import Report
from .tables import Width, listed

USAGE_STATUS = 2
INTERRUPTED_STATUS = 130
TERMINATED_STATUS = 143
VIRTUAL = {"explain": cli_explain.run, "simulate": cli_simulate.run}
"""Commands that plan for virtual ranks."""
EXTRA = ("elftools", "rich", "scipy")
"""Modules that the command needs and the library does not."""
OF_BENCH = {"bench": "benchmarks", "reproduce": "published figures"}
"""Commands of the package vicinal_bench, which is not part of vicinal's wheel."""
INSTALL_BENCH = "run `pip install vicinal-bench`, or `pip install ./bench` in the source tree"


class Terminated(BaseException):
    """The process received SIGTERM. It is an exception, so that clean-up runs."""


class Parser(argparse.ArgumentParser):
    """A parser whose error messages are one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (or the process's own). Returns its exit status."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        line = shlex.join(["vicinal", *(sys.argv[1:] if arguments is None else arguments)])
        return _run(_parser().parse_args(arguments), line)
    except (CommandError, Error) as error:
        print("vicinal:", " ".join(str(error).split()), file=sys.stderr)
        return USAGE_STATUS
    except (KeyboardInterrupt, Terminated) as end:
        interrupted = isinstance(end, KeyboardInterrupt)
        print(f"vicinal: {'interrupted' if interrupted else 'terminated'}", file=sys.stderr, flush=True)
        # A thread may still be planning. It would keep the process alive, or crash during a normal
        # exit.
        os._exit(INTERRUPTED_STATUS if interrupted else TERMINATED_STATUS)
    except BrokenPipeError:
        # The reader has closed the pipe. Python would report an error when it flushes at exit.
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


def _run(options: argparse.Namespace, line: str) -> int:
    try:
        from vicinal import __version__, _core
    except ImportError as error:
        text = f"vicinal's compiled part cannot be loaded ({error}); install vicinal again"
        raise CommandError(text) from error
    if options.version:
        print("vicinal", __version__)
        return 0
    if options.command is None:
        raise CommandError(
            "no command given: choose preload, spmv, explain, simulate, bench, reproduce, calibrate or strategies; "
            "see `vicinal --help`"
        )
    _check_installed(options.command)
    if options.command == "strategies":
        every = _core.strategies(complete=True)
        width = max(len(name) for name, _ in every)
        for name, summary in every:
            print(f"{name:<{width}}  {summary}")
        return 0
    Width.is_wide = getattr(options, "wide", False)

    if options.command == "preload":
        from . import preload

        if options.library:
            print(preload.library())
            return 0
        words = options.program[1:] if options.program[:1] == ["--"] else options.program
        return preload.preload(preload.Request(words, options.report))
    if options.command == "calibrate":
        from . import calibrate

        return calibrate.calibrate(
            calibrate.Request(
                OutputFile(options.file), options.ranks, regions_of(options) or "node/numa", options.quick,
                options.accept, options.mpi,
            )
        )
    strategies: Sequence[str] = ()
    if options.command == "spmv":
        strategies = check_strategy(options.strategy, **HALO)
    elif options.command in VIRTUAL:
        strategies = cli_inputs.strategies(options)
    kind = f"bench {options.collective}" if options.command == "bench" else options.command
    json = Report(options.json, kind, line) if options.json else None
    plot = None
    if options.plot:
        from .plots import plot_file

        plot = plot_file(options.plot)
    if options.command in OF_BENCH:
        status: int = options.carry_out(options, json, plot)
        return status
    if options.command in VIRTUAL:
        return VIRTUAL[options.command](options, strategies, json, plot)
    from . import spmv

    return spmv.spmv(
        spmv.Request(
            options.matrix, options.ranks, regions_of(options) or "node", strategies, options.iterations,
            options.repetitions, options.mpi, json, plot, regions_are_known(options),
        )
    )


def _check_installed(command: str) -> None:
    """Refuses a command that needs a package which is not installed."""
    missing = [name for name in EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(
            f'the command needs {listed(missing)}, not installed here: run `pip install "vicinal[command]"`'
        )
    if command in OF_BENCH and not _has_benches():
        raise CommandError(f"{command} is a command of the package vicinal-bench, not installed here: {INSTALL_BENCH}")


def _has_benches() -> bool:
    return importlib.util.find_spec("vicinal_bench") is not None


def _add_benches(commands: Any) -> None:
    """Adds the commands of vicinal_bench. Without that package, they only tell how to install it."""
    if _has_benches():
        from vicinal_bench import cli_bench, cli_reproduce

        cli_bench.add_benches(commands)
        cli_reproduce.add_reproduce(commands)
        return
    for name, what in OF_BENCH.items():
        about = f"{what}, of the package vicinal-bench, not installed here: {INSTALL_BENCH}"
        # No argument begins with a null byte, so none is an option, and each command line parses.
        command = commands.add_parser(name, help=about, add_help=False, prefix_chars="\0")
        command.add_argument("arguments", nargs="*")


def _parser() -> Parser:
    parser = Parser(
        prog="vicinal",
        description="Plan, prove, run and time the communication of a sparse matrix among ranks.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    spmv = commands.add_parser(
        "spmv", help="run and time a matrix's halo exchange under MPI",
        description="Run a matrix's halo exchange on MPI ranks under every strategy, by the MPI's own "
        "MPI_Neighbor_alltoallv and by messages as a program would write them, check y = A x with each, and time "
        "them in turn.",
    )
    commands.add_parser("strategies", help="list the strategies")

    preload = commands.add_parser(
        "preload", help="run a program that knows nothing of vicinal with it",
        usage="vicinal preload [--report FILE] -- COMMAND...",
        description="Run a command, mpiexec with a program say, so that vicinal carries out the neighborhood "
        "collectives of every MPI program that it starts. Settings are environment variables, as VICINAL_PROFILE.",
    )
    preload.add_argument("--report", metavar="FILE", help="write what became of the program's exchanges to FILE (JSON)")
    preload.add_argument("--library", action="store_true", help="print where the library is, for LD_PRELOAD, and exit")
    preload.add_argument("program", nargs=argparse.REMAINDER, metavar="COMMAND", help="what to run")
    cli_explain.add_explain(commands)
    cli_simulate.add_simulate(commands)
    _add_benches(commands)
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
    calibrate.add_argument("--quick", action="store_true", help="measure a few sizes, less often, and once at most")
    calibrate.add_argument(
        "--accept", action="store_true",
        help="write the profile although there is reason not to believe it (times far apart, a busy machine)",
    )
    add_mpi(calibrate)
    spmv.add_argument(
        "matrix", metavar="MATRIX",
        help="a Matrix Market file (.mtx, .mtx.gz), or the name of a PyAMG example such as helmholtz_2D",
    )
    spmv.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(spmv, launched=True)
    add_strategy(spmv)
    add_timing(spmv, iterations=100)
    return parser
