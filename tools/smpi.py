"""Executes plans in SimGrid's simulated MPI (SMPI), on a platform derived from a machine's profile.

SMPI's network model is simpler than a profile: one overhead for all messages, one latency per route
and one rate per link. `plain` reduces a profile to that model, and both engines use the reduced
profile.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vicinal._core import Machine, PlanSet, Profile

INTERPRETER = Path(__file__).with_name("smpi_interpret.c")
PACKAGE = "libsimgrid-dev"
ENVELOPE = 16
"""Bytes that SMPI adds to each message."""
RESULT = re.compile(r"^program (\d+) (\S+)$", re.MULTILINE)
ELEMENT_BYTES = 8
PATIENCE = 600
JOBS = 2
"""Number of concurrent simulations, each with one thread."""
# At this speed, set in the platform, a flop takes a nanosecond, as the interpreter expects.
HOST_SPEED = "1Gf"
KINDS = {"send": "s", "receive": "r", "copy": "c", "reduce": "c"}


class SmpiError(RuntimeError):
    """SimGrid is missing or reported an error, which the message states."""


def installed() -> bool:
    return shutil.which("smpicc") is not None and shutil.which("smpirun") is not None


# ---- profile and platform -------------------------------------------------------------------------


@dataclass(frozen=True)
class Plain:
    """A profile that SMPI represents exactly, in seconds and bytes."""

    profile: Profile
    near: float
    """The latency between ranks of a region."""
    far: float
    """The latency between ranks of different regions."""
    seconds_per_byte: float
    port_seconds_per_byte: float
    send_overhead: float
    receive_overhead: float
    eager: int
    """Size in bytes up to which messages are eager."""


def plain(profile: Profile, *, flat: bool) -> Plain:
    """Applies the network's overheads, first latency and last rate to all levels.

    A level other than the network keeps the node's latency, unless the network is flat.
    """
    from vicinal._core import Profile

    facts: dict[str, Any] = json.loads(profile.to_json())
    network = facts["levels"]["network"]
    eager = max((each["up_to"] for each in network["protocols"][:-1] if not each["rendezvous"]), default=0)
    far = network["protocols"][0]["latency"]
    near = far if flat else facts["levels"]["node"]["protocols"][0]["latency"]
    rate = network["protocols"][-1]["seconds_per_byte"]
    for name in facts["levels"]:
        latency = far if name == "network" else near
        alike = {"latency": latency, "seconds_per_byte": rate}
        facts["levels"][name] = {
            **{end: network[end] for end in ("send_overhead", "receive_overhead")},
            "protocols": [{"up_to": eager, **alike, "rendezvous": False}, {**alike, "rendezvous": True}],
        }
    facts |= {"name": f"{facts['name']}, as SMPI knows it", "search": 0, "cores": 0}
    facts.pop("gap", None)  # SMPI shares a link where LogGP delays messages
    return Plain(
        Profile.from_json(json.dumps(facts)), near, far, rate, facts["port_seconds_per_byte"],
        network["send_overhead"], network["receive_overhead"], eager,
    )


def platform(machine: Machine, of: Plain) -> str:
    """Returns the SimGrid platform: a host and a link per rank, and two ports per real host, which
    its ranks share.

    Latencies belong to links without contention, less the time of the envelope's bytes.
    """
    hosts, regions = machine.host_of.tolist(), machine.region_of.tolist()
    ranks = range(machine.size)
    spent = ENVELOPE * of.seconds_per_byte
    rate, port = 1 / of.seconds_per_byte, 1 / of.port_seconds_per_byte
    lines = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
             '<platform version="4.1">', '<zone id="machine" routing="Full">']
    lines += [f'<host id="rank{rank}" speed="{HOST_SPEED}"/>' for rank in ranks]
    lines += [f'<link id="link{rank}" bandwidth="{rate!r}Bps" latency="0s"/>' for rank in ranks]
    for host in range(machine.hosts):
        lines += [f'<link id="{way}{host}" bandwidth="{port!r}Bps" latency="0s"/>' for way in ("out", "in")]
    # One link of each kind per rank: SMPI would solve the flows over a common link together.
    wide = f'bandwidth="{1000 * rate!r}Bps" sharing_policy="FATPIPE"'
    lines += [
        f'<link id="{way}{rank}" {wide} latency="{latency - spent!r}s"/>'
        for way, latency in (("near", of.near), ("far", of.far)) for rank in ranks
    ]
    for a in ranks:
        for b in ranks:
            if a == b:
                continue
            near = regions[a] == regions[b] or hosts[a] == hosts[b]
            passed = [f"link{a}", f"near{a}"] if near else [f"link{a}", f"out{hosts[a]}", f"in{hosts[b]}", f"far{a}"]
            links = "".join(f'<link_ctn id="{link}"/>' for link in passed)
            lines.append(f'<route src="rank{a}" dst="rank{b}" symmetrical="NO">{links}</route>')
    return "\n".join([*lines, "</zone>", "</platform>", ""])


def flags(of: Plain, others: Mapping[str, object] | None = None) -> list[str]:
    """Returns SMPI's settings: the profile's parameters, no costs beyond these, and then
    `others`."""
    settings: dict[str, object] = {
        "smpi/os": f"0:{of.send_overhead!r}:0",
        "smpi/ois": f"0:{of.send_overhead!r}:0",
        # SMPI would charge it in request calls, and for eager messages only; so the interpreter
        # spends it.
        "smpi/or": "0:0:0",
        "smpi/async-small-thresh": of.eager + 1,
        "smpi/send-is-detached-thresh": of.eager + 1,
        # By default factors depend on the size, and double a latency.
        "smpi/bw-factor": "0:1",
        "smpi/lat-factor": "0:1",
        "network/crosstraffic": 0,
        # Request calls, clock calls and the interpreter's own computation take no time.
        "smpi/test": 0,
        "smpi/iprobe": 0,
        "smpi/wtime": 0,
        "smpi/simulate-computation": "no",
        "smpi/grow-injected-times": "no",
        "surf/precision": 1e-12,
    } | dict(others or {})
    return [f"--cfg={name}:{value}" for name, value in settings.items()]


# ---- plans ----------------------------------------------------------------------------------------


def operations(plan: dict[str, Any], tags: dict[tuple[int, int, int], int], of: Plain) -> Iterator[str]:
    """Yields a line for each operation of a rank's plan, in the interpreter's format."""
    for it in plan["operations"]:
        kind, peer, tag, size, seconds = it["kind"], -1, 0, 0, 0.0
        if kind not in KINDS:
            raise SmpiError(f"SMPI knows messages only, but a plan of {plan['planner']} has an operation {kind!r}")
        if kind in ("send", "receive"):
            peer, size = it["peer"], it["count"] * ELEMENT_BYTES
            ends = (plan["rank"], peer) if kind == "send" else (peer, plan["rank"])
            tag = tags.setdefault((*ends, it["tag"]), len(tags))
            if kind == "receive":
                seconds = of.receive_overhead
        else:
            seconds = sum(run[2] for run in it["runs"]) * ELEMENT_BYTES * of.profile.copy_seconds_per_byte
        after = "".join(f" {before}" for before in it["after"])
        yield f"{KINDS[kind]} {peer} {tag} {size} {seconds!r} {len(it['after'])}{after}"


def export(plans: PlanSet, of: Plain) -> list[list[str]]:
    """Returns each rank's lines."""
    tags: dict[tuple[int, int, int], int] = {}
    return [[*operations(json.loads(plans.json(rank)), tags, of)] for rank in range(plans.size)]


