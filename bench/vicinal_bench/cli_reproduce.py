"""`vicinal reproduce`: its options, and the request built from them."""

from __future__ import annotations

import argparse
from typing import Any

from vicinal_command.options import add_profile, add_wide, positive
from vicinal_command.outputs import CommandError, OutputFile
from vicinal_command.report import Report

NAMES = ("collom2023", "sharifian2024", "geyko2023", "bienz2022")


def add_reproduce(commands: Any) -> None:
    """Adds the subcommand `reproduce`."""
    command = commands.add_parser(
        "reproduce", help="simulate a published paper's figures, beside what it says of them",
        description="Plan a paper's algorithms and vicinal's own on virtual ranks, as many as the paper had, price "
        "them on a machine's profile, and write for each of its figures the points (CSV) and a picture (PNG), and a "
        "table of the numbers in its text beside those simulated. Nothing is run.",
    )
    command.add_argument("paper", metavar="PAPER", choices=NAMES, help=", ".join(NAMES))
    command.add_argument(
        "--output", metavar="FOLDER", required=True, help="where the files go; the folder must be there"
    )
    command.add_argument(
        "--fraction", type=positive, default=1, metavar="K",
        help="a K-th of the paper's nodes, to try it out (default 1)",
    )
    command.add_argument(
        "--memory", type=positive, metavar="GB",
        help="leave out what takes more gigabytes (default: than are available)",
    )
    command.add_argument(
        "--matrix", nargs="+", action="extend", default=[], metavar="MATRIX",
        help="matrices of geyko2023, given as for spmv",
    )
    add_profile(command)
    add_wide(command)
    command.add_argument(
        "--json", metavar="FILE",
        help="write the table as JSON; - is standard output, and the tables then go to standard error",
    )
    command.set_defaults(plot=None, run=run)


def run(options: argparse.Namespace, json: Report | None, _plot: OutputFile | None) -> int:
    """Reproduces the paper."""
    from .reproduce.paper import Scope
    from .reproduce.run import Request, reproduce

    if options.matrix and options.paper != "geyko2023":
        raise CommandError(f"--matrix is for geyko2023, and {options.paper} brings its own problems; leave it out")
    scope = Scope(options.fraction, options.memory, options.matrix)
    return reproduce(Request(options.paper, options.output, scope, options.profile, json))
