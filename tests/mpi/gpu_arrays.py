"""GPU arrays of the libraries that are installed and find a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Library:
    """A library, with its conversions from NumPy's arrays to the GPU and back."""

    name: str
    put: Callable[[NDArray[Any]], Any]
    get: Callable[[Any], NDArray[Any]]


def cupy() -> Library:
    module: Any = importlib.import_module("cupy")
    module.zeros(1)
    return Library("cupy", module.asarray, module.asnumpy)


def torch() -> Library:
    module: Any = importlib.import_module("torch")
    module.zeros(1, device="cuda")
    return Library("torch", lambda of: module.from_numpy(of.copy()).cuda(), lambda array: array.cpu().numpy())


def numba() -> Library:
    module: Any = importlib.import_module("numba.cuda")
    module.to_device(np.zeros(1))
    return Library("numba", lambda of: module.to_device(np.ascontiguousarray(of)), lambda array: array.copy_to_host())


def jax() -> Library:
    module: Any = importlib.import_module("jax")
    module.config.update("jax_enable_x64", True)
    device = module.devices("gpu")[0]
    return Library("jax", lambda of: module.device_put(of, device).block_until_ready(), np.asarray)


def libraries() -> dict[str, Library]:
    """Returns the libraries that are installed and find a GPU."""
    found = {}
    for make in (cupy, torch, numba, jax):
        try:
            found[make.__name__] = make()
        except Exception as reason:  # libraries report a missing GPU in many ways
            print(f"no {make.__name__}: {type(reason).__name__}: {str(reason)[:200]}", flush=True)
    return found
