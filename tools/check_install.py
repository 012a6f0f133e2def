"""Install vicinal the ways users do, into a scratch folder, and use it from there.

find_package from a project that enables C alone, pkg-config with nothing but a C compiler, and a
wheel as `pip install .` makes it; each for every MPI of the build folder given.

    python tools/check_install.py build/release
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT / "python"))

from vicinal_command.launch import Mpi, command, find_mpi  # noqa: E402

QUICKLY_BUILT = "-O0 -DNDEBUG"
"""For a wheel of which nothing is timed."""
EXAMPLES = sorted((ROOT / "examples").glob("*.c"))
IMPORT = """
import importlib, sys
from mpi4py import MPI
import vicinal
importlib.import_module("vicinal._mpi_" + sys.argv[1])
assert "python/vicinal" not in vicinal.__file__, vicinal.__file__
if MPI.COMM_WORLD.rank == 0:
    print(vicinal.__file__, MPI.Get_library_version().split(",")[0].split()[0])
"""
COMMAND = """
import sys
from importlib.metadata import entry_points
[script] = entry_points(group="console_scripts", name="vicinal")
main = script.load()
assert "python/vicinal" not in main.__code__.co_filename, main.__code__.co_filename
sys.exit(main(["strategies"]))
"""


def run(words: Sequence[object], **options: object) -> None:
    """Run a command; its output is shown only when it fails, and then ends the check."""
    line = [str(word) for word in words]
    result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload]
    if result.returncode != 0:
        sys.exit(f"vicinal: {' '.join(line)}\n{result.stdout}\nvicinal: install-check failed")


def run_ranks(mpi: Mpi, words: Sequence[object], **environment: str) -> None:
    line, variables = command(mpi, 2, [str(word) for word in words])
    run(line, env={**variables, **environment}, timeout=300, cwd="/")


def check_cmake(prefix: Path, scratch: Path, mpi: Mpi) -> None:
    folder = scratch / f"consumer-{mpi.abi}"
    run([BIN / "cmake", "-S", ROOT / "tests" / "install", "-B", folder, "-G", "Ninja",
         f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}", f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DEXAMPLES={ROOT / 'examples'}", f"-DABI={mpi.abi}"])
    run([BIN / "cmake", "--build", folder])
    for source in EXAMPLES:
        run_ranks(mpi, [folder / source.stem])
    print(f"find_package(vicinal COMPONENTS {mpi.abi}) from C: {len(EXAMPLES)} programs built and run")


def check_pkgconfig(prefix: Path, scratch: Path, mpi: Mpi) -> None:
    tool = shutil.which("pkg-config") or shutil.which("pkgconf")
    if tool is None:
        print("pkg-config: not on this machine, not checked")
        return
    [folder] = prefix.glob("lib*/**/pkgconfig")
    answer = subprocess.run([tool, "--cflags", "--libs", f"vicinal-{mpi.abi}"], check=True, text=True,
                            capture_output=True, env={**os.environ, "PKG_CONFIG_PATH": str(folder)})
    for source in EXAMPLES:
        program = scratch / f"{source.stem}-{mpi.abi}"
        run(["cc", source, "-o", program, *shlex.split(answer.stdout), "-lm"])
        run_ranks(mpi, [program])
    print(f"pkg-config vicinal-{mpi.abi}: {len(EXAMPLES)} programs built and run")


def check_wheel(scratch: Path, mpis: Sequence[Mpi]) -> None:
    """For the standard's own ABI the module is there, but mpi4py's wheels have none that it could be imported beside."""
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", scratch,
         f"--config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE={QUICKLY_BUILT}", ROOT])
    [wheel] = scratch.glob("vicinal-*.whl")
    site = scratch / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for mpi in mpis:
        assert list((site / "vicinal").glob(f"_mpi_{mpi.abi}.*")), f"{wheel.name} has no module for {mpi.abi}"
    imported = [mpi for mpi in mpis if mpi.abi != "abi"]
    for mpi in imported:
        run_ranks(mpi, [sys.executable, "-c", IMPORT, mpi.abi], PYTHONPATH=str(site))
    run([sys.executable, "-c", COMMAND], env={**os.environ, "PYTHONPATH": str(site)}, cwd="/")
    print(f"{wheel.name}: its command run, imported under {', '.join(mpi.abi for mpi in imported)}")


def main(build: Path) -> None:
    system = "system" if build.name == "system-mpi" else None
    libraries = sorted((build / "lib").glob("libvicinal-*.so"))
    abis = [library.stem.removeprefix("libvicinal-") for library in libraries]
    mpis = [find_mpi(abi if abi == "abi" else system or abi) for abi in abis]
    with tempfile.TemporaryDirectory(prefix="vicinal check-") as folder:
        scratch = Path(folder)
        prefix = scratch / "prefix"
        run([BIN / "cmake", "--install", build, "--prefix", prefix])
        strangers = [path for path in prefix.rglob("*") if re.search(r"\.pyi?$|^_(core|mpi)|python", path.name)]
        if strangers:
            sys.exit(f"vicinal: parts of Python in a prefix for C: {', '.join(map(str, strangers))}")
        for mpi in mpis:
            check_cmake(prefix, scratch, mpi)
            check_pkgconfig(prefix, scratch, mpi)
        check_wheel(scratch, mpis)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
