"""Runs each benchmark of `vicinal bench` from its parsed options (cli_bench.py)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vicinal_command.inputs import ALLTOALLV
from vicinal_command.options import check_strategy, regions_are_known, regions_of, virtual_regions_of
from vicinal_command.outputs import CommandError, OutputFile
from vicinal_command.report import Report

if TYPE_CHECKING:
    from .benchmarks.competition import Terms

DENSITIES = (0.05, 0.1, 0.3, 0.5, 0.7)
PROBABILITY, PARTNERS = 0.05, 2


def run_neighbor_allgather(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.neighbor_allgather import STRATEGIES, Request, neighbor_allgather

    strategies = _contestants(options.strategy, "strategy", STRATEGIES, _strategies())
    asked = options.density or options.moore or options.matrix or options.pattern
    return neighbor_allgather(
        Request(
            options.ranks, options.density if asked else DENSITIES, options.moore, options.matrix, options.pattern,
            options.sizes, options.columns, _terms(options, strategies, json, plot),
        )
    )


def run_allgather(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.allgather import Request, allgather, count, planners

    names = planners()
    chosen = _contestants(options.planners, "planner of allgathers", names, names)
    _check_counting(options, plot)
    request = Request(options.ranks, options.sizes, options.local, _terms(options, chosen, json, plot))
    return count(request) if options.count else allgather(request)


def run_alltoallv(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.alltoallv import COUNTS, Request, alltoallv, check_contestants

    counts = _contestants(options.counts, "kind of counts", COUNTS, COUNTS)
    terms = replace(_terms(options, check_contestants(options.planners), json, plot), **_turns_of(options))
    return alltoallv(Request(options.ranks, options.sizes, counts, regions_are_known(options), terms))


def run_sdde(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.sdde import METHODS, Request, count, sdde

    if "one-sided" in options.methods:
        raise CommandError(
            "the method one-sided is for messages of one size (vicinal_sparse_alltoall in C), and those here differ; "
            f"choose all or some of {', '.join(METHODS)}"
        )
    methods = _contestants(options.methods, "method", METHODS, METHODS)
    _check_counting(options, plot)
    asked = options.probability or options.partners or options.receivers or options.matrix
    probabilities_asked = options.probability if asked else [PROBABILITY]
    partners = options.partners if asked else [PARTNERS]
    request = Request(
        options.ranks, probabilities_asked, options.values, partners, options.receivers, options.matrix,
        _terms(options, methods, json, plot),
    )
    return count(request) if options.count else sdde(request)


def run_amg(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
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
    """Terms of benchmarks with a time limit per turn, and with a profile."""
    profile = os.path.abspath(options.profile) if options.profile else None
    return {"turn_seconds": options.turn_seconds, "profile": profile}


def run_choice(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.choice import AUTOMATIC, Request, choice

    serving = check_strategy("all", **ALLTOALLV)
    chosen = _contestants(options.strategy, "strategy", serving, _strategies())
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


def run_gpu_scatter(options: argparse.Namespace, json: Report | None, plot: OutputFile | None) -> int:
    from .benchmarks.gpu_scatter import APPLICATION, KNOWN_WAYS, WAYS, Request, contestants_of, gpu_scatter

    ways = _contestants(options.ways, "way to move what lies on a GPU", WAYS, KNOWN_WAYS)
    terms = replace(_terms(options, contestants_of(ways), json, plot), own=APPLICATION, **_turns_of(options))
    return gpu_scatter(Request(options.ranks, options.sizes, options.stride, terms))


def _check_counting(options: argparse.Namespace, plot: OutputFile | None) -> None:
    if options.count and plot:
        raise CommandError("--plot draws times, and --count takes none; give one of them")
    if options.count and options.mpi:
        raise CommandError("--count runs nothing, so no --mpi; give one of them")


def _terms(
    options: argparse.Namespace, contestants: Sequence[str], json: Report | None, plot: OutputFile | None
) -> Terms:
    from .benchmarks.competition import Terms

    # Without a run, the nodes are unknown.
    virtual = getattr(options, "count", False)
    regions = virtual_regions_of(options) if virtual else regions_of(options) or "node"
    return Terms(regions, contestants, options.iterations, options.repetitions, options.mpi, json, plot)


def _strategies() -> list[str]:
    from vicinal import _core

    return [name for name, _ in _core.strategies()]


def _contestants(asked: str, what: str, all_: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Contestants besides MPI's own: `all_` for "all", otherwise some of `known`."""
    names = list(all_) if asked == "all" else [name.strip() for name in asked.split(",")]
    for name in names:
        if name not in known:
            raise CommandError(f"there is no {what} '{name}'; choose all or some of {', '.join(known)}")
    return list(dict.fromkeys(names))