def busiest(plans: PlanSet, machine: Machine, of: Plain) -> float:
    """Returns the seconds that the busiest link or port needs for the bytes of all its messages."""
    hosts, regions = machine.host_of.tolist(), machine.region_of.tolist()
    seconds: dict[tuple[str, int], float] = {("link", 0): 0.0}
    for rank in range(plans.size):
        for it in json.loads(plans.json(rank))["operations"]:
            if it["kind"] != "send":
                continue
            size, peer = it["count"] * ELEMENT_BYTES, it["peer"]
            passed = {("link", rank): of.seconds_per_byte}
            if regions[rank] != regions[peer] and hosts[rank] != hosts[peer]:
                passed |= dict.fromkeys((("out", hosts[rank]), ("in", hosts[peer])), of.port_seconds_per_byte)
            for way, each in passed.items():
                seconds[way] = seconds.get(way, 0) + size * each
    return max(seconds.values())


def simulate(programs: Sequence[PlanSet], machine: Machine, of: Plain, folder: Path) -> list[float]:
    """Returns the plans' simulated times in seconds; equal plans are executed once."""
    folder.mkdir(parents=True, exist_ok=True)
    exported = [export(plans, of) for plans in programs]
    keys = ["\n".join("\n".join(lines) for lines in ranks) for ranks in exported]
    different = {key: ranks for key, ranks in zip(keys, exported, strict=True)}
    # A program begins long after all previous ones have ended.
    pause = 4 * max(plans.price(of.profile, ELEMENT_BYTES)["seconds"] for plans in programs)
    largest = max((int(line.split()[3]) for ranks in exported for lines in ranks for line in lines), default=0)
    for rank in range(machine.size):
        text = [f"{len(different)} {largest}"]
        for number, ranks in enumerate(different.values()):
            text += [f"{(number + 1) * pause!r} {len(ranks[rank])}", *ranks[rank]]
        (folder / f"{rank}.txt").write_text("\n".join([*text, ""]))
    run(["smpicc", "-O2", "-o", "interpret", str(INTERPRETER)], folder)
    said = run_ranks(["./interpret", "."], machine, of, folder, ["-no-privatize", *flags(of)])
    found = {int(number): float(seconds) for number, seconds in RESULT.findall(said)}
    if sorted(found) != [*range(len(different))]:
        raise SmpiError(f"of {len(different)} programs SMPI reported {len(found)}")
    times = {key: found[number] for number, key in enumerate(different)}
    return [times[key] for key in keys]


