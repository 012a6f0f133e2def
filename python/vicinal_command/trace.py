"""A simulated exchange as Chrome trace events, for Perfetto (ui.perfetto.dev) and other readers.

Regions are processes and ranks their threads. Each busy span and each wait of a rank is an event.
Times are in microseconds, as the format requires.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .prices import Simulated
from .timelines import named, spans

if TYPE_CHECKING:
    from vicinal._core import Machine

WAITING = "waiting"


def write_trace(path: Path, found: Simulated, machine: Machine, about: dict[str, Any]) -> None:
    """Writes all events, rank after rank, and `about` as their description."""
    region_of = machine.region_of.tolist()
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit": "ns", "otherData": ' + json.dumps(about) + ', "traceEvents": [')
        separator = "\n"
        for event in _events(found, region_of):
            file.write(separator + json.dumps(event))
            separator = ",\n"
        file.write("\n]}\n")


def _events(found: Simulated, region_of: list[int]) -> Iterator[dict[str, Any]]:
    of = found.operations
    for region in sorted(set(region_of)):
        yield {"ph": "M", "name": "process_name", "pid": region, "args": {"name": f"region {region}"}}
    for rank, region in enumerate(region_of):
        place = {"pid": region, "tid": rank}
        yield {"ph": "M", "name": "thread_name", **place, "args": {"name": f"rank {rank}"}}
        for span in spans(found, rank):
            what = named(found, span.operation)
            yield {
                "ph": "X",
                "name": what if span.busy else f"waits: {what}",
                "cat": found.phases[of.phase[span.operation]] if span.busy else WAITING,
                **place,
                "ts": round(span.since, 6),
                "dur": round(span.until - span.since, 6),
                "args": {"operation": span.operation - int(of.first[rank])},
            }
