"""`vicinal preload`, the report, and programs that the library cannot serve: one message, and the
program runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launching import BUILD, QUIET, ROOT, abi_of, requested_mpis, run_ranks
from preloading import LIBRARY, needs_library, preloaded, program
from vicinal import _core
from vicinal_command import preload
from vicinal_command.launch import command, find_mpi

pytestmark = [needs_library, pytest.mark.full]


def vicinal(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "vicinal_command", *map(str, words)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment}
    return subprocess.run(line, env=variables, capture_output=True, text=True, timeout=120)


def test_runs_a_program_under_a_launcher(mpi: str, tmp_path: Path) -> None:
    line, environment = command(find_mpi(mpi), 4, [str(program("requests", mpi))])
    report = tmp_path / "report.json"
    more = {**environment, **QUIET, "VICINAL_REGIONS": "blocks:2", "WITH_VICINAL": "1"}
    result = vicinal("preload", "--report", report, "--", *line, **more)
    assert result.returncode == 0, result.stderr
    assert "right" in result.stdout.splitlines() and "no report" not in result.stderr
    content = json.loads(report.read_text())
    assert content["ranks"] == 4 and content["format"] == 1
    assert any(each["plans"] for each in content["communicators"])


TOOL = """
#include <stdio.h>
#define PASS(name, parameters, arguments)          \\
  long PMPI_##name parameters;                     \\
  static int count_of_##name;                      \\
  long MPI_##name parameters {                     \\
    ++count_of_##name;                             \\
    return PMPI_##name arguments;                  \\
  }
#define NINE long a, long b, long c, long d, long e, long f, long g, long h, long i
PASS(Neighbor_alltoallv, (NINE), (a, b, c, d, e, f, g, h, i))
PASS(Ineighbor_alltoallv, (NINE, long j), (a, b, c, d, e, f, g, h, i, j))
PASS(Dist_graph_create_adjacent, (NINE, long j), (a, b, c, d, e, f, g, h, i, j))
long PMPI_Finalize(void);
long MPI_Finalize(void) {
  fprintf(stderr, "tool: %d %d %d\\n", count_of_Neighbor_alltoallv, count_of_Ineighbor_alltoallv, count_of_Dist_graph_create_adjacent);
  return PMPI_Finalize();
}
"""


@pytest.mark.parametrize("order", ["{tool}", "{tool}:{library}", "{library} {tool}"])
def test_a_tool_sees_all_calls_of_the_program(mpi: str, order: str, tmp_path: Path) -> None:
    """A tool that counts calls and forwards them to PMPI_, as profilers do, preloaded with vicinal
    in any order."""
    source, tool, report = tmp_path / "tool.c", tmp_path / "tool.so", tmp_path / "report.json"
    source.write_text(TOOL)
    compiler = re.search("CMAKE_C_COMPILER:.*=(.*)", (BUILD / "CMakeCache.txt").read_text())
    assert compiler
    # The launcher defines no MPI_ function, which lazy binding never looks up there.
    subprocess.run([compiler[1], "-shared", "-fPIC", "-Wl,-z,lazy", str(source), "-o", str(tool)], check=True)
    line, environment = command(find_mpi(mpi), 4, [str(program("waiting", mpi)), "MPI_Barrier"])
    before = order.format(tool=tool, library=preload.library())
    more = {**environment, **QUIET, "VICINAL_REGIONS": "blocks:2", "LD_PRELOAD": before}
    result = vicinal("preload", "--report", report, "--", *line, **more)
    assert result.returncode == 0 and "right" in result.stdout.splitlines(), result.stderr
    assert result.stderr.count("tool: 12 5 1\n") == 4, result.stderr
    [used] = [each for each in json.loads(report.read_text())["communicators"] if each["calls"]]
    assert {each["function"]: each["calls"] for each in used["calls"]} == {
        "MPI_Neighbor_alltoallv": 12, "MPI_Ineighbor_alltoallv": 5,
    }


MOVING = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
os.chdir(sys.argv[1])
others = [rank for rank in range(world.size) if rank != world.rank]
graph = world.Create_dist_graph([world.rank], [len(others)], others)
for call in range(12):
    assert sorted(graph.neighbor_allgather(world.rank)) == others
graph.Free()
"""


