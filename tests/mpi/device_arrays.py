"""Arrays in the memory of the simulated GPU driver, with the interfaces of GPU libraries."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

DOUBLE = ctypes.CDLL(os.environ["VICINAL_DEVICE_DRIVER"])
DOUBLE.driver_double_get.restype = ctypes.c_long


def ask(name: str, *arguments: Any) -> None:
    """Calls a driver function and checks its status."""
    status = getattr(DOUBLE, name)(*arguments)
    assert status == 0, f"{name} gives {status}"


def count(name: str) -> int:
    """Returns one of the simulated driver's counters."""
    return DOUBLE.driver_double_get(name.encode())


@functools.cache
def enter_device() -> None:
    """Makes the device's primary context current for the rest of the process."""
    context = ctypes.c_void_p()
    ask("cuInit", 0)
    ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    ask("cuCtxPushCurrent_v2", context)


class Memory:
    """A block of device memory, freed by its destructor."""

    def __init__(self, size: int) -> None:
        stream, self.address = ctypes.c_void_p(), ctypes.c_void_p()
        enter_device()
        ask("cuStreamCreate", ctypes.byref(stream), 0)
        ask("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(max(size, 1)))
        self.stream = stream
        self.read: NDArray[Any] | None = None

    def __del__(self) -> None:
        self.wait()  # real drivers wait, too
        ask("cuMemFree_v2", self.address)

    def copy(self, to: Any, start: Any, size: int) -> None:
        """Begins a copy."""
        ask("cuMemcpyAsync", ctypes.c_void_p(to), ctypes.c_void_p(start), ctypes.c_size_t(size), self.stream)

    def wait(self) -> None:
        ask("cuStreamSynchronize", self.stream)


class DeviceArray:
    """A device array with the interface that CuPy, Numba and PyTorch have in common."""

    def __init__(self, of: NDArray[Any], stream: bool = False, writable: bool = True) -> None:
        """Copies `of` to the device; with `stream` the copy may still run, and the interface names
        the stream."""
        self.memory = Memory(of.nbytes)
        self.data = self.memory.read = np.array(of, order="K")  # source of the copy
        self.memory.copy(self.memory.address.value, self.data.ctypes.data, of.nbytes)
        self.offset, self.shape, self.strides, self.dtype = 0, of.shape, self.data.strides, of.dtype
        self.tells_stream, self.writable = stream, writable
        if not stream:
            self.memory.wait()

    @property
    def address(self) -> int:
        return (self.memory.address.value or 0) + self.offset

    def __getitem__(self, part: slice) -> DeviceArray:
        other = object.__new__(DeviceArray)
        other.__dict__.update(self.__dict__)
        other.offset = self.offset + (part.start or 0) * self.strides[0]
        other.shape = (len(range(*part.indices(self.shape[0]))), *self.shape[1:])
        return other

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        told = {"stream": self.memory.stream.value} if self.tells_stream else {}
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, not self.writable),
            "strides": self.strides, "version": 3, **told,
        }

    def get(self) -> NDArray[Any]:
        """Returns a copy on the host."""
        result = np.ndarray(self.shape, self.dtype, np.empty(self.data.nbytes, np.uint8), strides=self.strides)
        self.memory.copy(result.ctypes.data, self.address, self.dtype.itemsize * int(np.prod(self.shape)))
        self.memory.wait()
        return result


class Tensor(ctypes.Structure):
    """DLPack's description of a tensor, with its owner."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("dimensions", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
        ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    )


class OnlyDlpackOnDevice:
    """An array that supports DLPack only, as JAX arrays on AMD's devices."""

    def __init__(self, of: DeviceArray) -> None:
        self.of, self.dtype, self.shape = of, of.dtype, of.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        lengths = (ctypes.c_int64 * len(self.shape))(*self.shape)
        self.kept = lengths, Tensor(
            self.of.address, 2, 0, len(self.shape), 2, self.dtype.itemsize * 8, 1, ctypes.addressof(lengths)
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.kept[1]), b"dltensor", None)
