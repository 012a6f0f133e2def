"""GPU tests that need a vendor's compiler, a GPU, or device arrays of the simulated driver."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from counting import Totals, check_cases
from launching import BUILD, ROOT, Result, abi_of, run_command, run_ranks

pytestmark = pytest.mark.full

PATH = os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "mpi")])


def nvrtc_folder() -> Path:
    """Returns the folder of NVIDIA's run-time compiler, which can be installed as a package."""
    found = importlib.util.find_spec("nvidia")
    for place in found.submodule_search_locations or [] if found else []:
        folder = Path(place) / "cuda_nvrtc" / "lib"
        if folder.is_dir():
            return folder
    pytest.skip("needs NVIDIA's run-time compiler: pip install nvidia-cuda-nvrtc-cu12")


def test_nvidias_compiler_compiles_the_kernels() -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(nvrtc_folder())}
    program = [str(BUILD / "bin" / "vicinal_unit_tests"), "vendors_compilers_compile_the_kernels"]
    check_one(run_command(program, environment, 120))


# For each of 5 widths two of words, one of pieces and one of many; sums of 6 types; minima and
# maxima of 10.
KERNELS = 43

# Declarations that AMD's compiler has in its headers.
SURROUNDINGS = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
struct Three { unsigned x, y, z; };
extern const __attribute__((device)) Three threadIdx, blockIdx, blockDim, gridDim;
__device__ void __syncthreads();
__device__ void __threadfence_system();
__device__ unsigned atomicAdd(unsigned*, unsigned);
"""


def test_clang_compiles_the_kernels_for_amd(tmp_path: Path) -> None:
    """Compiles to a device's intermediate code, because without ROCm there is nothing to link it
    with."""
    clang = shutil.which("clang++")
    if clang is None:
        pytest.skip("needs clang++, of which AMD's compiler is made")
    (tmp_path / "surroundings.hpp").write_text(SURROUNDINGS)
    options = ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpulib", "-nogpuinc", "-std=c++17", "-Wall"]
    code = tmp_path / "kernels.ll"
    source = ROOT / "src" / "memory" / "device" / "kernels.cu"
    line = [clang, *options, "-include", str(tmp_path / "surroundings.hpp"), "-S", "-emit-llvm", str(source), "-o", str(code)]
    result = run_command(line, dict(os.environ), 120)
    assert result.code == 0 and "warning" not in result.output, result.output
    kernels = re.findall(r"^define .*amdgpu_kernel .*@(\w+)\(", code.read_text(), re.MULTILINE)
    assert len(kernels) == KERNELS, kernels


@pytest.mark.parametrize("architecture", ["gfx908", "gfx90a", "gfx1030"])
def test_amds_compiler_compiles_the_kernels(architecture: str, tmp_path: Path) -> None:
    """Compiles to code that a device loads, with hipRTC's built-in headers."""
    hipcc = shutil.which("hipcc")
    if hipcc is None:
        pytest.skip("needs AMD's compiler: apt-get install hipcc libamdhip64-dev rocm-device-libs")
    code = tmp_path / "kernels.hsaco"
    source = ROOT / "src" / "memory" / "device" / "kernels.cu"
    options = ["--genco", f"--offload-arch={architecture}", "-O3", "-std=c++17", "-Wall", "-x", "hip"]
    line = [hipcc, *options, "-include", "hip/hip_runtime.h", str(source), "-o", str(code)]
    result = run_command(line, dict(os.environ), 300)
    assert result.code == 0 and "kernels.cu" not in result.output, result.output
    kernels = set(re.findall(rb"(\w+)\.kd\0", code.read_bytes()))
    assert len(kernels) == KERNELS, kernels


def test_jobs_on_the_gpu_of_this_machine() -> None:
    program = [str(BUILD / "bin" / "vicinal_unit_tests"), "gpu_of_this_machine"]
    check_one(run_command(program, dict(os.environ), 280))


@pytest.mark.parametrize("ranks", [1, 4])
def test_exchanges_of_the_gpu_of_this_machine(mpi: str, ranks: int) -> None:
    program = [BUILD / "bin" / f"vicinal_engine_tests_{abi_of(mpi)}", "gpu_of_this_machine"]
    check_one(run_ranks(mpi, ranks, program, timeout=280, check=False))


def check_one(result: Result) -> None:
    """Checks that one case passed; skips the test with the case's reason if it was skipped."""
    skipped = re.search(r"^skipped \w+: (.*)$", result.output, re.MULTILINE)
    if skipped:
        pytest.skip(skipped[1])
    assert "1 passed, 0 failed, 0 skipped" in result.output, result.output


@pytest.mark.parametrize("ranks", [1, 4])
def test_python_takes_arrays_on_a_device(mpi: str, ranks: int, totals: Totals) -> None:
    program = [sys.executable, str(ROOT / "tests" / "mpi" / "run_device_cases.py")]
    driver = str(BUILD / "lib" / "libvicinal_driver_double_cuda.so")
    environment = {"PYTHONPATH": PATH, "VICINAL_DEVICE_DRIVER": driver, "XDG_CACHE_HOME": "nowhere"}
    result = run_ranks(mpi, ranks, program, env=environment, timeout=120, check=False)
    check_cases(result, f"python on a device on {mpi}", totals)


@pytest.mark.parametrize("ranks", [1, 4])
def test_python_takes_arrays_of_libraries_for_gpus(mpi: str, ranks: int, totals: Totals) -> None:
    program = [sys.executable, str(ROOT / "tests" / "mpi" / "run_gpu_cases.py")]
    # By default JAX preallocates most of a GPU's memory, which ranks share here.
    environment = {"PYTHONPATH": PATH, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    result = run_ranks(mpi, ranks, program, env=environment, timeout=280, check=False)
    if re.search(r"^0 passed, 0 failed, \d+ skipped$", result.output, re.MULTILINE):
        pytest.skip("needs a GPU, and CuPy, PyTorch, Numba or JAX")
    check_cases(result, f"python on a GPU on {mpi}", totals)
