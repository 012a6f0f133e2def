"""Costs of a GPU's copies and kernels, from the times of the ranks of `vicinal calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .fits import fit_line, typical
from .tables import duration

Floats = npt.NDArray[np.float64]

TASKS = ("to_device", "kernel", "to_host")
"""In the order of measurement, with their names in the profile."""


def device_of(
    gpu: Sequence[str] | None, times: Floats | None, peer: Floats | None, sizes: Sequence[int]
) -> dict[str, Any] | None:
    """The profile's `device`; None without a GPU, or if its kernels could not be compiled.

    `gpu`: its name, the number of GPUs, and a non-empty entry if it has kernels. `times`: seconds
    by repetition, size, task, and begun or done. `peer`: the same array for one task, if ranks can
    access each other's GPU memory.
    """
    if gpu is None or times is None or not gpu[2]:
        return None
    by_task = np.asarray(times).reshape(-1, len(sizes), len(TASKS), 2)
    works = {task: _work(by_task[:, :, number], sizes) for number, task in enumerate(TASKS)}
    if peer is not None:
        works["peer"] = _work(np.asarray(peer).reshape(-1, len(sizes), 2), sizes)
    return {"name": gpu[0], "count": int(gpu[1])} | works


def _work(times: Floats, sizes: Sequence[int]) -> dict[str, float]:
    begun, done = typical(times[:, :, 0]), typical(times[:, :, 1])
    # The time to begin does not depend on the size.
    overhead = float(np.median(begun))
    whole, per_byte = fit_line(sizes, done)
    errors = np.abs(whole + per_byte * np.asarray(sizes) - done) / done
    return {
        "overhead": min(overhead, whole), "latency": max(whole - overhead, 0.0), "seconds_per_byte": per_byte,
        "residual": float(np.median(errors)),
    }


def sentence(gpu: Sequence[str] | None, device: dict[str, Any] | None) -> str:
    """A sentence about the GPU for the output."""
    if gpu is None:
        return (
            "no GPU (VICINAL_LOG=info says which drivers were looked for): the profile has no prices of device memory"
        )
    if device is None:
        return f"{gpu[0]}: its kernels cannot be compiled here (VICINAL_LOG=info says why), so it has not been measured"
    said = {
        "kernel": "a kernel", "to_host": "a copy to the host", "to_device": "a copy back",
        "peer": "a kernel that reaches into another rank's memory",
    }
    parts = [
        f"{said[name]} "
        f"{duration((work['overhead'] + work['latency']) * 1e6)} and {duration(work['seconds_per_byte'] * 1e9)} per kB"
        for name, work in device.items() if name in said
    ]
    messages = "is not given its addresses"
    if "levels" in device:
        messages = "is given its addresses: messages have levels of their own"
    return f"{device['name']} ({device['count']} of each host): {'; '.join(parts)}; MPI {messages}"
