"""Choice of the compiled module that fits the MPI of this process.

mpi4py decides which MPI that is, at the first import of mpi4py.MPI. Nothing here runs on `import
vicinal`, so that functions without MPI (plans, `vicinal explain`) work without any MPI.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ._types import Native

ABIS = ("mpich", "openmpi", "abi")
"""Names of the modules; `abi` is the MPI standard's own ABI."""
LABELS = {"mpich": "mpich", "impi": "mpich", "openmpi": "openmpi", "mpiabi": "abi"}
VENDORS = {"mpich": ("MPICH", "Intel MPI", "MVAPICH", "MVAPICH2", "Cray MPI"), "openmpi": ("Open MPI",)}


def built() -> list[str]:
    """Returns the kinds of MPI for which this installation has a module."""
    folder = Path(__file__).parent
    found = {path.name.removeprefix("_mpi_").split(".")[0] for path in folder.glob("_mpi_*.so")}
    return sorted(found)


def abi_of(mpi: ModuleType) -> str:
    """Returns mpi4py's kind of MPI: `mpich`, `openmpi`, `abi` (the standard's), or another name."""
    # mpi4py's wheels have a module for each kind, named after it.
    label = re.search(r"MPI\.(mpich|openmpi|mpiabi|impi|msmpi)\b", Path(mpi.__file__ or "").name)
    if label:
        return LABELS.get(label.group(1), label.group(1))
    # mpi4py built from source is linked to one MPI, whose vendor may use several ABIs.
    if hasattr(mpi, "Get_abi_version") and mpi.Get_abi_version()[0] > 0:
        return "abi"
    vendor: str = mpi.get_vendor()[0]
    return next((abi for abi, vendors in VENDORS.items() if vendor in vendors), vendor)


@functools.cache
def native() -> Native:
    """Returns the compiled module. Imports mpi4py.MPI, which initializes MPI."""
    try:
        from mpi4py import MPI
    except ModuleNotFoundError:
        raise ImportError("vicinal's graphs and halos need mpi4py: run `pip install mpi4py`") from None
    abi = abi_of(MPI)
    name = f"vicinal._mpi_{abi}"
    if importlib.util.find_spec(name) is None:
        have = ", ".join(built()) or "none"
        whose = "the MPI standard's own ABI" if abi == "abi" else abi
        mpi = "mpich" if abi == "abi" else abi
        raise ImportError(
            f"mpi4py runs on {whose} ({MPI.__file__}), for which this vicinal has no module (it has: {have}). "
            f"Either build vicinal with that MPI: `pip install . -C cmake.define.VICINAL_MPI={mpi}` (or "
            "=system, with its mpicc on PATH), or start the ranks with another MPI, and let mpi4py find it "
            "by the environment variable MPI4PY_LIBMPI."
        )
    module = cast(Native, importlib.import_module(name))
    # mpi4py finalizes MPI after this, and the progress thread must have ended by then.
    atexit.register(module.stop_threads)
    return module


def is_loaded() -> bool:
    """Returns whether a compiled module is loaded, so that exchanges can be in flight."""
    return any(f"vicinal._mpi_{abi}" in sys.modules for abi in ABIS)


def address_of_comm(comm: Any) -> int:
    """Returns the address at which mpi4py keeps the communicator's handle."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is {comm!r}; give an mpi4py communicator such as mpi4py.MPI.COMM_WORLD")
    return MPI._addressof(comm)
