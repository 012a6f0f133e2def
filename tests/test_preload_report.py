"""The content of the report of `vicinal preload --report`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from launching import QUIET, run_ranks
from preloading import LIBRARY, needs_library, preloaded, program
from vicinal import _core

pytestmark = [needs_library, pytest.mark.full]


def test_report(mpi: str, tmp_path: Path) -> None:
    """Numbers of calls and messages: without a plan, 4 ranks in 2 regions send 8 messages between
    regions."""
    report = tmp_path / "report.json"
    environment = preloaded(VICINAL_STRATEGY="aggregate", VICINAL_REPORT=str(report))
    run_ranks(mpi, 4, [program("waiting", mpi), "MPI_Barrier"], env=environment)
    content = json.loads(report.read_text())
    [used] = [each for each in content["communicators"] if each["calls"]]
    assert (used["made_by"], used["ranks"], used["regions"]) == ("MPI_Dist_graph_create_adjacent", 4, 2)
    calls = {each["function"]: each for each in used["calls"]}
    assert calls["MPI_Neighbor_alltoallv"]["calls"] == 12
    assert calls["MPI_Neighbor_alltoallv"]["calls_of_mpi"] == 0
    assert calls["MPI_Ineighbor_alltoallv"]["calls"] == 5
    [plan] = used["plans"]
    assert plan["kind"] == "alltoallv" and plan["planner"] == "aggregate"
    assert plan["messages"] == {"to_other_regions": 2, "inside": 0}
    assert plan["messages_without"] == {"to_other_regions": 8, "inside": 4}
    assert plan["bytes_to_other_regions"] >= 8 * 8  # at least a value for each edge
    assert 0 < plan["expected_seconds"] < plan["expected_seconds_without"]
    table = report.with_name("report.json.txt").read_text()
    assert "2 messages between regions in the place of 8" in table


def test_report_of_duplicates_that_are_there_later(mpi: str, tmp_path: Path) -> None:
    """One duplicate per communicator is served; the other two duplicates of a graph are left to
    MPI."""
    report = tmp_path / "report.json"
    environment = preloaded(VICINAL_STRATEGY="aggregate", VICINAL_REPORT=str(report))
    run_ranks(mpi, 4, [program("topologies", mpi)], env=environment)
    content = json.loads(report.read_text())
    made = [each for each in content["communicators"] if each["made_by"] == "MPI_Comm_idup"]
    kinds = {"alltoallv", "allgatherv", "alltoall", "allgather"}
    assert made and all({plan["kind"] for plan in each["plans"]} == kinds for each in made)
    names = [each["name"] for each in content["communicators"]]
    assert len(names) == len(set(names)), names
    left = [each for each in content["left_to_mpi"] if each["made_by"] == "MPI_Comm_idup"]
    assert [(each["why"], each["communicators"]) for each in left] == [("one of each communicator can be, and none of a duplicate", 2)]


def test_report_of_what_is_left_to_mpi(mpi: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    environment = {"LD_PRELOAD": str(LIBRARY), "VICINAL_REPORT": str(report), **QUIET}
    run_ranks(mpi, 2, [program("waiting", mpi), "MPI_Barrier"], env=environment)
    content = json.loads(report.read_text())
    assert content["communicators"] == []
    [left] = content["left_to_mpi"]
    assert left["why"] == "all its ranks are in one region"


RING = """
from mpi4py import MPI
world = MPI.COMM_WORLD
peers = [(world.rank - 1) % world.size, (world.rank + 1) % world.size]
ring = world.Create_dist_graph_adjacent(peers, peers)
for call in range(12):
    assert ring.neighbor_allgather((world.rank, call)) == [(peer, call) for peer in peers]
    assert ring.neighbor_alltoall([(world.rank, peer, call) for peer in peers]) == [
        (peer, world.rank, call) for peer in peers
    ]
ring.Free()
"""


@pytest.mark.parametrize(("regions", "is_left"), [("blocks:1", True), ("blocks:2", False)])
def test_edges_that_cannot_be_joined_are_left_to_mpi(mpi: str, regions: str, is_left: bool, tmp_path: Path) -> None:
    """In a ring, two neighboring regions share one edge; with only two regions, both edges connect
    them."""
    report = tmp_path / "report.json"
    environment = preloaded(VICINAL_REGIONS=regions, VICINAL_REPORT=str(report))
    run_ranks(mpi, 4, [sys.executable, "-c", RING], env=environment)
    content = json.loads(report.read_text())
    assert bool(content["communicators"]) != is_left
    whys = [left["why"] for left in content["left_to_mpi"]]
    assert whys == (["no two of its regions have more than one edge between them in a direction"] if is_left else [])


GATHERS = """
import sys, time
from mpi4py import MPI
calls, watched = int(sys.argv[1]), sys.argv[2] == "watched"
comm = MPI.COMM_WORLD.Dup()
if not watched:
    comm.Create_dist_graph_adjacent([comm.rank], [comm.rank]).Free()
