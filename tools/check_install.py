"""Installs vicinal as users do, into a scratch folder, and uses it from there.

Checks every MPI of the build folder with find_package from a project that enables C alone, and with
pkg-config and nothing but a C compiler. Also checks the MPI's own mpicc, mpicxx and mpifort, and a
wheel as `pip install .` makes it, without and with that of the benchmarks. Then builds with
VICINAL_MPI=system for each of Debian's MPIs that is installed, and checks its compilers and the
preload library.

    python tools/check_install.py build/release [--short]

With --short, Debian's Open MPI only, whose header once caused an error.
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

from integration_runs import NotRunError, debian_mpi  # noqa: E402
from vicinal_command.launch import Mpi, command, find_mpi  # noqa: E402

QUICKLY_BUILT = "-O0 -DNDEBUG"
"""For builds that are not timed."""
COMPILERS = {"mpicc": "halo.c", "mpicxx": "linked.cpp", "mpifort": "linked.f90"}
"""The source that each MPI compiler builds: an example, or a program of tests/install."""
DEBIAN = ("openmpi", "mpich")
"""Debian has a command `mpicc.NAME` for each of these."""
FOREIGN = re.compile(r"^(_?Py|_ITM_|__gmon_start__$|__cxa_|__tls_get_addr)")
"""Symbols that the process that loads a library defines, but no MPI."""
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
sys.exit(main(sys.argv[1:]))
"""


def run(words: Sequence[object], **options: object) -> None:
    """Runs a command; if it fails, shows its output and ends the check."""
    line = [str(word) for word in words]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, **options}
    result = subprocess.run(line, **how)  # type: ignore[call-overload]
    if result.returncode != 0:
        sys.exit(f"vicinal: {' '.join(line)}\n{result.stdout}\nvicinal: install-check failed")


def run_ranks(mpi: Mpi, words: Sequence[object], ranks: int = 2, **environment: str) -> None:
    line, variables = command(mpi, ranks, [str(word) for word in words])
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


def symbols(library: Path, *which: str) -> set[str]:
    """Returns the names in a library's dynamic table, except versioned names, which belong to
    system libraries."""
    answer = subprocess.run(["nm", "-D", *which, library], check=True, text=True, capture_output=True)
    return {name for name in (line.split()[-1] for line in answer.stdout.splitlines()) if "@" not in name}


def unresolved(library: Path, libmpi: Path) -> list[str]:
    """Returns the symbols that a library needs but neither its MPI nor the system defines.

    Programs linked with such a library fail to build or run.
    """
    wanted = symbols(library, "--undefined-only") - symbols(libmpi, "--defined-only")
    return sorted(name for name in wanted if not FOREIGN.match(name))


def check_compilers(prefix: Path, scratch: Path, mpi: Mpi, suffix: str = "") -> None:
    """Links programs with the MPI's compilers alone."""
    [folder] = {path.parent for path in prefix.glob("lib*/**/libvicinal-*.so")}
    built = []
    for compiler, source in COMPILERS.items():
        tool = mpi.prefix / "bin" / f"{compiler}{suffix}"
        if not tool.exists():
            continue
        [path] = [path for path in (ROOT / "examples" / source, ROOT / "tests" / "install" / source) if path.exists()]
        program = scratch / f"{compiler}{suffix}-{mpi.abi}"
        # Open MPI's wheel was built elsewhere, and reports that prefix.
        run([tool, path, f"-I{prefix / 'include'}", f"-L{folder}", f"-lvicinal-{mpi.abi}", f"-Wl,-rpath,{folder}",
             "-lm", "-o", program], env={**os.environ, "OPAL_PREFIX": str(mpi.prefix)} if not suffix else None)
        run_ranks(mpi, [program])
        built.append(tool.name)
    print(f"{', '.join(built) or 'no compiler'} of {mpi.prefix}: programs built and run")


