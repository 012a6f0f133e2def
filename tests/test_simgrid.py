"""Prices of plans compared with SimGrid's simulated MPI: by hand, and a part of `make simgrid`.

tools/confirm_prices.py defines the comparisons and their tolerances.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from launching import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import confirm_prices  # noqa: E402  (found through the path set above)
import smpi  # noqa: E402
from vicinal import _core  # noqa: E402

pytestmark = pytest.mark.check_all

with_simgrid = pytest.mark.skipif(
    not smpi.installed(), reason=f"needs SimGrid (Debian, Ubuntu: apt install {smpi.PACKAGE})"
)
OF = smpi.plain(_core.Profile.default(), flat=False)
FAR = OF.profile.levels["network"]
LARGE = 65536


def direct(hosts: list[int], edges: list[tuple[int, int, int]]) -> tuple[_core.PlanSet, _core.Machine]:
    """Returns plans that send these numbers of bytes from rank to rank, in the order of the
    edges."""
    machine = _core.Machine(np.array(hosts, np.int32), np.array(hosts, np.int32))
    out: list[list] = [[] for _ in hosts]
    into: list[list] = [[] for _ in hosts]
    for source, destination, size in edges:
        count = size // smpi.ELEMENT_BYTES
        out[source].append((destination, [(0, 0, count)]))
        into[destination].append((source, count, [(0, 1 << 20 * len(into[destination]), count)]))
    plans = _core.PlanSet.plan("direct", machine, _core.Patterns.from_edges(out, into, True), shared_memory=False)
    return plans, machine


def both(hosts: list[int], edges: list[tuple[int, int, int]], folder: Path) -> tuple[float, float]:
    plans, machine = direct(hosts, edges)
    return plans.price(OF.profile, smpi.ELEMENT_BYTES)["seconds"], smpi.simulate([plans], machine, OF, folder)[0]


@with_simgrid
@pytest.mark.parametrize("size", [8, OF.eager, OF.eager + 8, LARGE])
def test_a_message_takes_what_the_profile_says(size: int, tmp_path: Path) -> None:
    """An eager message, and a rendezvous message whose receive is posted at once."""
    expected = FAR.seconds(size)
    assert both([0, 1], [(0, 1, size)], tmp_path) == pytest.approx((expected, expected), rel=1e-3)


@with_simgrid
def test_a_port_is_shared(tmp_path: Path) -> None:
    """Four ranks of a host send to four of another: the port passes all bytes."""
    expected = FAR.seconds(0) + 4 * LARGE * OF.port_seconds_per_byte
    edges = [(rank, 4 + rank, LARGE) for rank in range(4)]
    assert both([0] * 4 + [1] * 4, edges, tmp_path) == pytest.approx((expected, expected), rel=1e-3)


@with_simgrid
def test_a_link_is_shared(tmp_path: Path) -> None:
    """A rank that sends to two ranks has twice the bytes to send."""
    expected = FAR.seconds(0) + 2 * LARGE * OF.seconds_per_byte
    assert both([0, 1, 2], [(0, 1, LARGE), (0, 2, LARGE)], tmp_path) == pytest.approx((expected, expected), rel=0.03)


@with_simgrid
def test_a_receiver_that_is_busy_holds_up_no_message_to_another(tmp_path: Path) -> None:
    """Rank 1's port shares its rate among three messages; rank 0's link has room for one to rank
    2."""
    expected = FAR.seconds(0) + 2 * LARGE * OF.seconds_per_byte
    edges = [(0, 1, LARGE), (0, 2, LARGE), (3, 1, LARGE), (4, 1, LARGE)]
    assert both([0, 1, 2, 3, 4], edges, tmp_path) == pytest.approx((expected, expected), rel=0.06)


@with_simgrid
@pytest.mark.parametrize("network", confirm_prices.NETWORKS)
def test_prices_are_confirmed(network: str, tmp_path: Path) -> None:
    profile = _core.Profile.default()
    programs = [
        program for pattern in ("2-D halo", "hub")
        for program in confirm_prices.compare(network, pattern, (8, LARGE), profile, tmp_path / pattern)
    ]
    assert len(programs) == 4 * len(_core.strategies(with_reverse=False, one_block=False))
    failed = [finding.line() for finding in confirm_prices.findings(programs) if not finding.good]
    assert not failed, "\n".join(failed)


def test_plans_that_are_not_messages_only_are_refused() -> None:
    machine = _core.Machine(np.array([0, 0, 1], np.int32), np.array([0, 0, 1], np.int32))
    wanted = _core.Patterns.from_edges([[(1, [(0, 0, 1)])], [], []], [[], [(0, 1, [(0, 0, 1)])], []], True)
    plans = _core.PlanSet.plan("aggregate", machine, wanted)
    with pytest.raises(smpi.SmpiError, match="messages only, but a plan of aggregate has an operation '"):
        smpi.export(plans, OF)


def test_a_platform_has_a_route_between_any_two_ranks() -> None:
    machine = _core.Machine(np.array([0, 0, 1], np.int32), np.array([0, 0, 1], np.int32))
    text = smpi.platform(machine, OF)
    assert text.count("<route ") == 6
    assert 'dst="rank1" symmetrical="NO"><link_ctn id="link0"/><link_ctn id="near0"/></route>' in text
    assert '<link_ctn id="link2"/><link_ctn id="out1"/><link_ctn id="in0"/><link_ctn id="far2"/>' in text
