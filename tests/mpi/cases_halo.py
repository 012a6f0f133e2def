"""Forward halos: forms of creation, exchanges in flight, order, lifetimes."""

from __future__ import annotations

import numpy as np
import vicinal
from harness import Indices, all_settings, case, few, region_kinds, some_settings, values
from mpi4py import MPI
from vicinal import Settings


def check_all_ways(halo: vicinal.Halo, indices: Indices) -> None:
    """Exchanges with ghosts appended, with a given array of ghosts, and with one that the halo
    creates."""
    count = len(indices.owned)
    wanted = values(indices.needed)
    x = np.concatenate([values(indices.owned), np.full(len(wanted), np.nan)])
    tail = halo.exchange(x)
    np.testing.assert_array_equal(x[count:], wanted)
    assert np.shares_memory(tail, x) or not len(tail)
    apart = np.full(len(wanted), np.nan)
    exchange = halo.start(x[:count].copy(), apart)
    assert halo.wait(exchange) is apart and exchange.test() and exchange.wait() is apart
    np.testing.assert_array_equal(apart, wanted)
    np.testing.assert_array_equal(halo.exchange(values(indices.owned)), wanted)


@case
def ranges_under_every_setting(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 1)
    for settings in all_settings(comm.size):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        assert halo.strategy == settings["strategy"]
        check_all_ways(halo, indices)


@case
def forms_of_ownership(comm: MPI.Intracomm) -> None:
    for turn, settings in enumerate(some_settings(comm.size, 4)):
        indices = Indices(comm, 10 + turn, by_range=False)
        check_all_ways(vicinal.Halo(comm, indices.owned, indices.needed, **settings), indices)
        check_all_ways(vicinal.Halo(comm, indices.owned, indices.needed, indices.owners, **settings), indices)
        indices = Indices(comm, 20 + turn)
        owned = (indices.first, indices.last)
        check_all_ways(vicinal.Halo(comm, owned, indices.needed.tolist(), indices.owners, **settings), indices)
        check_all_ways(vicinal.Halo(comm, range(*owned), indices.needed.astype(np.uint32)), indices)
        # Ranks may give their ownership in different forms.
        mixed = owned if comm.rank % 2 else indices.owned
        check_all_ways(vicinal.Halo(comm, mixed, indices.needed, **settings), indices)
        owners = indices.owners if comm.rank % 3 else None
        check_all_ways(vicinal.Halo(comm, owned, indices.needed, owners, **settings), indices)


@case
def ranks_that_exchange_nothing_lead(comm: MPI.Intracomm) -> None:
    """Even ranks have one value each, which all even ranks need; odd ranks have no rows at all."""
    holders = range(0, comm.size, 2)
    owned = [comm.rank] if comm.rank in holders else []
    needed = [rank for rank in holders if owned and rank != comm.rank]
    for strategy in ("automatic", "aggregate", "two-step"):
        halo = vicinal.Halo(
            comm, owned, needed, strategy=strategy, settings=Settings(regions="blocks:2", idle_ranks="lead")
        )
        for turn in range(3):
            exchanges = [halo.start(np.array(owned, float) + 100 * turn + 1000 * k) for k in range(2)]
            for k, exchange in enumerate(exchanges):
                np.testing.assert_array_equal(exchange.wait(), np.array(needed, float) + 100 * turn + 1000 * k)
            sums = halo.reverse(np.concatenate([np.array(owned, float), np.ones(len(needed))]))
            np.testing.assert_array_equal(sums[: len(owned)], np.array(owned, float) + len(needed))


@case
def nothing_to_exchange(comm: MPI.Intracomm) -> None:
    halo = vicinal.Halo(comm, (3 * comm.rank, 3 * comm.rank + 3), [])
    assert halo.ghost_count == 0 and halo.owned_count == 3
    assert len(halo.exchange(np.ones(3))) == 0
    halo.reverse(np.ones(3))
    empty = vicinal.Halo(comm, [], [])
    assert len(empty.exchange(np.empty(0))) == 0


@case
def maps_and_reports(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 30, by_range=False)
    halo = vicinal.Halo(
        comm, indices.owned, indices.needed, strategy="aggregate", settings=Settings(regions=region_kinds(comm.size)[0])
    )
    assert halo.owned_count == len(indices.owned) and halo.ghost_count == len(indices.needed)
    received = halo.receive_map
    assert sorted(received) == sorted(set(indices.owners.tolist()))
    for owner, slots in received.items():
        np.testing.assert_array_equal(slots, np.flatnonzero(indices.owners == owner))
    sent = {rank: indices.owned[positions] for rank, positions in halo.send_map.items()}
    everywhere = comm.allgather((sent, indices.needed))
    for rank, (_, needed) in enumerate(everywhere):
        wanted = np.intersect1d(needed, indices.owned)
        np.testing.assert_array_equal(np.sort(sent.get(rank, np.empty(0, int))), wanted)
    counts = halo.statistics
    assert all(number >= 0 for number in counts[:-1])
    assert isinstance(counts.shared_memory, str)
    # One rank may send for others; the messages of all ranks together do not exceed the edges.
    assert comm.allreduce(counts.nonlocal_messages) <= comm.allreduce(len(sent))
    assert halo.describe().startswith(f"rank {comm.rank} of {comm.size}, aggregate")
    assert f"{halo.owned_count} owned" in repr(halo)
    regions = vicinal.get_regions(comm)
    assert len(regions) == comm.size and regions[0] == 0


