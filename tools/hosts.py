"""Runs programs on several isolated hosts on one machine, to measure what a network costs.

A host is a set of Linux namespaces: its own network, host name, processes, System V memory and
/dev/shm. A bridge joins the networks. Ranks of one host share memory; ranks of different hosts
communicate over TCP alone. A login node on the bridge holds the launcher.

An outer, unnamed set of namespaces contains all of this. Its first process dies with this process.
However the run ends, even by SIGKILL, the kernel removes interfaces, mounts and processes. Root
only.

    python tools/hosts.py run [--hosts 4] [--ranks-per-host 8] [--rate MBIT] -- PROGRAM ARGS...
    python tools/hosts.py test      part of the test suite
    python tools/hosts.py bench     the benchmarks that say `// hosts: yes`
    python tools/hosts.py vicinal -- bench neighbor-allgather      the command, with its ranks on the hosts
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from vicinal_command.launch import LauncherError, Mpi, find_mpi  # noqa: E402

# From <linux/sched.h> and <sys/prctl.h>.
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
PR_SET_PDEATHSIG = 1

TOOLS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "mount": "mount"}
# Each host, and the login node, mounts its own file system here.
STATE = Path("/dev/shm")
AGENT = STATE / "agent"
# Acts as `ssh HOST COMMAND...`, with namespaces instead of a network.
AGENT_SCRIPT = f"""#!/bin/sh
host=$1
shift
exec nsenter --target "$(cat {STATE}/$host)" --net --uts --ipc --mount --pid sh -c "$*"
"""
ISOLATION = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
near = world.Split_type(MPI.COMM_TYPE_SHARED)
seen = world.allgather((MPI.Get_processor_name(), near.size))
hosts = dict(seen)
expected = (int(sys.argv[1]), int(sys.argv[2]))
if (len(hosts), *set(hosts.values())) != expected or len(set(seen)) != len(hosts):
    sys.exit(f"isolation: expected {expected[0]} hosts of {expected[1]} ranks, found {hosts}")
if world.rank == 0:
    print(f"isolation: shared memory inside a host only: {hosts}")
"""


class HostsError(RuntimeError):
    """Reports that the hosts cannot be set up; the message says what to do."""


@dataclass(frozen=True)
class Shape:
    hosts: int
    ranks_per_host: int
    rate: float | None = None
    """Bandwidth limit of each host in each direction, in Mbit/s; None means no limit."""

    @property
    def names(self) -> list[str]:
        return [f"vicinal-{host}" for host in range(self.hosts)]


def check_machine() -> None:
    if not sys.platform.startswith("linux"):
        raise HostsError("isolated hosts are made of Linux namespaces; run this on Linux")
    if os.geteuid() != 0:
        raise HostsError("isolated hosts need root: run it with sudo (nothing is left behind)")
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            raise HostsError(f"{tool} is missing: install {package} (Debian, Ubuntu: apt install {package})")


# ---- namespaces -----------------------------------------------------------------------------------


def unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise HostsError(f"the kernel gives no new namespaces ({os.strerror(ctypes.get_errno())}); "
                         "a container must be started with --privileged for this")


def system(*command: object) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise HostsError(f"`{' '.join(words)}` failed: {done.stderr.strip()}")