own, all = bytearray(8), bytearray(8 * comm.size)
for call in range(calls):
    if watched and comm.rank == 0 and call < 16:
        time.sleep(0.02)
    own[:] = bytes([comm.rank, call % 256] * 4)
    comm.Allgather([own, MPI.BYTE], [all, MPI.BYTE])
    assert all == b"".join(bytes([rank, call % 256] * 4) for rank in range(comm.size))
comm.Free()
"""


def gathers(mpi: str, report: Path, *words: object, **more: str) -> dict:
    environment = preloaded(VICINAL_REPORT=str(report), **more)
    run_ranks(mpi, 4, [sys.executable, "-c", GATHERS, *map(str, words)], env=environment)
    return json.loads(report.read_text())


def of_gathers(content: dict) -> list[dict]:
    return [each for each in content["communicators"] if each["made_by"] == "allgathers over all ranks"]


def test_report_of_allgathers(mpi: str, tmp_path: Path) -> None:
    """After a graph creation, sizes are counted from call 8 on, and the plan serves from the eighth
    of these on."""
    [used] = of_gathers(gathers(mpi, tmp_path / "report", 40, "known", VICINAL_ALLGATHER="hierarchical"))
    [site] = used["calls"]
    assert site["function"].startswith("MPI_Allgather")
    assert (site["calls_of_mpi"], site["calls"]) == (14, 40 - 14)
    [plan] = used["plans"]
    assert plan["kind"] == "allgather, blocks of 8 bytes" and plan["planner"] == "hierarchical"
    assert plan["messages"] == {"to_other_regions": 2, "inside": 0} and plan["bytes_to_other_regions"] == 32
    assert "messages_without" not in plan and plan["expected_seconds"] > 0
    assert "2 messages between regions, 0 inside;" in (tmp_path / "report.txt").read_text()


def test_blocking_allgathers_go_by_what_was_measured_faster(mpi: str, tmp_path: Path) -> None:
    """Trials alternate between plans and MPI's own; later calls use the one that the report
    names."""
    # A plan pays if memory is much faster than messages inside a host.
    content = json.loads(_core.Profile.default().to_json())
    for level in ("domain", "node"):
        content["levels"][level]["send_overhead"] *= 100
        content["levels"][level]["receive_overhead"] *= 100
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps(content))
    calls, tried = 400, 220
    [used] = of_gathers(gathers(mpi, tmp_path / "report", calls, "known", VICINAL_PROFILE=str(profile)))
    [site], [plan] = used["calls"], used["plans"]
    [said] = plan["reasons"]
    match = re.fullmatch(r"was measured in use: ([^;]*)(?:; left out before: ([^;]*))?; (.*) is taken", said)
    assert match, said
    times, left_out = (
        {name: float(time) for name, time in re.findall(r"([\w' -]+) ([\d.]+) us", some.replace(", ", ","))}
        for some in (match[1], match[2] or "")
    )
    assert "MPI's own" in times | left_out and len(times | left_out) > 1
    by_mpi = match[3] == "MPI's own"
    assert times[match[3]] <= 1.05 * min(times.values())
    assert site["calls"] + site["calls_of_mpi"] == calls
    assert site["calls_of_mpi" if by_mpi else "calls"] >= calls - tried


def test_allgathers_set_up_once_they_have_taken_as_long(mpi: str, tmp_path: Path) -> None:
    """Ranks that wait for a slow rank signal it, which learns of it in call 8, or at the latest in
    call 16."""
    [used] = of_gathers(gathers(mpi, tmp_path / "report", 40, "watched", VICINAL_ALLGATHER="hierarchical"))
    [site] = used["calls"]
    assert site["calls"] in (40 - 14, 40 - 22) and site["calls_of_mpi"] == 40 - site["calls"]


@pytest.mark.parametrize(
    ("calls", "why", "more"),
    [
        (7, None, {}),
        (40, "all its ranks are in one region", {"VICINAL_REGIONS": "blocks:4"}),
        (40, "VICINAL_ALLGATHER is 'direct', which MPI's own are better than", {"VICINAL_ALLGATHER": "direct"}),
        (40, "nobody brings on what others depend on while the program waits in MPI", {"VICINAL_PROGRESS": "strict"}),
    ],
)
def test_allgathers_left_to_mpi(mpi: str, calls: int, why: str | None, more: dict[str, str], tmp_path: Path) -> None:
    content = gathers(mpi, tmp_path / "report", calls, "known", **more)
    assert not of_gathers(content)
    whys = [left["why"] for left in content["left_to_mpi"] if left["made_by"] == "allgathers over all ranks"]
    assert whys == ([why] if why else [])


def test_allgathers_that_do_not_pay_are_left_to_mpi(mpi: str, tmp_path: Path) -> None:
    """With one rank per region, a plan knows nothing that MPI does not know."""
    [used] = of_gathers(gathers(mpi, tmp_path / "report", 40, "known", VICINAL_REGIONS="blocks:1"))
    [site] = used["calls"]
    assert (site["calls_of_mpi"], site["calls"]) == (40, 0) and used["plans"] == []