def run_ranks(program: Sequence[str], machine: Machine, of: Plain, folder: Path, options: Sequence[str],
              environment: Mapping[str, str] | None = None) -> str:
    """Returns the output of a program whose ranks SMPI runs on the machine's platform."""
    (folder / "platform.xml").write_text(platform(machine, of))
    (folder / "hosts").write_text("".join(f"rank{rank}\n" for rank in range(machine.size)))
    line = ["smpirun", "-np", str(machine.size), "-platform", "platform.xml", "-hostfile", "hosts", *options, *program]
    return run(line, folder, environment)


_running: set[int] = set()


@contextmanager
def simulations() -> Iterator[ThreadPoolExecutor]:
    """Runs several simulations at once; on an exception, also Ctrl-C or SIGTERM, ends those that
    still run."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(JOBS) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for group in [*_running]:
                end(group)
            raise


def end(group: int) -> None:
    """Ends a process group, because smpirun is a script that its simulation would outlive."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def run(line: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Runs a command and returns its output.

    It runs in `folder`, because smpirun splits paths at their spaces.
    """
    try:
        running = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment, start_new_session=True)
    except FileNotFoundError as error:
        raise SmpiError(f"{line[0]} is missing: install {PACKAGE}") from error
    _running.add(running.pid)
    try:
        said, complaints = running.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise SmpiError(f"`{' '.join(line)}` was still running after {PATIENCE} s") from error
    finally:
        if running.returncode is None:
            end(running.pid)
            running.wait()
        _running.remove(running.pid)
    if running.returncode != 0:
        raise SmpiError(f"`{' '.join(line)}` ended with {running.returncode}:\n{complaints[-2000:]}")
    return said