def test_files_are_named_from_where_the_program_began(mpi: str, tmp_path: Path) -> None:
    """The report also names the function by which the program created a graph."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    line = 'cd "$0" && exec "$@"'
    environment = preloaded(VICINAL_REPORT="report", VICINAL_LOG="info:log", VICINAL_STRATEGY="aggregate")
    run_ranks(mpi, 4, ["sh", "-c", line, tmp_path, sys.executable, "-c", MOVING, elsewhere], env=environment)
    assert [each["made_by"] for each in json.loads((tmp_path / "report").read_text())["communicators"]] == ["MPI_Dist_graph_create"]
    assert ": plan " in (tmp_path / "log").read_text()
    assert not list(elsewhere.iterdir())


def test_report_that_cannot_be_written(mpi: str, tmp_path: Path) -> None:
    environment = {"LD_PRELOAD": str(LIBRARY), "VICINAL_REPORT": str(tmp_path / "no" / "report"), **QUIET}
    result = run_ranks(mpi, 2, [program("waiting", mpi), "MPI_Barrier"], env=environment)
    assert "right" in result.output.splitlines()
    assert result.output.count("cannot be written") == 1


def test_a_setting_that_cannot_be_read(mpi: str) -> None:
    result = run_ranks(mpi, 4, [program("waiting", mpi), "MPI_Barrier"], env=preloaded(VICINAL_IN_FLIGHT="99"))
    assert "right" in result.output.splitlines()
    assert result.output.count("the program runs without vicinal: VICINAL_IN_FLIGHT is '99'") == 1


OF_TWO_SIZES = """
from mpi4py import MPI
world = MPI.COMM_WORLD
part = world.Split(0 if world.rank < 3 else MPI.UNDEFINED)
for comm in [world, part] if part else [world]:
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    graph = comm.Create_dist_graph_adjacent(others, others)
    for call in range(12):
        assert sorted(graph.neighbor_allgather(comm.rank)) == others
    graph.Free()
"""


def test_regions_that_do_not_fit_one_of_the_communicators(mpi: str, tmp_path: Path) -> None:
    report = tmp_path / "report"
    environment = preloaded(VICINAL_REGIONS="list:0,0,1,1", VICINAL_REPORT=str(report))
    result = run_ranks(mpi, 4, [sys.executable, "-c", OF_TWO_SIZES], env=environment)
    assert result.output.count("a communicator of MPI_Dist_graph_create_adjacent goes without vicinal: ") == 1
    assert "the program runs without vicinal" not in result.output
    assert [each["ranks"] for each in json.loads(report.read_text())["communicators"]] == [4]


REFUSED = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
others = [rank for rank in range(world.size) if rank != world.rank]
graph = world.Create_dist_graph_adjacent(others, others)
graph.Set_errhandler(getattr(MPI, sys.argv[1]))
places, types = [0, 4, 8], [MPI.INT] * 3
sent, got = bytearray(64), bytearray(64)
def told(what, call):
    try:
        call()
    except MPI.Exception as error:
        if world.rank == 0:
            print(what, error.Get_error_class() == getattr(MPI, what), error.Get_error_string(), sep="|")
    world.Barrier()
wrong = [1, 1, -1]
told("ERR_COUNT", lambda: graph.Neighbor_alltoallw([sent, wrong, places, types], [got, [1] * 3, places, types]))
untyped = [MPI.INT, MPI.DATATYPE_NULL, MPI.INT]
told("ERR_TYPE", lambda: graph.Neighbor_alltoallw([sent, [1] * 3, places, untyped], [got, [1] * 3, places, types]))
told("ERR_COUNT", lambda: graph.Ineighbor_alltoallw([sent, [1] * 3, places, types], [got, wrong, places, types]).Wait())
"""