@case
def several_in_flight(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 40)
    for settings in some_settings(comm.size, 4, in_flight=3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        for turn in range(6):
            vectors = [values(indices.owned) + 1000 * (turn + k) for k in range(3)]
            exchanges = [halo.start(vector) for vector in vectors]
            order = [(turn + 1 + k) % 3 for k in range(3)]
            if turn % 3 == 0:
                for k in order:
                    np.testing.assert_array_equal(exchanges[k].wait(), values(indices.needed) + 1000 * (turn + k))
            elif turn % 3 == 1:
                assert halo.wait() is exchanges[2].wait()
            else:
                seen = set()
                while (found := vicinal.wait_any(exchanges)) is not None:
                    seen.add(found)
                assert seen == {0, 1, 2}
            for k in range(3):
                np.testing.assert_array_equal(exchanges[k].wait(), values(indices.needed) + 1000 * (turn + k))
        assert halo.wait() is None


@case
def started_in_different_orders(comm: MPI.Intracomm) -> None:
    made = [Indices(comm, 50 + k) for k in range(3)]
    settings = list(some_settings(comm.size, 3))
    halos = [vicinal.Halo(comm, (i.first, i.last), i.needed, **s) for i, s in zip(made, settings, strict=True)]
    for turn in range(10):
        order = np.random.default_rng([turn, comm.rank]).permutation(3)
        exchanges = {k: halos[k].start(values(made[k].owned) + turn) for k in order}
        for k in np.random.default_rng([comm.rank, turn]).permutation(3):
            np.testing.assert_array_equal(exchanges[k].wait(), values(made[k].needed) + turn)


@case
def one_way_edges_never_overrun(comm: MPI.Intracomm) -> None:
    """Rank 0 only sends; it must not overrun its readers."""
    needed = np.arange(4) if comm.rank else []
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (0, 4) if comm.rank == 0 else (4, 4), needed, **settings)
        x = np.zeros(halo.owned_count)
        for turn in range(300 if few(comm.size) else 60):
            x[:] = turn
            ghosts = halo.exchange(x)
            assert (ghosts == turn).all(), (turn, ghosts)


@case
def ghosts_are_reused_only_when_let_go(comm: MPI.Intracomm) -> None:
    size, rank = comm.size, comm.rank
    halo = vicinal.Halo(comm, (2 * rank, 2 * rank + 2), [2 * ((rank + 1) % size)])
    first = halo.exchange(np.full(2, 1.0))
    second = halo.exchange(np.full(2, 2.0))
    assert first is not second and first[0] == 1 and second[0] == 2
    address = first.ctypes.data
    del first
    assert halo.exchange(np.full(2, 3.0)).ctypes.data == address


@case
def dropped_before_completion(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 60)
    for settings in some_settings(comm.size, 3):
        halo = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        ghosts = np.zeros(len(indices.needed))
        halo.start(values(indices.owned), ghosts)
        halo.wait()
        np.testing.assert_array_equal(ghosts, values(indices.needed))
        exchange = halo.start(values(indices.owned) + 1)
        del halo
        np.testing.assert_array_equal(exchange.wait(), values(indices.needed) + 1)
        dropped = vicinal.Halo(comm, (indices.first, indices.last), indices.needed, **settings)
        dropped.start(values(indices.owned), ghosts)
        del dropped


@case
def context_and_communicator_freed_first(comm: MPI.Intracomm) -> None:
    indices = Indices(comm, 70)
    own = comm.Dup()
    halo = vicinal.Halo(own, (indices.first, indices.last), indices.needed)
    own.Free()
    with halo:
        exchange = halo.start(values(indices.owned))
    np.testing.assert_array_equal(exchange.wait(), values(indices.needed))
    assert "freed" in repr(halo)
    halo.free()


@case
def sub_communicators(comm: MPI.Intracomm) -> None:
    half = comm.Split(comm.rank % 2, -comm.rank)
    vicinal.set_regions(half, [rank // 2 for rank in range(half.size)])
    assert vicinal.get_regions(half).tolist() == [rank // 2 for rank in range(half.size)]
    indices = Indices(half, 80 + comm.rank % 2)
    check_all_ways(vicinal.Halo(half, (indices.first, indices.last), indices.needed, strategy="aggregate"), indices)
    half.Free()


@case
def many_halos_made_and_freed(comm: MPI.Intracomm) -> None:
    x = np.ones(1)
    for turn in range(30 if few(comm.size) else 8):
        halo = vicinal.Halo(comm, (comm.rank, comm.rank + 1), [(comm.rank + turn) % comm.size], strategy="aggregate")
        halo.exchange(x)
