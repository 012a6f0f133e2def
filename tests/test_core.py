"""Planners on virtual ranks, through vicinal._core: every plan is verified, and its traffic counted
independently."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import vicinal
from cases_core import expected_traffic, halo_pairs, random_patterns, regions
from hypothesis import given, settings
from hypothesis import strategies as st
from vicinal import _core

STRATEGIES = [name for name, _ in _core.strategies(with_reverse=True)]
COUNTED = ["direct", "nearest-first", "aggregate", "aggregate-plain", "two-step"]
KINDS = ["equal", "unequal", "round-robin"]


def machine_of(region_of: np.ndarray, hosts: str, rng: np.random.Generator) -> _core.Machine:
    """Returns a machine whose regions are on one host, or on several hosts unrelated to the
    regions."""
    size = len(region_of)
    host_of = np.zeros(size, np.int32) if hosts == "one" else rng.integers(0, 3, size).astype(np.int32)
    return _core.Machine(region_of, host_of)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    size=st.integers(1, 24), seed=st.integers(0, 2**32 - 1), identity=st.booleans(), shared=st.booleans(),
    hosts=st.sampled_from(["one", "several"]),
)
def test_random_patterns_are_proved(
    strategy: str, kind: str, size: int, seed: int, identity: bool, shared: bool, hosts: str
) -> None:
    rng = np.random.default_rng(seed)
    patterns = random_patterns(size, identity, rng)
    machine = machine_of(regions(kind, size, rng), hosts, rng)
    plans = _core.PlanSet.plan(
        strategy, machine, patterns, shared_memory=shared, with_reverse=True, split_bytes=64,
        leader_shift=seed % 3, idle_ranks_lead=seed % 2 == 1,
    )
    plans.verify(patterns)
    assert plans.reverse is not None
    plans.reverse.verify(patterns)


def matrices() -> dict[str, scipy.sparse.csr_array]:
    line = scipy.sparse.diags_array([1.0] * 5, offsets=[-40, -1, 0, 1, 40], shape=(1600, 1600))
    scattered = scipy.sparse.random_array((900, 900), density=0.01, rng=np.random.default_rng(7))
    return {"grid": line.tocsr(), "scattered": scattered.tocsr()}


@pytest.mark.parametrize("shared", [True, False], ids=["shared", "messages"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["grid", "scattered"])
def test_traffic_is_what_the_matrix_says(name: str, kind: str, shared: bool) -> None:
    size = 32
    offsets, needers, indices = halo_pairs(matrices()[name], size)
    patterns = _core.halo_patterns(size, offsets, needers, indices)
    rng = np.random.default_rng(11)
    machine = machine_of(regions(kind, size, rng), "one", rng)
    for strategy in COUNTED:
        plans = _core.PlanSet.plan(strategy, machine, patterns, shared_memory=shared)
        plans.verify(patterns)
        wanted = expected_traffic(strategy, machine.region_of, offsets, needers, indices)
        messages, elements = plans.region_traffic()
        np.testing.assert_array_equal(messages, wanted[0], strategy)
        np.testing.assert_array_equal(elements, wanted[1], strategy)
        counted = plans.statistics()
        assert counted["nonlocal_messages"].sum() == messages.sum()
        assert counted["nonlocal_elements"].sum() == elements.sum()
        phases = counted["phases"].values()
        assert sum(phase["messages"].sum() for phase in phases) == (
            counted["nonlocal_messages"].sum() + counted["local_messages"].sum()
        )


@pytest.mark.parametrize("kind", KINDS)
def test_split_takes_a_leader_for_each_split_bytes(kind: str) -> None:
    size, split_bytes = 32, 256
    offsets, needers, indices = halo_pairs(matrices()["scattered"], size)
    patterns = _core.halo_patterns(size, offsets, needers, indices)
    rng = np.random.default_rng(3)
    machine = machine_of(regions(kind, size, rng), "one", rng)
    plans = _core.PlanSet.plan("split", machine, patterns, element_bytes=8, split_bytes=split_bytes)
    plans.verify(patterns)
    _, distinct = expected_traffic("aggregate", machine.region_of, offsets, needers, indices)
    edges, _ = expected_traffic("direct", machine.region_of, offsets, needers, indices)
    owners = np.searchsorted(offsets, indices, side="right") - 1
    active = np.unique(np.concatenate([owners, needers]))
    members = np.bincount(machine.region_of[active], minlength=machine.regions)
    leaders = np.minimum(-(-distinct * 8 // split_bytes), members[:, None])
    messages, elements = plans.region_traffic()
    relayed = leaders < edges
    np.testing.assert_array_equal(messages[relayed], leaders[relayed])
    np.testing.assert_array_equal(elements[relayed], distinct[relayed])
    np.testing.assert_array_equal(messages[~relayed], edges[~relayed])


def test_automatic_is_never_worse_in_messages_than_direct() -> None:
    size = 32
    offsets, needers, indices = halo_pairs(matrices()["scattered"], size)
    patterns = _core.halo_patterns(size, offsets, needers, indices)
    machine = _core.Machine(_core.read_regions("blocks:8", size), np.zeros(size, np.int32))
    traffic = {
        name: _core.PlanSet.plan(name, machine, patterns).region_traffic()[0].sum()
        for name in ("automatic", "direct", "aggregate")
    }
    assert traffic["aggregate"] <= traffic["automatic"] <= traffic["direct"]


def test_what_contributors_send_is_shared_out_where_little_goes_back() -> None:
    """Receivers share the work of a region pair even if the reverse pair has one contributor.

    On one side every contributor leads for itself, on the other there is a single one.
    """
    ranks, each = 32, 4
    edges = [(0, 16 + rank, 1) for rank in range(3)]
    edges += [(16 + rank, (rank + 5 * turn) % 16, each) for rank in range(10) for turn in range(3)]
    out: list[list[tuple[int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    into: list[list[tuple[int, int, list[tuple[int, int, int]]]]] = [[] for _ in range(ranks)]
    received = [0] * ranks
    for source, target, count in sorted(edges):
        out[source].append((target, [(0, 0, count)]))
        into[target].append((source, count, [(0, received[target], count)]))
        received[target] += count
    patterns = _core.Patterns.from_edges(out, into)
    regions = np.repeat(np.arange(2, dtype=np.int32), 16)
    machine, profile = _core.Machine(regions, regions), _core.Profile.default()
    times = {
        strategy: _core.PlanSet.plan(strategy, machine, patterns, element_bytes=8).price(profile, 8)["seconds"]
        for strategy in ("direct", "aggregate", "automatic")
    }
    assert times["automatic"] <= min(times.values()), times


def test_halo_patterns_equal_patterns_made_edge_by_edge() -> None:
    """Patterns formed from arrays and patterns given edge by edge lead to equal plans."""
    size = 5
    rng = np.random.default_rng(5)
    offsets = np.array([0, 3, 3, 10, 11, 16])
    wanted = {
        rank: sorted(
            i for i in rng.choice(16, 9, replace=False).tolist() if not offsets[rank] <= i < offsets[rank + 1]
        )
        for rank in range(size)
    }
    needers = np.array([rank for rank in range(size) for _ in wanted[rank]], np.int32)
    indices = np.array([index for rank in range(size) for index in wanted[rank]])
    out: list = [[] for _ in range(size)]
    into: list = [[] for _ in range(size)]
    for owner in range(size):
        for needer in range(size):
            sent = [i for i in wanted[needer] if offsets[owner] <= i < offsets[owner + 1]]
            if sent:
                out[owner].append((needer, [(i - offsets[owner], i - offsets[owner], 1) for i in sent]))
                slots = [(k, wanted[needer].index(i), 1) for k, i in enumerate(sent)]
                into[needer].append((owner, len(sent), slots))
    machine = _core.Machine(_core.read_regions("blocks:2", size), np.zeros(size, np.int32))
    made = _core.halo_patterns(size, offsets, needers, indices)
    spelt = _core.Patterns.from_edges(out, into, True)
    plans = _core.PlanSet.plan("aggregate", machine, made, with_reverse=True)
    plans.verify(spelt)
    plans.reverse.verify(spelt)
    _core.PlanSet.plan("direct", machine, spelt).verify(made)


def test_halo_patterns_of_millions_of_pairs() -> None:
    """A million rows on 2,048 ranks: one pass, and plans whose direct traffic equals the pairs."""
    size, rows = 2048, 1 << 20
    offsets = np.linspace(0, rows, size + 1).astype(np.int64)
    own = np.repeat(np.arange(size), np.diff(offsets))
    needers = np.concatenate([(own + shift) % size for shift in (1, 2, size - 1)]).astype(np.int32)
    indices = np.tile(np.arange(rows), 3)
    order = np.lexsort((indices, needers))
    patterns = _core.halo_patterns(size, offsets, needers[order], indices[order])
    machine = _core.Machine(_core.read_regions("blocks:32", size), _core.read_regions("blocks:32", size))
    plans = _core.PlanSet.plan("direct", machine, patterns)
    counted = plans.statistics()
    assert counted["nonlocal_messages"].sum() + counted["local_messages"].sum() == 3 * size
    assert counted["nonlocal_elements"].sum() + counted["local_elements"].sum() == 3 * rows


def two_ranks() -> tuple[_core.PlanSet, _core.Patterns]:
    patterns = _core.halo_patterns(2, np.array([0, 2, 4]), np.array([0, 1], np.int32), np.array([2, 1]))
    machine = _core.Machine(np.array([0, 1], np.int32), np.array([0, 1], np.int32))
    return _core.PlanSet.plan("direct", machine, patterns, with_reverse=True), patterns


def test_price_of_plans() -> None:
    patterns = random_patterns(12, True, np.random.default_rng(5))
    hosts = np.repeat(np.arange(3, dtype=np.int32), 4)
    plans = _core.PlanSet.plan("aggregate", _core.Machine(hosts, hosts), patterns)
    price = plans.price()
    assert price["seconds"] > 0
    assert sum(price["phases"].values()) == pytest.approx(price["seconds"])
    assert set(price["phases"]) <= {"direct", "local", "gather", "non-local", "scatter", "halving"}
    assert price["finished"].max() == price["seconds"]
    assert price["busy"][price["busiest"]] == price["busy"].max()
    assert plans.price(_core.Profile.default())["seconds"] == price["seconds"]
    assert plans.price(element_bytes=4096)["seconds"] > price["seconds"]
    with pytest.raises(vicinal.Error, match="elements of 0 bytes were given"):
        plans.price(element_bytes=0)
    with pytest.raises(vicinal.Error, match="says nothing of GPUs"):
        plans.price(memory="device")
    with pytest.raises(vicinal.Error, match="memory is 'gpu', but 'host' or 'device'"):
        plans.price(memory="gpu")
    with pytest.raises(vicinal.Error, match="device_way is 'fast', but 'staged', 'direct', 'shared', 'direct-shared'"):
        plans.price(memory="device", device_way="fast")


def test_forms_of_a_plan() -> None:
    plans, _ = two_ranks()
    assert plans.size == 2 and plans.strategy == "direct"
    assert plans.text(1).startswith("rank 1 of 2, direct")
    plan = json.loads(plans.json(1))
    assert plan["format"] == 1 and plan["rank"] == 1
    assert json.loads(plans.reverse.json(0))["reverse"] is True
    assert plans.goal(8, 10.0).startswith("num_ranks 2")
    assert plans.reverse.reverse.text(0) == plans.text(0)


def test_verifier_refuses_a_plan_for_another_pattern() -> None:
    plans, _ = two_ranks()
    other = _core.halo_patterns(2, np.array([0, 2, 4]), np.array([0, 1], np.int32), np.array([3, 1]))
    with pytest.raises(vicinal.Error) as caught:
        plans.verify(other)
    assert caught.value.kind == "internal"


@pytest.mark.parametrize(
    ("needers", "indices", "words"),
    [
        ([0, 0], [3, 2], "ascending"),
        ([0, 0], [2, 2], "once"),
        ([1, 0], [0, 2], "ascending"),
        ([0], [1], "owns itself"),
        ([0], [9], "own indices 0 to 3"),
        ([0], [-1], "own indices 0 to 3"),
        ([2], [1], "ranks 0 to 1"),
        ([-1], [1], "ranks 0 to 1"),
        ([0, 1], [2], "one for each"),
    ],
)
def test_halo_patterns_refuse(needers: list[int], indices: list[int], words: str) -> None:
    with pytest.raises(vicinal.Error, match=words) as caught:
        _core.halo_patterns(2, np.array([0, 2, 4]), np.array(needers, np.int32), np.array(indices))
    assert caught.value.kind == "argument"


def test_refusals_name_what_was_given() -> None:
    plans, patterns = two_ranks()
    machine = _core.Machine(np.array([0, 1], np.int32), np.array([0, 0], np.int32))
    with pytest.raises(vicinal.Error, match="no strategy 'nonsense'.*direct") as caught:
        _core.PlanSet.plan("nonsense", machine, patterns)
    assert caught.value.kind == "info"
    with pytest.raises(vicinal.Error, match="3 ranks.*2 patterns|2 patterns.*3 ranks"):
        _core.PlanSet.plan("direct", _core.Machine(np.zeros(3, np.int32), np.zeros(3, np.int32)), patterns)
    with pytest.raises(vicinal.Error, match="has 2 labels.*3") as caught:
        _core.read_regions("list:0,1", 3)
    assert caught.value.kind == "topology"
    with pytest.raises(vicinal.Error, match="ranks 0 to 1"):
        plans.text(2)
    with pytest.raises(vicinal.Error, match="row offsets"):
        _core.halo_patterns(3, np.array([0, 2, 4]), np.array([], np.int32), np.array([], np.int64))


def test_traffic_refuses_what_does_not_fit() -> None:
    machine = _core.Machine(np.array([0, 0, 1], np.int32), np.array([0, 0, 1], np.int32))
    ranks, sizes = np.array([0, 2], np.int32), np.array([8, 8])
    with pytest.raises(vicinal.Error, match="2 sources, 1 targets"):
        _core.Traffic(machine, ranks, ranks[:1], sizes)
    with pytest.raises(vicinal.Error, match="ranks 0 to 2"):
        _core.Traffic(machine, ranks, ranks + 1, sizes)
    traffic = _core.Traffic(machine, ranks, ranks[::-1], sizes)
    with pytest.raises(vicinal.Error, match="one-sided"):
        traffic.count("one-sided")
    assert traffic.region_pairs().tolist() == [1, 1]


def test_importing_needs_no_mpi() -> None:
    """Planning without a launcher must work without MPI."""
    import subprocess
    import sys

    code = (
        "import sys; import vicinal, vicinal._core; vicinal.progress(); vicinal.Halo; vicinal.Graph; "
        "assert not any(name.startswith('mpi4py') for name in sys.modules), 'mpi4py was imported'"
    )
    folder = Path(vicinal.__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder)
