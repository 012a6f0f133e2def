"""The library's messages: by default nothing but warnings, and more with VICINAL_LOG."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from launching import BUILD, ROOT, abi_of, run_ranks

pytestmark = pytest.mark.full

LINE = re.compile(r"vicinal: rank (\d+): (.*)")
STRICT = "vicinal_strategy is 'aggregate', but vicinal_progress is 'strict' and no progress thread runs"
HALVING = "vicinal_strategy is 'distance-halving', but it serves allgathers only: it passes on all that"
NOTHING = "has nothing of its own for other regions"
NO_REVERSE = "vicinal_strategy is 'distance-halving', but it cannot serve an exchange with a reverse: it passes on what"
STRICT_CHOICE = "vicinal_choice is 'measure', but vicinal_progress is 'strict' and no progress thread runs"
NO_FILE = "the file of wisdom '/dev/null' is no regular file; what was measured before is not known"
APART = "but of 4 ranks 4 share no memory with others of their node: switched off by VICINAL_SHARED_MEMORY=0"


def said(mpi: str, *asked: str, check: bool = True, **env: str) -> str:
    """Returns the standard output and error of a program that requests these settings."""
    program = BUILD / "c_tests" / f"logged_{abi_of(mpi)}"
    return run_ranks(mpi, 4, [program, *asked], env=env, timeout=60, check=check).output


def lines_of(text: str) -> list[tuple[int, str]]:
    """Returns the rank and text of each line; fails for a line without the log's format, as when
    ranks mix."""
    found = [(line, LINE.fullmatch(line)) for line in text.splitlines()]
    strange = [line for line, match in found if match is None]
    assert not strange, strange
    return [(int(match[1]), match[2]) for _, match in found if match is not None]


@pytest.mark.parametrize("env", [{}, {"VICINAL_LOG": "warn"}, {"VICINAL_SHARED_MEMORY": "0"}])
def test_who_asks_for_nothing_hears_nothing(mpi: str, env: Mapping[str, str]) -> None:
    assert said(mpi, **env) == ""


@pytest.mark.parametrize(("asked", "env", "warnings"), [
    (["vicinal_strategy", "aggregate"], {}, []),
    (["vicinal_strategy", "aggregate", "vicinal_progress", "strict"], {}, [STRICT]),
    ([], {"VICINAL_STRATEGY": "aggregate", "VICINAL_PROGRESS": "strict"}, [STRICT]),
    (["vicinal_strategy", "direct", "vicinal_progress", "strict"], {}, []),
    ([], {"VICINAL_STRATEGY": "distance-halving"}, [HALVING, NO_REVERSE]),
    (["vicinal_choice", "measure", "vicinal_progress", "strict"], {}, [STRICT_CHOICE]),
    (["vicinal_choice", "measure"], {}, []),
    (["vicinal_choice", "adaptive"], {}, []),
    (["vicinal_wisdom", "/nonexistent/wisdom"], {}, []),
    (["vicinal_wisdom", "/dev/null"], {}, [NO_FILE]),
    (["vicinal_progress", "strict"], {}, []),
    (["vicinal_local", "shared"], {}, []),
    (["vicinal_local", "messages"], {"VICINAL_SHARED_MEMORY": "0"}, []),
    (["vicinal_local", "shared"], {"VICINAL_SHARED_MEMORY": "0"}, [f"vicinal_local is 'shared', {APART}"]),
])
def test_what_cannot_be_served_is_said_once_per_job(
    mpi: str, asked: list[str], env: Mapping[str, str], warnings: list[str],
) -> None:
    heard = lines_of(said(mpi, *asked, **env))
    assert [rank for rank, _ in heard] == [0] * len(warnings), heard
    for warning in warnings:
        assert sum(f"warning: {warning}" in text for _, text in heard) == 1, heard


NO_EFFECT = "is no setting of vicinal and has no effect"


@pytest.mark.parametrize(("asked", "env", "warning"), [
    ([], {"VICINAL_STRATGY": "direct"},
     f"the environment variable VICINAL_STRATGY {NO_EFFECT}; did you mean VICINAL_STRATEGY?"),
    ([], {"VICINAL_SPEED": "high"}, f"the environment variable VICINAL_SPEED {NO_EFFECT}"),
    ([], {"VICINAL_ROOT": "/opt/vicinal", "VICINAL_TEST_MPI": "mpich"}, None),
    (["vicinal_stratgy", "direct"], {}, f"the info key vicinal_stratgy {NO_EFFECT}; did you mean vicinal_strategy?"),
    (["vicinal_log", "info"], {}, "the info key vicinal_log has no effect; set the environment variable VICINAL_LOG"),
    (["striping_factor", "4"], {}, None),
])
def test_a_setting_that_is_none_is_said_once(
    mpi: str, asked: list[str], env: Mapping[str, str], warning: str | None,
) -> None:
    assert lines_of(said(mpi, *asked, **env)) == ([] if warning is None else [(0, f"warning: {warning}")])


def test_variables_of_tests_and_python_are_no_mistakes() -> None:
    known = (ROOT / "src" / "base" / "setting.cpp").read_text()
    named = {
        name
        for folder in ("python", "tests", "tools", "bench")
        for path in (ROOT / folder).rglob("*.py")
        for name in re.findall(r"""environ(?:\.get\(|\.pop\(|\[)["'](VICINAL_[A-Z_]+)""", path.read_text())
    }
    assert "VICINAL_BUILD_DIR" in named
    for name in named:
        is_known = name in known or name.lower() in known or name.startswith("VICINAL_TEST_")
        assert is_known, f"the library warns of {name}"


def test_a_line_per_plan_says_what_was_chosen_and_why(mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert said(mpi, VICINAL_LOG=f"info:{log}") == ""
    heard = lines_of(log.read_text())
    assert not any(" took " in text for _, text in heard), "this is for debug"
    offers = [rank for rank, text in heard if "'vicinal calibrate FILE' measures this machine" in text]
    assert offers == [0], heard
    for rank in range(4):
        own = [text for other, text in heard if other == rank]
        assert sum(f": rank {rank} of 4, on 1 node" in text for text in own) == 2, own
        # Per communicator: plans of the request, of the graph's calls of both kinds, and of the
        # halo.
        plans = [text for text in own if text.startswith("plan ")]
        assert len(plans) == 8 and len({text.split()[1] for text in plans}) == 8, own
        for text in plans:
            assert re.search(f" by automatic: (goes by leaders to .* the busiest rank|{NOTHING}); sends ", text), text
        assert sum("of 1 other regions" in text for text in plans) >= 4, plans
        assert sum("; in reverse sends " in text for text in plans) == 2, "the halos'"


def test_a_plan_says_what_it_replaces_and_what_fell_back(mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = {"VICINAL_LOG": f"info:{log}", "VICINAL_SHARED_MEMORY": "0"}
    said(mpi, "vicinal_strategy", "split", "vicinal_progress", "strict", **env)
    plans = [text for _, text in lines_of(log.read_text()) if text.startswith("plan ")]
    replaced = [text for text in plans if " by direct in place of split, since vicinal_progress is 'strict'" in text]
    assert len(replaced) == 2 * 2 * 4, plans  # the graph's calls are planned for its blocking ones
    assert all("; shared memory: switched off by VICINAL_SHARED_MEMORY=0" in text for text in plans), plans
    assert "sends 3 messages" in replaced[0] or "sends 2 messages" in replaced[0], replaced[0]


def test_a_plan_by_automatic_says_in_whose_place_it_is(mpi: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    said(mpi, VICINAL_LOG=f"info:{log}", VICINAL_STRATEGY="distance-halving")
    plans = [text for _, text in lines_of(log.read_text()) if text.startswith("plan ")]
    replaced = [text for text in plans if " by automatic in place of distance-halving, since it " in text]
    assert len(replaced) == len(plans) == 8 * 4, plans
    assert sum("since it cannot serve an exchange with a reverse: " in text for text in plans) == 2 * 4, plans


@pytest.mark.parametrize("choice", ["measure", "adaptive"])
def test_what_was_measured_is_said_and_remembered(mpi: str, choice: str, tmp_path: Path) -> None:
    """Each communicator measures once, and the next program reads the file. Few executions keep the
    first plan."""
    log, wisdom = tmp_path / "log", tmp_path / "wisdom"
    asked = ["vicinal_choice", choice, "vicinal_wisdom", str(wisdom)]
    said(mpi, *asked, VICINAL_LOG=f"info:{log}")
    heard = [text for _, text in lines_of(log.read_text())]
    measured = [text for text in heard if " was measured: " in text]
    if choice == "measure":
        # The second communicator reuses the measurements of the first one.
        assert len(measured) == 2, heard
        for text in measured:
            times = r"(automatic|direct|aggregate|split) \S+ us"
            form = rf"plan \S+ was measured: {times}(, {times})*(; left out before: {times}(, {times})*)?; \S+ is taken"
            assert re.fullmatch(form, text), text
        assert sum(" is known from the file of wisdom: " in text for text in heard) == 2 * 4, heard
        assert wisdom.read_text().startswith("vicinal wisdom 1\n") and wisdom.read_text().endswith("end 2\n")
        log.unlink()
        said(mpi, "vicinal_wisdom", str(wisdom), VICINAL_LOG=f"info:{log}")
        heard = [text for _, text in lines_of(log.read_text())]
        assert sum(" is known from the file of wisdom: " in text for text in heard) == 4 * 4, heard
    else:
        assert not measured and any("(candidate 1) by automatic" in text for text in heard), heard


def test_debugging_says_what_agreeing_has_cost(mpi: str, tmp_path: Path) -> None:
    said(mpi, VICINAL_LOG=f"debug:{tmp_path / 'of-%r'}")
    for rank in range(4):
        heard = lines_of((tmp_path / f"of-{rank}").read_text())
        assert {other for other, _ in heard} == {rank}
        costs = [text for _, text in heard if " supersteps, and " in text]
        assert len(costs) == 8, heard
        for text in costs:
            assert re.fullmatch(r"plan \d+\.\d+\.\d+ took \S+ ms, [1-9]\d* supersteps, and \d+ control messages of this rank", text)


def test_without_a_file_it_is_standard_error(mpi: str) -> None:
    assert sum(text.startswith("plan ") for _, text in lines_of(said(mpi, VICINAL_LOG="info"))) == 32


def test_a_file_that_takes_no_more_is_told_once_per_rank_and_the_log_goes_on(mpi: str) -> None:
    heard = [text for _, text in lines_of(said(mpi, VICINAL_LOG="info:/dev/full"))]
    lost = "warning: the log cannot be written to the file that VICINAL_LOG names, and goes on here: No space left on device"
    assert heard.count(lost) == 4, heard
    assert sum(text.startswith("plan ") for text in heard) == 32


@pytest.mark.parametrize("wish", ["loud", "info:", "info:/nonexistent/log"])
def test_a_wish_that_cannot_be_granted_is_refused(mpi: str, wish: str) -> None:
    assert f"VICINAL_LOG is '{wish}', but " in said(mpi, check=False, VICINAL_LOG=wish)


@pytest.mark.parametrize(("cores", "said_of"), [("2", "; 0.5 of a core for each rank of this one"), ("0", ""), ("4", "")])
def test_ranks_say_where_they_share_cores(mpi: str, cores: str, said_of: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    said(mpi, VICINAL_LOG=f"info:{log}", VICINAL_CORES=cores)
    communicators = [text for _, text in lines_of(log.read_text()) if text.startswith("communicator ")]
    assert communicators and all(text.endswith(f", on 1 node{said_of}") for text in communicators), communicators