def check_debian(name: str, scratch: Path) -> None:
    """Checks the library and the preload library for one of the system's MPIs."""
    try:
        mpi = debian_mpi(name)
    except NotRunError as missing:
        print(f"Debian's {name}: not checked, {missing}")
        return
    compiler = shutil.which(f"mpicc.{name}")
    build, prefix = scratch / f"build-{name}", scratch / f"prefix-{name}"
    run([BIN / "cmake", "-S", ROOT, "-B", build, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={BIN / 'ninja'}",
         "-DVICINAL_MPI=system", f"-DMPI_C_COMPILER={compiler}", "-DVICINAL_TESTS=OFF", "-DVICINAL_PYTHON=OFF",
         "-DVICINAL_PRECOMPILED_KERNELS=OFF", f"-DCMAKE_CXX_FLAGS_RELEASE={QUICKLY_BUILT}"])
    run([BIN / "cmake", "--build", build, "--parallel", os.environ.get("JOBS", "2")])
    run([BIN / "cmake", "--install", build, "--prefix", prefix])
    linked = subprocess.run(["ldd", build / "lib" / f"libvicinal-{name}.so"], text=True, capture_output=True)
    [libmpi] = re.findall(r"=> (\S*/libmpi\w*\.so\S*)", linked.stdout)
    for library in sorted((build / "lib").glob("libvicinal*.so")):
        if strange := unresolved(library, Path(libmpi)):
            sys.exit(f"vicinal: {library.name} needs what {libmpi} does not define: {', '.join(strange)}")
    check_compilers(prefix, scratch, mpi, f".{name}")
    program = scratch / f"unmodified-{name}"
    log = scratch / f"log-{name}"
    run([compiler, ROOT / "tests" / "install" / "unmodified.c", "-w", "-o", program])
    with tempfile.TemporaryDirectory() as folder:  # LD_PRELOAD accepts no path with a space
        preload = Path(folder) / "lib"
        preload.symlink_to(build / "lib")
        run_ranks(mpi, [program], 4, LD_PRELOAD=str(preload / "libvicinal_mpi.so"), VICINAL_REGIONS="blocks:2",
                  VICINAL_LOG=f"info:{log}")
    if ": plan " not in log.read_text():
        sys.exit(f"vicinal: the preload library for {libmpi} has made no plan: {log.read_text()}")
    print(f"Debian's {name}: an unmodified program run with the preload library")


def check_wheel(scratch: Path, mpis: Sequence[Mpi]) -> None:
    """Checks the wheel. No mpi4py wheel exists with which the module for the standard ABI could be
    imported."""
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
    run_command(site, "strategies")
    print(f"{wheel.name}: its command run, imported under {', '.join(mpi.abi for mpi in imported)}")
    check_benchmarks(scratch, site)


def run_command(site: Path, *words: str) -> None:
    """Runs the command of the wheels in `site`."""
    run([sys.executable, "-c", COMMAND, *words], env={**os.environ, "PYTHONPATH": str(site)}, cwd="/")


def check_benchmarks(scratch: Path, site: Path) -> None:
    """Checks that the wheel in `site` has no benchmarks, and that their own wheel adds them."""
    packages = sorted(path.name for path in site.iterdir() if path.is_dir() and path.suffix != ".dist-info")
    if packages != ["vicinal", "vicinal_command"]:
        sys.exit(f"vicinal: the wheel has the packages {', '.join(packages)}")
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", scratch, ROOT / "bench"])
    [wheel] = scratch.glob("vicinal_bench-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    run_command(site, "bench", "sdde", "--count", "--ranks", "16", "--ranks-per-region", "4")
    print(f"{wheel.name}: a benchmark run")


def main(build: Path, debian: Sequence[str]) -> None:
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
            if mpi.abi != "abi":
                check_compilers(prefix, scratch, mpi)
        for name in debian:
            check_debian(name, scratch)
        check_wheel(scratch, mpis)


if __name__ == "__main__":
    main(Path(sys.argv[1]), DEBIAN[:1] if "--short" in sys.argv[2:] else DEBIAN)
