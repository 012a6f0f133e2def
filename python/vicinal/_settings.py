"""Settings, and their conversion to the info keys of the C interface.

The environment variable of a setting overrides it, so that a user can try other settings without
changing the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any

from ._arrays import read_indices, shown
from ._errors import Error

# The kinds of objects that settings apply to, as messages name them.
HALO = "a halo"
GRAPH = "a graph"
COMPLETE_GRAPH = "a complete graph"
GRAPH_FROM_ONE_SIDE = "a graph from one side"
PERSISTENT = "a persistent collective"
SPARSE = "a sparse exchange"

GRAPHS = (GRAPH, COMPLETE_GRAPH, GRAPH_FROM_ONE_SIDE)
PLANNED = (HALO, GRAPH, PERSISTENT)


def _for(*kinds: str) -> Any:
    """Declares a field that applies to these kinds. GRAPH stands for all graphs."""
    return field(default=None, metadata={"kinds": kinds})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a halo, a graph, a persistent collective or a sparse exchange.

        settings = vicinal.Settings(regions="numa", progress="strict")
        halo = vicinal.Halo(comm, owned, needed, strategy="split", settings=settings)

    None, the default of each field, means "not given". A persistent collective then takes the
    value of its graph, and other objects take the default below. An environment variable such as
    VICINAL_REGIONS overrides its field. All ranks must give the same values.

    A function raises vicinal.Error for a field that it cannot use. The fields apply to:

    - halos (`Halo`), graphs (`Graph`) and persistent collectives (`Graph.Neighbor_alltoall_init`,
      `Allgather_init`, `Alltoallv_init`, ...), unless an entry says otherwise;
    - sparse exchanges (`sparse_exchange`, `sparse_query`): `regions`, `profile`, `local` and
      `exchange` only.

    For everybody
    -------------
    regions
        Groups of near ranks: "node" (default), "numa", "blocks:K", "round-robin:N",
        "list:0,0,1,...", two of these as "node/numa", or a sequence with a label for each rank.
        Applies to halos, graphs and sparse exchanges; a persistent collective has its graph's.
    allgather
        The planner of a complete graph's allgathers: "automatic" (default), "locality-bruck",
        "bruck", "dissemination", "recursive-doubling", "ring", "hierarchical", "multi-lane", or a
        strategy for allgathers. Applies to `Graph.complete` only. A persistent allgather names its
        planner by `strategy`.
    choice
        The decision of the strategy "automatic". "adaptive" (default) times further plans in
        repeated exchanges. "estimate" uses the cost model. "measure" times the likely planners when
        the halo or the persistent collective is created.
    progress
        "relaxed" (default): ranks may relay for other ranks, in every call of vicinal. A blocking
        call of MPI between the start and the completion of an exchange may then deadlock. "strict":
        without a progress thread, halos, persistent requests and nonblocking calls send one message
        per pair of ranks. All calls that MPI allows in between then work.
    profile
        The costs of the machine, for the choice of plans: the path of a file from `vicinal
        calibrate`. Its contents, not its path, must be the same on all ranks (default: a published
        machine). Applies to sparse exchanges, too.
    wisdom
        The path of a file that keeps measured results, which later plans look up (default: none).

    For experts
    -----------
    local
        Transport between ranks of a host: "shared" memory (default) or "messages". Applies to
        sparse exchanges, too.
    device_way
        Transport of data in GPU memory (docs/gpu.md): "automatic" (default), "staged", "direct",
        "shared", "direct-shared", "lent" or "direct-lent". The last two need arrays that stay
        allocated until all ranks have freed the exchange.
    in_flight
        Number of exchanges of each direction of a halo that may be in flight: 1 to 8 (default 4).
        For a graph: the number of alltoalls, and of allgathers, that execute a plan at once. Any
        number of nonblocking calls may be in flight; calls beyond the limit are queued. Applies to
        halos and graphs.
    split_bytes
        Bytes between two regions for each of which "split" and "automatic" use a leader (default
        65536), or 0: as many leaders as a cost model finds best.
    radix
        Radix of "cascade", and of "tuna" and "tuna-hierarchical" on a complete graph, 2 or more
        (default 0: by a cost model).
    plan_after
        Number of executions after which further plans are made and compared, and of calls of a
        loop after which a plan serves them (default 8).
    bias
        Factors on planners' costs in a choice: {"direct": 0.8} or "direct:0.8,aggregate:1.2"
        (default: none).
    idle_ranks
        "rest" (default): ranks that exchange nothing do not participate, and need not call. "lead":
        they may lead for their region, and must make the same calls as other ranks, with the same
        blocks. This helps on coarse levels of multigrid, where few ranks have rows. Applies to
        halos and graphs.
    exchange
        The method of sparse exchanges, and of `Graph.from_destinations` and `Graph.from_sources`:
        "automatic" (default), "personalized", "nonblocking", "locality" or "locality-personalized"
        (see vicinal.h). Applies to these only.
    verify
        True: all ranks prove each new plan together before they use it. This gathers their plans on
        one rank (default False).
    """

    regions: str | Sequence[int] | None = _for(HALO, GRAPH, SPARSE)
    allgather: str | None = _for(COMPLETE_GRAPH)
    choice: str | None = _for(*PLANNED)
    progress: str | None = _for(*PLANNED)
    profile: str | os.PathLike[str] | None = _for(*PLANNED, SPARSE)
    wisdom: str | os.PathLike[str] | None = _for(*PLANNED)

    local: str | None = _for(*PLANNED, SPARSE)
    device_way: str | None = _for(*PLANNED)
    in_flight: int | None = _for(HALO, GRAPH)
    split_bytes: int | None = _for(*PLANNED)
    radix: int | None = _for(*PLANNED)
    plan_after: int | None = _for(*PLANNED)
    bias: str | Mapping[str, float] | None = _for(*PLANNED)
    idle_ranks: str | None = _for(HALO, GRAPH)
    exchange: str | None = _for(GRAPH_FROM_ONE_SIDE, SPARSE)
    verify: bool | None = _for(*PLANNED)


