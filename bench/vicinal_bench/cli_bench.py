"""`vicinal bench`: the options of each benchmark. cli_bench_runs.py runs the benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from vicinal_command.options import add_common, add_files, add_profile, add_timing, positive

from . import cli_bench_runs
from .cli_bench_runs import DENSITIES, PARTNERS, PROBABILITY

SIZES = (32, 400, 4096)
BLOCKS = (8, 1024, 65536)
ALL_TO_ALL = (8, 64, 1024, 16384)
MESSAGES = (512, 65536, 2097152)
VALUES = 64
EXCHANGES, TURN_SECONDS = 1000, 0.2


def add_benches(commands: Any) -> None:
    """Adds the subcommand `bench` and its benchmarks."""
    bench = commands.add_parser("bench", help="time strategies against the MPI library's own collectives")
    benches = bench.add_subparsers(dest="collective", metavar="COLLECTIVE", required=True)
    _add_neighbor_allgather(benches)
    _add_sdde(benches)
    _add_allgather(benches)
    _add_alltoallv(benches)
    _add_amg(benches)
    _add_choice(benches)
    _add_gpu_scatter(benches)


def _add_neighbor_allgather(benches: Any) -> None:
    command = benches.add_parser(
        "neighbor-allgather", help="MPI_Neighbor_allgather",
        description="Run neighborhood allgathers on MPI ranks by the MPI's own MPI_Neighbor_allgather and under "
        "strategies, check that all deliver the same, and time them in turn. Without any graph named, random "
        "ones of several densities are taken.",
    )
    command.set_defaults(carry_out=cli_bench_runs.run_neighbor_allgather)
    command.add_argument(
        "--ranks", type=positive, metavar="N", help="how many ranks (default: as many as a --pattern has)"
    )
    add_common(command, launched=True)
    command.add_argument(
        "--strategy", default="all", metavar="NAMES",
        help="all that suit an allgather (default), or some, such as direct,common-neighbor",
    )
    command.add_argument(
        "--density", type=_probabilities, default=[], metavar="LIST",
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
        "--sizes", type=_positives, default=list(SIZES), metavar="LIST",
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
    command.set_defaults(carry_out=cli_bench_runs.run_sdde)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    command.add_argument(
        "--methods", default="all", metavar="NAMES", help="all (default), or some, such as nonblocking,locality"
    )
    command.add_argument(
        "--probability", type=_probabilities, default=[], metavar="LIST",
        help=f"each rank needs each value of each other rank with this probability, such as {PROBABILITY}",
    )
    command.add_argument(
        "--values", type=positive, default=VALUES, metavar="V",
        help=f"how many values a rank has there (default {VALUES})",
    )
    command.add_argument(
        "--partners", type=_positives, default=[], metavar="LIST",
        help=f"each rank needs a few values of this many others, such as {PARTNERS}",
    )
    command.add_argument(
        "--receivers", type=_positives, default=[], metavar="LIST",
        help="each rank needs a few values of one of this many ranks, spread over the machine: all to few",
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
    command.set_defaults(carry_out=cli_bench_runs.run_allgather)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    command.add_argument(
        "--planners", default="all", metavar="NAMES", help="all (default), or some, such as bruck,locality-bruck"
    )
    command.add_argument(
        "--sizes", type=_positives, default=list(BLOCKS), metavar="LIST",
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


def _add_alltoallv(benches: Any) -> None:
    command = benches.add_parser(
        "alltoallv", help="MPI_Alltoallv",
        description="Run alltoalls with counts over all ranks by the MPI's own MPI_Alltoallv and by vicinal's "
        "planners, those that store and forward among them, check that all deliver the same, and time them in turn.",
    )
    command.set_defaults(carry_out=cli_bench_runs.run_alltoallv)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    add_profile(command)
    command.add_argument(
        "--planners", default="all", metavar="NAMES",
        help="the usual ones (default), or some, such as automatic,direct,tuna,tuna/4,calls: with a radix after the "
        "slash, and calls in a loop",
    )
    command.add_argument(
        "--sizes", type=_positives, default=list(ALL_TO_ALL), metavar="LIST",
        help=f"bytes from a rank to another, in the mean (default {_list(ALL_TO_ALL)})",
    )
    command.add_argument(
        "--counts", default="uniform,power-law", metavar="LIST", help="uniform, power-law, or both (default)"
    )
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=12)


def _add_amg(benches: Any) -> None:
    command = benches.add_parser(
        "amg", help="the exchanges of a multigrid hierarchy, at any number of virtual ranks, or run",
        description="Build a classical AMG hierarchy of rotated anisotropic diffusion (PyAMG), deal it out among "
        "virtual ranks, plan the halo exchange of every level under several strategies, count what it sends and "
        "predict how long it takes; nothing is run. Several numbers of ranks show how it scales. With --run, MPI ranks "
        "run the exchanges by the MPI's own collective and under strategies.",
    )
    command.set_defaults(carry_out=cli_bench_runs.run_amg)
    size = command.add_mutually_exclusive_group(required=True)
    size.add_argument("--rows", type=positive, metavar="N", help="rows of the finest level, whatever the ranks")
    size.add_argument("--rows-per-rank", type=positive, metavar="N", help="rows of the finest level per rank")
    command.add_argument(
        "--ranks", type=_positives, required=True, metavar="LIST", help="how many ranks, such as 2048 or 32,128,512"
    )
    command.add_argument(
        "--ranks-per-region", type=positive, required=True, metavar="K",
        help="regions of K ranks each, a block of the grid",
    )
    add_profile(command)
    add_files(command)
    command.add_argument("--run", action="store_true", help="start ranks, and time the exchanges beside the MPI's own")
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=12)


def _add_choice(benches: Any) -> None:
    command = benches.add_parser(
        "choice", help="how well `automatic` chooses",
        description="Time exchanges with counts (MPI_Neighbor_alltoallv) of recorded runs, matrices and random graphs "
        "under all strategies and by the MPI's own, twice: the first run says which strategy is the best, the second "
        "how much longer `automatic` takes. Without anything named, random graphs of several densities are taken.",
    )
    command.set_defaults(carry_out=cli_bench_runs.run_choice)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    add_profile(command)
    command.add_argument(
        "--strategy", default="all", metavar="NAMES",
        help="all (default), or some beside automatic, such as direct,aggregate",
    )
    command.add_argument(
        "--pattern", nargs="+", action="extend", default=[], metavar="FILE",
        help="recorded runs: CSV, perhaps gzipped, of src,dst,MB; each with its ranks folded onto those here, and with "
        "as many of its first ranks",
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
        "--density", type=_probabilities, default=[], metavar="LIST",
        help="random graphs in which each edge is there with this probability, such as 0.1,0.5",
    )
    command.add_argument(
        "--sizes", type=_positives, default=list(SIZES), metavar="LIST",
        help=f"bytes per edge of these (default {_list(SIZES)})",
    )
    command.add_argument(
        "--probability", type=_probabilities, default=[], metavar="LIST",
        help="each rank needs each value of each other rank with this probability, such as 0.05,0.2",
    )
    command.add_argument(
        "--values", type=positive, default=VALUES, metavar="V",
        help=f"how many values a rank has there (default {VALUES})",
    )
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=12)


def _add_gpu_scatter(benches: Any) -> None:
    command = benches.add_parser(
        "gpu-scatter", help="scatters between vectors on a GPU",
        description="Run scatters between vectors in the memory of this machine's GPUs (from a parallel vector to "
        "another, from one rank's to all, and from all to one's) by an application that packs and stages by itself, "
        "with MPI_Ineighbor_alltoallv and with messages, and as vicinal's halos, check what arrives, and time them in "
        "turn. The ranks of a host share its GPUs in blocks.",
    )
    command.set_defaults(carry_out=cli_bench_runs.run_gpu_scatter)
    command.add_argument("--ranks", type=positive, required=True, metavar="N", help="how many ranks")
    add_common(command, launched=True)
    add_profile(command)
    command.add_argument(
        "--ways", default="all", metavar="NAMES",
        help="how vicinal moves what lies on a GPU: lent, shared, staged and automatic (default), or some of these, "
        "direct, direct-shared and direct-lent",
    )
    command.add_argument(
        "--sizes", type=_positives, default=list(MESSAGES), metavar="LIST",
        help=f"bytes from a rank to another (default {_list(MESSAGES)})",
    )
    command.add_argument(
        "--stride", type=positive, default=2, metavar="N",
        help="of a vector's values every N-th is sent: 1 for all, which lie side by side (default 2)",
    )
    _add_turn_seconds(command)
    add_timing(command, iterations=50, repetitions=14)


def _add_turn_seconds(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--turn-seconds", type=_seconds, default=TURN_SECONDS, metavar="S",
        help=f"how long a turn may last; the iterations are fewer where it would last longer (default {TURN_SECONDS})",
    )


def _list(values: Sequence[float]) -> str:
    return ",".join(map(str, values))


def _positives(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def _probabilities(text: str) -> list[float]:
    return [_probability(part) for part in text.split(",")]


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 0 to 1")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0")
    return value


def _moore(text: str) -> tuple[int, int]:
    radius, *dimensions = _positives(text)
    if len(dimensions) != 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no radius and number of dimensions, such as 1,2")
    return radius, dimensions[0]
