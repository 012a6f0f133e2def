"""`vicinal bench`: the options of each benchmark, and what follows from them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .inputs import ALLTOALLV
from .options import (
    add_common,
    add_files,
    add_profile,
    add_timing,
    positive,
    positives,
    probabilities,
    regions_are_known,
    regions_of,
    virtual_regions_of,
)
from .outputs import CommandError, OutputFile
from .report import Report

if TYPE_CHECKING:
    from .benchmarks.competition import Terms

DENSITIES = (0.05, 0.1, 0.3, 0.5, 0.7)
SIZES = (32, 400, 4096)
BLOCKS = (8, 1024, 65536)
PROBABILITY, VALUES, PARTNERS = 0.05, 64, 2
EXCHANGES, TURN_SECONDS = 1000, 0.2


def add_benches(commands: Any) -> None:
    """The subcommand `bench` and those below it."""
    bench = commands.add_parser("bench", help="time strategies against the MPI library's own collectives")
    benches = bench.add_subparsers(dest="collective", metavar="COLLECTIVE", required=True)
    _add_neighbor_allgather(benches)
    _add_sdde(benches)
    _add_allgather(benches)
    _add_amg(benches)
    _add_choice(benches)


def _add_neighbor_allgather(benches: Any) -> None:
    command = benches.add_parser(
        "neighbor-allgather", help="MPI_Neighbor_allgather",
        description="Run neighborhood allgathers on MPI ranks by the MPI's own MPI_Neighbor_allgather and under "
        "strategies, check that all deliver the same, and time them in turn. Without any graph named, random "
        "ones of several densities are taken.",
    )
    command.set_defaults(bench=_run_neighbor_allgather)
    command.add_argument(
        "--ranks", type=positive, metavar="N", help="how many ranks (default: as many as a --pattern has)"
    )
    add_common(command, launched=True)
    command.add_argument(
        "--strategy", default="all", metavar="NAMES",
        help="all that suit an allgather (default), or some, such as direct,common-neighbor",
    )
    command.add_argument(
        "--density", type=probabilities, default=[], metavar="LIST",
        help=f"random graphs in which each edge is there with this probability, such as {_list(DENSITIES)}",
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
        "--columns", type=positive, default=16, metavar="K", help="columns of Y (default 16)"
    )
    command.add_argument(
        "--pattern", action="append", default=[], metavar="FILE",
        help="a recorded run: CSV, perhaps gzipped, of src,dst,MB; may be repeated",
    )
    command.add_argument(
        "--sizes", type=positives, default=list(SIZES), metavar="LIST",
        help=f"bytes per block (default {_list(SIZES)}); a matrix has blocks of its own size",
    )
    add_timing(command, iterations=50)


def _add_sdde(benches: Any) -> None:
    command = benches.add_parser(
        "sdde", help="sparse dynamic data exchange",
        description="Run exchanges in which no rank knows who will send to it, on MPI ranks, with what MPI has "
        "(MPI_Alltoall of counts, then messages) and by vicinal's methods, check that all deliver the same, and "
        "time them in turn; or, by --count, count the messages between regions at any number of ranks. Without "
        "any workload named, a random one and one with few partners are taken.",
    )
    command.set_defaults(bench=_run_sdde)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    command.add_argument(
        "--methods", default="all", metavar="NAMES", help="all (default), or some, such as nonblocking,locality"
    )
    command.add_argument(
        "--probability", type=probabilities, default=[], metavar="LIST",
        help=f"each rank needs each value of each other rank with this probability, such as {PROBABILITY}",
    )
    command.add_argument(
        "--values", type=positive, default=VALUES, metavar="V",
        help=f"how many values a rank has there (default {VALUES})",
    )
    command.add_argument(
        "--partners", type=positives, default=[], metavar="LIST",
        help=f"each rank needs a few values of this many others, such as {PARTNERS}",
    )
    command.add_argument(
        "--matrix", nargs="+", action="extend", default=[], metavar="MATRIX",
        help="each rank needs the columns that its rows of this matrix refer to; given as for spmv",
    )
    command.add_argument(
        "--count", action="store_true",
        help="count what each method sends, beside what the workload itself asks for; nothing is run",
    )
    add_timing(command, iterations=50)


def _add_allgather(benches: Any) -> None:
    command = benches.add_parser(
        "allgather", help="MPI_Allgather",
        description="Run allgathers over all ranks by the MPI's own MPI_Allgather and by vicinal's planners, check "
        "that all deliver the same, and time them in turn; or, by --count, count and price what each sends at any "
        "number of ranks.",
    )
    command.set_defaults(bench=_run_allgather)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    command.add_argument(
        "--planners", default="all", metavar="NAMES", help="all (default), or some, such as bruck,locality-bruck"
    )
    command.add_argument(
        "--sizes", type=positives, default=list(BLOCKS), metavar="LIST",
        help=f"bytes per rank (default {_list(BLOCKS)}; two integers, as in the paper, are 8)",
    )
    command.add_argument(
        "--local", choices=("shared", "messages"), default="shared",
        help="how ranks of a region hand blocks to each other: through shared memory (default) or by messages",
    )
    command.add_argument(
        "--count", action="store_true", help="count and price what each planner has sent; nothing is run"
    )
    add_timing(command, iterations=50)


def _add_amg(benches: Any) -> None:
    command = benches.add_parser(
        "amg", help="the exchanges of a multigrid hierarchy, at any number of virtual ranks, or run",
        description="Build a classical AMG hierarchy of rotated anisotropic diffusion (PyAMG), deal it out among virtual "
        "ranks, plan the halo exchange of every level under several strategies, count what it sends and predict how long "
        "it takes; nothing is run. Several numbers of ranks show how it scales. With --run, MPI ranks run the exchanges by the "
        "MPI's own collective and under strategies.",
    )
    command.set_defaults(bench=_run_amg)
    size = command.add_mutually_exclusive_group(required=True)
    size.add_argument("--rows", type=positive, metavar="N", help="rows of the finest level, whatever the ranks")
    size.add_argument("--rows-per-rank", type=positive, metavar="N", help="rows of the finest level per rank")
    command.add_argument(
        "--ranks", type=positives, required=True, metavar="LIST", help="how many ranks, such as 2048 or 32,128,512"
    )
    command.add_argument(
        "--ranks-per-region", type=positive, required=True, metavar="K", help="regions of K ranks each, a block of the grid"
    )
    add_profile(command)
    add_files(command)
    command.add_argument("--run", action="store_true", help="start ranks, and time the exchanges beside the MPI's own")
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=12)


def _add_choice(benches: Any) -> None:
    command = benches.add_parser(
        "choice", help="how well `automatic` chooses",
        description="Time exchanges with counts (MPI_Neighbor_alltoallv) of recorded runs, matrices and random graphs under all "
        "strategies and by the MPI's own, twice: the first run says which strategy is the best, the second how much longer "
        "`automatic` takes. Without anything named, random graphs of several densities are taken.",
    )
    command.set_defaults(bench=_run_choice)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    add_profile(command)
    command.add_argument(
        "--strategy", default="all", metavar="NAMES", help="all (default), or some beside automatic, such as direct,aggregate"
    )
    command.add_argument(
        "--pattern", nargs="+", action="extend", default=[], metavar="FILE",
        help="recorded runs: CSV, perhaps gzipped, of src,dst,MB; each with its ranks folded onto those here, and with as "
        "many of its first ranks",
    )
    command.add_argument(
        "--exchanges", type=positive, default=EXCHANGES, metavar="E",
        help=f"how many exchanges a recorded run's megabytes are the total of (default {EXCHANGES})",
    )
    command.add_argument(
        "--matrix", nargs="+", action="extend", default=[], metavar="MATRIX",
        help="each rank needs the entries that its rows of this matrix refer to; given as for spmv",
    )
    command.add_argument(
        "--density", type=probabilities, default=[], metavar="LIST",
        help="random graphs in which each edge is there with this probability, such as 0.1,0.5",
    )
    command.add_argument(
        "--sizes", type=positives, default=list(SIZES), metavar="LIST",
        help=f"bytes per edge of these (default {_list(SIZES)})",
    )
    command.add_argument(
        "--probability", type=probabilities, default=[], metavar="LIST",
        help="each rank needs each value of each other rank with this probability, such as 0.05,0.2",
    )
    command.add_argument(
        "--values", type=positive, default=VALUES, metavar="V", help=f"how many values a rank has there (default {VALUES})"
    )
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=12)


def _add_turn_seconds(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--turn-seconds", type=_seconds, default=TURN_SECONDS, metavar="S",
        help=f"how long a turn may last; the iterations are fewer where it would last longer (default {TURN_SECONDS})",
    )


def run(options: argparse.Namespace, known: Sequence[str], json: Report | None, plot: OutputFile | None) -> int:
    """Run the benchmark that was asked for; `known` are the strategies that there are."""
    status: int = options.bench(options, known, json, plot)
    return status


def _run_neighbor_allgather(
    options: argparse.Namespace, known: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    from .benchmarks.neighbor_allgather import STRATEGIES, Request, neighbor_allgather

    strategies = _contestants(options.strategy, "strategy", STRATEGIES, known)
    asked = options.density or options.moore or options.matrix or options.pattern
    return neighbor_allgather(
        Request(
            options.ranks, options.density if asked else DENSITIES, options.moore, options.matrix, options.pattern,
            options.sizes, options.columns, _terms(options, strategies, json, plot),
        )
    )


def _run_allgather(
    options: argparse.Namespace, _: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    from .benchmarks.allgather import Request, allgather, count, planners

    names = planners()
    chosen = _contestants(options.planners, "planner of allgathers", names, names)
    _check_counting(options, plot)
    request = Request(options.ranks, options.sizes, options.local, _terms(options, chosen, json, plot))
    return count(request) if options.count else allgather(request)


def _run_sdde(
    options: argparse.Namespace, _: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    from .benchmarks.sdde import METHODS, Request, count, sdde

    if "one-sided" in options.methods:
        raise CommandError(
            "the method one-sided is for messages of one size (vicinal_sparse_alltoall in C), and those here differ; "
            f"choose all or some of {', '.join(METHODS)}"
        )
    methods = _contestants(options.methods, "method", METHODS, METHODS)
    _check_counting(options, plot)
    asked = options.probability or options.partners or options.matrix
    probabilities_asked = options.probability if asked else [PROBABILITY]
    partners = options.partners if asked else [PARTNERS]
    request = Request(
        options.ranks, probabilities_asked, options.values, partners, options.matrix,
        _terms(options, methods, json, plot),
    )
    return count(request) if options.count else sdde(request)


def _run_amg(options: argparse.Namespace, _: Sequence[str], json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.amg import Request, amg
    from .benchmarks.amg_run import STRATEGIES, RunRequest, amg_run

    ranks = sorted(set(options.ranks))
    request = Request(options.rows, options.rows_per_rank, ranks, options.ranks_per_region, options.profile, json, plot)
    if options.run:
        terms = replace(_terms(options, STRATEGIES, json, plot), **_turns_of(options))
        return amg_run(RunRequest(request, terms))
    if options.mpi:
        raise CommandError("without --run nothing is run, so no --mpi; give both or neither")
    return amg(request)


def _turns_of(options: argparse.Namespace) -> dict[str, Any]:
    """The terms of benchmarks whose turns have a limit, and whose plans a profile may choose."""
    profile = os.path.abspath(options.profile) if options.profile else None
    return {"turn_seconds": options.turn_seconds, "profile": profile}


def _run_choice(
    options: argparse.Namespace, known: Sequence[str], json: Report | None, plot: OutputFile | None
) -> int:
    from .benchmarks.choice import AUTOMATIC, Request, choice
    from .options import check_strategy

    serving = check_strategy("all", **ALLTOALLV)
    chosen = _contestants(options.strategy, "strategy", serving, known)
    for name in chosen:
        check_strategy(name, **ALLTOALLV)
    asked = options.pattern or options.matrix or options.density or options.probability
    terms = replace(_terms(options, list(dict.fromkeys([*chosen, AUTOMATIC])), json, plot), **_turns_of(options))
    return choice(
        Request(
            options.ranks, options.pattern, options.exchanges, options.matrix, options.density if asked else DENSITIES,
            options.sizes, options.probability, options.values, regions_are_known(options), terms,
        )
    )


def _check_counting(options: argparse.Namespace, plot: OutputFile | None) -> None:
    if options.count and plot:
        raise CommandError("--plot draws times, and --count takes none; give one of them")
    if options.count and options.mpi:
        raise CommandError("--count runs nothing, so no --mpi; give one of them")


def _terms(
    options: argparse.Namespace, contestants: Sequence[str], json: Report | None, plot: OutputFile | None
) -> Terms:
    from .benchmarks.competition import Terms

    # Where nothing is run, nothing says what a node is.
    virtual = getattr(options, "count", False)
    regions = virtual_regions_of(options) if virtual else regions_of(options) or "node"
    return Terms(regions, contestants, options.iterations, options.repetitions, options.mpi, json, plot)


def _contestants(asked: str, what: str, all_: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Those to set beside the MPI's own: `all_` where all are asked for, otherwise some of the known."""
    names = list(all_) if asked == "all" else [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"there is no {what} '{name}'; choose all or some of {', '.join(known)}")
    return list(dict.fromkeys(names))


def _list(values: Sequence[float]) -> str:
    return ",".join(map(str, values))


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return value


def _moore(text: str) -> tuple[int, int]:
    radius, *dimensions = positives(text)
    if len(dimensions) != 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no radius and number of dimensions, such as 1,2")
    return radius, dimensions[0]
