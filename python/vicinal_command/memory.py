"""Memory that a process can still get. The kernel kills a process that takes more."""

from __future__ import annotations

import resource
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")

# A group's limit, the usage of its processes, and the reclaimable part of that: names of version 2,
# then of version 1.
NAMES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> int | None:
    """Bytes left by the machine, this process's groups and its own limit; None if unknown."""
    known = [_of_machine(proc), *_of_groups(proc, cgroups), _of_process(proc)]
    return min((bytes_ for bytes_ in known if bytes_ is not None), default=None)


def _of_machine(proc: Path) -> int | None:
    for line in _read(proc / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_process(proc: Path) -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read(proc / "self" / "statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return max(limit - int(pages[0]) * resource.getpagesize(), 0)


def _of_groups(proc: Path, cgroups: Path) -> list[int]:
    """Bytes left by the control groups of this process and by their parents."""
    left = []
    for line in _read(proc / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = cgroups / "memory" if controllers else cgroups
        group = root / path.lstrip("/")
        # In a container, the path may be that of the host, of which only the root is visible.
        for folder in (group, *group.parents):
            if folder == root or root in folder.parents:
                left += _of_group(folder)
    return left


def _of_group(folder: Path) -> list[int]:
    for limit_name, usage_name, reclaimable_name in NAMES:
        limit, usage = _read(folder / limit_name).strip(), _read(folder / usage_name).strip()
        if limit.isdigit() and usage.isdigit():
            fields = dict(line.split() for line in _read(folder / "memory.stat").splitlines() if line)
            return [max(int(limit) - int(usage) + int(fields.get(reclaimable_name, 0)), 0)]
    return []


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