def test_errors_name_the_function_the_argument_and_the_entry(mpi: str) -> None:
    def told(handler: str, check: bool) -> str:
        # mpi4py calls the large-count functions if MPI has them.
        result = run_ranks(mpi, 4, [sys.executable, "-c", REFUSED, handler], env=preloaded(), check=check)
        assert (result.code == 0) == check
        return result.output.replace("w_c: ", "w: ")

    assert [line.split("|") for line in told("ERRORS_RETURN", True).splitlines() if line.startswith("ERR_")] == [
        ["ERR_COUNT", "True", "MPI_Neighbor_alltoallw: sendcounts[2] is -1; counts must not be negative"],
        ["ERR_TYPE", "True", "MPI_Neighbor_alltoallw: sendtypes[1]: the datatype is MPI_DATATYPE_NULL"],
        ["ERR_COUNT", "True", "MPI_Ineighbor_alltoallw: recvcounts[2] is -1; counts must not be negative"],
    ]
    fatal = "vicinal: MPI_Neighbor_alltoallw: sendcounts[2] is -1; counts must not be negative"
    assert fatal in told("ERRORS_ARE_FATAL", False)


def test_edges_named_by_others_where_a_setting_cannot_be_read(tmp_path: Path) -> None:
    """MPI then finds the edges, as without vicinal. (Open MPI alone fails in this program.)"""
    if "mpich" not in requested_mpis():
        pytest.skip("MPICH is not among the MPIs")
    result = run_ranks("mpich", 4, [program("topologies", "mpich")], env=preloaded(VICINAL_IN_FLIGHT="99"))
    assert "right" in result.output.splitlines()


def test_edges_named_by_others_where_ranks_have_other_profiles(tmp_path: Path) -> None:
    """The discovery method follows from the profile: all ranks must use the same one, or none."""
    if "mpich" not in requested_mpis():
        pytest.skip("MPICH is not among the MPIs")
    profile = tmp_path / "profile.json"
    profile.write_text(_core.Profile.default().to_json().replace("Lassen", "another machine"))
    script = f'[ "$PMI_RANK" = 1 ] && export VICINAL_PROFILE={profile}; exec "$0"'
    result = run_ranks("mpich", 4, ["sh", "-c", script, program("topologies", "mpich")], env=preloaded())
    assert "right" in result.output.splitlines()
    assert "the program runs without vicinal" in result.output


@pytest.mark.parametrize("setting", ["VICINAL_REGIONS=blocks:2", "VICINAL_IN_FLIGHT=2"])
def test_a_setting_of_one_rank_alone(mpi: str, setting: str) -> None:
    """A setting on one rank only, as when a launcher forwards no environment, is reported, and no
    rank waits."""
    script = f'[ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = 1 ] && export {setting}; exec "$0" MPI_Barrier'
    environment = preloaded()
    if "REGIONS" in setting:
        del environment["VICINAL_REGIONS"]
    result = run_ranks(mpi, 4, ["sh", "-c", script, program("waiting", mpi)], env=environment)
    assert "right" in result.output.splitlines()
    assert result.output.count("the program runs without vicinal") == 1, result.output


def test_no_build_for_the_mpi(mpi: str, tmp_path: Path) -> None:
    """The library without its builds for MPIs, as when it was built for another MPI."""
    alone = tmp_path / LIBRARY.name
    shutil.copy(LIBRARY, alone)
    result = run_ranks(mpi, 3, [program("waiting", mpi), "MPI_Barrier"], env={"LD_PRELOAD": str(alone), **QUIET})
    assert "right" in result.output.splitlines()
    assert result.output.count("vicinal: its build for this MPI cannot be loaded") == 1
    assert result.output.count("the program runs without vicinal") == 1