def check_settings(settings: Settings | None) -> None:
    """Refuses an argument `settings` of another type, as Python refuses unknown arguments."""
    if not isinstance(settings, (Settings, type(None))):
        raise TypeError(f"settings is {shown(settings)}; give a vicinal.Settings, such as Settings(regions='numa')")


def info_keys(
    kind: str, strategy: str | None, settings: Settings | None, strategy_key: str = "strategy"
) -> dict[str, str]:
    """Info keys and values that are given for an object of a kind.

    `strategy_key` is the setting to which `strategy` belongs. Raises vicinal.Error for a field that
    does not apply to the kind.
    """
    keys = {} if strategy is None else {f"vicinal_{strategy_key}": str(strategy)}
    if settings is not None:
        for each in fields(settings):
            value = getattr(settings, each.name)
            if value is not None:
                _check_kind(each, kind)
                keys[f"vicinal_{each.name}"] = text_of(each.name, value)
    return keys


def _check_kind(setting: Field[Any], kind: str) -> None:
    kinds = setting.metadata["kinds"]
    if kind in kinds or (kind in GRAPHS and GRAPH in kinds):
        return
    instead = ", or name the planner by strategy" if setting.name == "allgather" and kind == PERSISTENT else ""
    raise Error(f"{kind} cannot use the setting {setting.name}; give it to {' or '.join(kinds)}{instead}", "argument")


def text_of(name: str, value: Any) -> str:
    """The text of a setting's value in the C interface."""
    if name == "regions" and not isinstance(value, str) and isinstance(value, Iterable):
        return "list:" + ",".join(map(str, read_indices(value, "regions").tolist()))
    if name == "bias" and isinstance(value, Mapping):
        return ",".join(f"{planner}:{_factor(planner, factor)}" for planner, factor in sorted(value.items()))
    if name in ("wisdom", "profile"):
        if not isinstance(value, (str, os.PathLike)):
            raise Error(f"{name} is {shown(value)}; give the path of a file", "argument")
        return os.fspath(value)
    if name == "verify" and isinstance(value, bool):
        return str(int(value))
    return str(value)


def _factor(planner: str, factor: Any) -> str:
    try:
        return repr(float(factor))
    except (TypeError, ValueError):
        raise Error(f"bias[{planner!r}] is {shown(factor)}; give a number above 0", "argument") from None