def leave(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def own_mounts() -> None:
    """Replaces machine-wide mounts in new mount and process namespaces."""
    system("mount", "--make-rprivate", "/")
    system("mount", "-t", "proc", "proc", "/proc")
    system("mount", "-t", "tmpfs", "tmpfs", STATE)
    system("ip", "link", "set", "lo", "up")
    # Only the login node uses the agent, but Open MPI's daemons check that it exists.
    AGENT.write_text(AGENT_SCRIPT)
    AGENT.chmod(0o755)


def isolate(inside: Callable[[], int]) -> int:
    """Runs `inside` as the first process of new namespaces, which end with it and with this
    process."""
    unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        leave(guarded(inside))

    def end(number: int, _: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


def guarded(inside: Callable[[], int]) -> int:
    # The parent receives Ctrl-C, too, and ends this process from outside.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        own_mounts()
        socket.sethostname("vicinal-login")
        return inside()
    except (HostsError, LauncherError) as fault:
        print(f"vicinal: {fault}", file=sys.stderr)
        return 1


def start_host(name: str) -> int:
    """Starts the first process of a host, which holds its namespaces; returns its process
    number."""
    ready, tell = os.pipe()
    if os.fork() == 0:
        try:
            unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC)
            pid = os.fork()
            if pid == 0:
                socket.sethostname(name)
                own_mounts()
                os.write(tell, b"ready\n")
                os.close(tell)
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans of the host are reaped
                while True:
                    signal.pause()
            os.write(tell, f"{pid}\n".encode())
        except HostsError as fault:
            print(f"vicinal: {fault}", file=sys.stderr)
            leave(1)
        leave(0)
    os.close(tell)
    with os.fdopen(ready) as answer:
        words = answer.read().split()
    if "ready" not in words:
        raise HostsError(f"host {name} could not be set up")
    return next(int(word) for word in words if word.isdigit())


def limit_rate(device: str, rate: float, enter: Sequence[str] = ()) -> None:
    system(*enter, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{rate}mbit",
           "burst", "128kb", "latency", "100ms")


def start_hosts(shape: Shape) -> None:
    """Creates the bridge and the hosts, and writes the files by which the agent finds them."""
    # The bridge is the login node's interface, and has the same name as other interfaces, as
    # launchers expect.
    system("ip", "link", "add", "eth0", "type", "bridge")
    system("ip", "addr", "add", "10.77.0.1/24", "dev", "eth0")
    system("ip", "link", "set", "eth0", "up")
    # Names for this mount namespace and its children; the machine's own file stays untouched.
    table = STATE / "etc-hosts"
    lines = ["127.0.0.1 localhost", "10.77.0.1 vicinal-login"]
    lines += [f"10.77.0.{10 + host} {name}" for host, name in enumerate(shape.names)]
    table.write_text("\n".join(lines) + "\n")
    system("mount", "--bind", table, "/etc/hosts")
    for host, name in enumerate(shape.names):
        pid = start_host(name)
        (STATE / name).write_text(str(pid))
        port, enter = f"port{host}", ("nsenter", "--target", str(pid), "--net")
        system("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", pid)
        system("ip", "link", "set", port, "master", "eth0", "up")
        system(*enter, "ip", "addr", "add", f"10.77.0.{10 + host}/24", "dev", "eth0")
        system(*enter, "ip", "link", "set", "eth0", "up")
        if shape.rate is not None:
            limit_rate(port, shape.rate)
            limit_rate("eth0", shape.rate, enter)


# ---- launching ------------------------------------------------------------------------------------


def launcher_arguments(mpi: Mpi, shape: Shape) -> list[str]:
    """Returns the launcher's arguments for the use of all hosts over TCP, without the number of
    ranks."""
    slots = ",".join(f"{name}:{shape.ranks_per_host}" for name in shape.names)
    if mpi.kind == "hydra":
        return ["-hosts", slots, "-launcher", "rsh", "-launcher-exec", str(AGENT), "-iface", "eth0"]
    # Open MPI 5 has separate options for its launching layer, and renamed two components since
    # version 4.
    new = mpi.kind == "prrte"
    layer, plm, shared = ("--prtemca", "plm_ssh", "sm") if new else ("--mca", "plm_rsh", "vader")
    return ["--host", slots, "--bind-to", "none",
            "--map-by", f"ppr:{shape.ranks_per_host}:node:OVERSUBSCRIBE",
            layer, f"{plm}_agent", str(AGENT), layer, f"{plm}_no_tree_spawn", "1",
            "--mca", "pml", "ob1", "--mca", "btl", f"tcp,self,{shared}",
            "--mca", "btl_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1",
            # Without such a network the UCX component is not selected, but it prints a warning per
            # window.
            "--mca", "osc", "^ucx"]


def launch(mpi: Mpi, shape: Shape, program: Sequence[str], extra: Mapping[str, str] | None = None) -> int:
    """Runs `program` on all ranks of all hosts; returns its exit status.

    A host gets a share of this machine's cores, which its ranks cannot detect themselves.
    """
    line = [str(mpi.mpiexec), "-n", str(shape.hosts * shape.ranks_per_host), *launcher_arguments(mpi, shape)]
    cores = str(len(os.sched_getaffinity(0)) / shape.hosts)
    environment = {"VICINAL_CORES": cores, **os.environ, **mpi.env, "TMPDIR": str(STATE), "FI_PROVIDER": "tcp",
                   **(extra or {})}
    return subprocess.run([*line, *program], env=environment, stdin=subprocess.DEVNULL).returncode


def name_of(shape: Shape, mpi: Mpi) -> str:
    return f"{shape.hosts} hosts x {shape.ranks_per_host} ranks of {mpi.abi}"


def build_folder() -> Path:
    return ROOT / os.environ.get("VICINAL_BUILD_DIR", "build/release")


def check_isolation(mpi: Mpi, shape: Shape) -> int:
    probe = [sys.executable, "-c", ISOLATION, str(shape.hosts), str(shape.ranks_per_host)]
    return launch(mpi, shape, probe)


def run_tests(mpi: Mpi, shape: Shape) -> int:
    """Runs the engine tests and the Python tests with separate hosts and a network."""
    failed = check_isolation(mpi, shape)
    engine = build_folder() / "bin" / f"vicinal_engine_tests_{mpi.abi}"
    cases = ROOT / "tests" / "mpi" / "run_cases.py"
    paths = os.pathsep.join([str(ROOT / "python"), str(cases.parent)])
    for program in ([str(engine)], [sys.executable, str(cases)]):
        print(f"== {Path(program[-1]).stem} on {name_of(shape, mpi)}", flush=True)
        # Expected plans must not depend on the machine.
        status = launch(mpi, shape, program, {"PYTHONPATH": paths, "VICINAL_CORES": "0"})
        if status != 0:
            print(f"vicinal: {program[-1]} ended with {status}", file=sys.stderr, flush=True)
        failed |= status
    return 1 if failed else 0


def run_benches(mpi: Mpi, shape: Shape, arguments: Sequence[str]) -> int:
    """Runs the benchmarks that declare that they are for several hosts."""
    where = name_of(shape, mpi)
    names = [source.stem for source in sorted((ROOT / "bench").glob("*.cpp"))
             if re.search(r"^// hosts: yes$", source.read_text(), re.MULTILINE)]
    failed = 0
    for name in names:
        print(f"== {name} on {where}", flush=True)
        program = build_folder() / "bench" / f"{name}_{mpi.abi}"
        failed |= launch(mpi, shape, [str(program), *arguments])
    print(f"{len(names)} benchmarks on {where}: {'failed' if failed else 'done'}")
    return 1 if failed else 0


def run_command(mpi: Mpi, shape: Shape, arguments: Sequence[str]) -> int:
    """Runs the command `vicinal` with its ranks on the hosts."""
    paths = os.pathsep.join([str(ROOT / "python"), str(ROOT / "bench")])
    environment = {**os.environ, "FI_PROVIDER": "tcp", "PYTHONPATH": paths,
                   "VICINAL_MPIEXEC_ARGS": shlex.join(launcher_arguments(mpi, shape))}
    line = [
        str(Path(sys.executable).parent / "vicinal"), *arguments, "--ranks", str(shape.hosts * shape.ranks_per_host)
    ]
    return subprocess.run(line, env=environment, stdin=subprocess.DEVNULL).returncode


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], usage="%(prog)s ACTION [OPTIONS] [-- PROGRAM ARGS...]",
        epilog="After --: what `run` is to run, or what each benchmark is to be given.")
    parser.add_argument("action", choices=("run", "test", "bench", "vicinal"))
    parser.add_argument("--hosts", type=int, default=4, help="how many (default %(default)s)")
    parser.add_argument("--ranks-per-host", type=int, default=8, help="default %(default)s")
    parser.add_argument("--rate", type=float, metavar="MBIT", help="limit each host's network")
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = parser.parse_args(arguments[:end], argparse.Namespace(program=arguments[end + 1:]))
    if given.action in ("run", "vicinal") and not given.program:
        parser.error("say what to run: -- PROGRAM ARGS..., or -- ARGS... of vicinal")
    if not 1 <= given.hosts <= 200 or given.ranks_per_host < 1:
        parser.error("there must be 1 to 200 hosts, and at least one rank on each")
    return given


def main(arguments: Sequence[str]) -> int:
    given = parse(arguments)
    check_machine()
    mpi = find_mpi()
    shape = Shape(given.hosts, given.ranks_per_host, given.rate)
    actions: dict[str, Callable[[], int]] = {
        "run": lambda: launch(mpi, shape, given.program),
        "test": lambda: run_tests(mpi, shape),
        "bench": lambda: run_benches(mpi, shape, given.program),
        "vicinal": lambda: run_command(mpi, shape, given.program),
    }
    action = actions[given.action]

    def inside() -> int:
        start_hosts(shape)
        return action()

    return isolate(inside)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (HostsError, LauncherError) as fault:
        sys.exit(f"vicinal: {fault}")