def test_a_library_that_is_missing(mpi: str) -> None:
    result = run_ranks(mpi, 2, [program("waiting", mpi), "MPI_Barrier"], env={"LD_PRELOAD": "/no/libvicinal_mpi.so", **QUIET})
    assert "right" in result.output.splitlines()  # the loader reports it


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_a_program_without_mpi_leaves_no_report_and_a_line(script: str, status: int, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("an older one")
    for result in (
        vicinal("preload", "--report", report, "--", "sh", "-c", script),
        vicinal("preload", "--", "sh", "-c", script, VICINAL_REPORT=str(report)),
    ):
        assert (result.returncode, result.stdout) == (status, "")
        assert result.stderr.count("\n") == 1, result.stderr
        assert f"no report was written to {report}: the program never started MPI" in result.stderr
        assert ("ended before MPI_Finalize" in result.stderr) == (status != 0)
    missing = vicinal("preload", "--report", tmp_path / "no" / "report.json", "--", "echo", "started")
    assert (missing.returncode, missing.stdout) == (2, "") and "cannot write" in missing.stderr


def test_a_program_with_a_report_is_ended_with_the_command(tmp_path: Path) -> None:
    words = ["preload", "--report", tmp_path / "report.json", "--", "sh", "-c", "echo started; exec sleep 1000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "vicinal_command", *map(str, words)], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    assert process.stdout and process.stdout.readline() == "started\n"
    process.terminate()
    assert process.stdout.read() == ""  # the program is gone
    assert process.wait() == 128 + signal.SIGTERM


def test_a_program_with_a_report_ignores_what_the_command_ignores(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "vicinal_command", "preload", "--report", str(tmp_path / "report.json"), "--"]
    line += ["sh", "-c", "kill -HUP $$; kill -HUP $PPID; echo there"]
    result = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *line], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, timeout=120,
    )
    assert (result.returncode, result.stdout) == (0, "there\n")


def test_static_binary(tmp_path: Path) -> None:
    source, binary = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text('#include <stdio.h>\nint main(void) { puts("hello"); return 3; }\n')
    built = subprocess.run(["cc", "-static", str(source), "-o", str(binary)], capture_output=True)
    if built.returncode != 0:
        pytest.skip("there is no static C library")
    result = vicinal("preload", "--", binary)
    assert (result.returncode, result.stdout) == (3, "hello\n")
    assert result.stderr.count("\n") == 1 and "linked statically" in result.stderr


def test_program_of_another_mpi(mpi: str) -> None:
    [found] = preload.objections([str(program("waiting", mpi))], ["something"])
    assert "for which vicinal was not built (it was for: something)" in found
    assert preload.objections([str(program("waiting", mpi))], [abi_of(mpi)]) == []


def test_faults_of_the_command_line() -> None:
    for words, text in ((["preload"], "no command given"), (["preload", "--", "no-such-command"], "no such command")):
        result = vicinal(*words)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1 and text in result.stderr


def test_environment() -> None:
    request = preload.Request(["env"], "report")
    made = preload.environment_for(request, LIBRARY, {"LD_PRELOAD": f"/one.so {LIBRARY}::/other.so", "HOME": "/"})
    assert made["LD_PRELOAD"] == f"/one.so:/other.so:{LIBRARY}" and made["HOME"] == "/"
    assert made["VICINAL_REPORT"] == str(Path("report").absolute())


def test_open_mpi_is_told_what_to_pass_on(mpi: str) -> None:
    launcher = str(find_mpi(mpi).mpiexec)
    line = preload.with_environment_passed_on([launcher, "-n", "2"], {"LD_PRELOAD": "x", "VICINAL_REPORT": "y", "A": "b"})
    passed = ["-x", "LD_PRELOAD", "-x", "VICINAL_REPORT"] if abi_of(mpi) == "openmpi" else []
    assert line == [launcher, *passed, "-n", "2"]


def test_prints_where_the_library_is() -> None:
    result = vicinal("preload", "--library")
    assert Path(result.stdout.strip()).name == LIBRARY.name
