"""The mutants that tools/change_mutants.py makes: which code it mutates, which it skips, and in
which lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from launching import ROOT

pytestmark = pytest.mark.check_all


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """The tool, imported only where these tests run because it needs requirements-dev.txt."""
    sys.path.insert(0, str(ROOT / "tools"))
    import change_mutants

    return change_mutants


def made(maker: ModuleType, source: str, suffix: str = ".cpp", lines: set[int] | None = None) -> list[str]:
    return [f"{edit.line}: {edit.what}" for edit in maker.edits(source.encode(), suffix, lines)]


def test_operators_of_cpp(maker: ModuleType) -> None:
    source = "bool f(int a, int b) {\n  return !(a < b) && a + b != a * b;\n}\n"
    assert made(maker, source) == [
        "2: ! is gone", "2: < becomes <=", "2: && becomes ||", "2: + becomes -", "2: != becomes ==", "2: * becomes /",
    ]


def test_what_is_no_operator_is_left_alone(maker: ModuleType) -> None:
    source = """#include <vector>
#if VICINAL_ABI > 1 && true
// a < 1 && true
/* a + 1; */
template <class T, int n = 3>
std::vector<std::array<T, 4>> f(T&& a, const int* b, char c = '+') {
  static_assert(n > 2);
  using It = std::conditional_t<(n > 3), T, int>;
  It memory[8];
  return g<T>(std::forward<T>(a), *b, "a < 1 && true", -n);
}
#endif
"""
    assert made(maker, source) == []


def test_constants_of_cpp(maker: ModuleType) -> None:
    source = "auto a = f(0, 1'000, 7U, true, 0x10, 1.5);\n"
    assert made(maker, source) == ["1: 0 becomes 1", "1: 1'000 becomes 1001", "1: 7U becomes 8U", "1: true becomes false"]


def test_statements_of_cpp(maker: ModuleType) -> None:
    source = """void f(int& a) {
  int b = g();
  if (b) return;
  a = g(b,
        b);
  return h();
}
"""
    edits = maker.edits(source.encode(), ".cpp")
    assert [f"{edit.line}: {edit.what}" for edit in edits] == ["3: deleted: return;", "4: deleted: a = g(b, b);"]
    assert edits[0].apply(source.encode()).decode() == source.replace("return;", "{}", 1)
    assert edits[1].apply(source.encode()).decode() == source.replace("a = g(b,\n        b);", "{}")


def test_mutants_of_python(maker: ModuleType) -> None:
    source = '''"""A text: 1 < 2."""
@cache(size=3)
def f(a: Literal[1], b: list[int]) -> bool:
    """Says whether 1 < 2."""
    c = a  # 1 < 2
    b.append(c)
    b[0] = c
    if not a and c <= 5:
        raise ValueError(f"{a} < 7")
    return True
'''
    assert made(maker, source, ".py") == [
        "6: deleted: b.append(c)", "7: deleted: b[0] = c", "7: 0 becomes 1", "8: not is gone", "8: and becomes or",
        "8: <= becomes <", "8: 5 becomes 6", '9: deleted: raise ValueError(f"{a} < 7")', "10: True becomes False",
    ]
    for edit in maker.edits(source.encode(), ".py"):
        compile(edit.apply(source.encode()), "f.py", "exec")


def test_only_lines_of_the_change(maker: ModuleType) -> None:
    assert made(maker, "f(\n  1,\n  2);\n", lines={2}) == ["2: 1 becomes 2"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with one commit, and a working tree that differs from it."""
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    for folder in ("src/cost", "tests", "python"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/cost/old.cpp").write_text("int a = 0;\nint b = 1;\nint c = 2;\n")
    (tmp_path / "src/cost/gone.cpp").write_text("int a = 0;\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "Begin")
    (tmp_path / "src/cost/old.cpp").write_text("int a = 0;\nint b = 4;\nint c = 2;\nint d = 5;\n")
    (tmp_path / "src/cost/gone.cpp").unlink()
    (tmp_path / "src/cost/new.hpp").write_text("int e = 6;\nint f = 7;\n")
    (tmp_path / "src/cost/notes.txt").write_text("1\n")
    (tmp_path / "tests/other.cpp").write_text("int g = 8;\n")
    return tmp_path


def test_lines_that_a_change_adds_or_modifies(maker: ModuleType, tree: Path) -> None:
    assert maker.changed_lines(tree, "HEAD") == {"src/cost/old.cpp": {2, 4}, "src/cost/new.hpp": None}
    with pytest.raises(SystemExit, match="vicinal: .*no-such-commit"):
        maker.changed_lines(tree, "no-such-commit")


def test_mutants_of_a_change_are_spread_over_it(maker: ModuleType, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mutants

    monkeypatch.setattr(mutants, "ROOT", tree)
    all_of_them = mutants.make_mutants("HEAD", [], 20, [])
    assert [it.name for it in all_of_them] == [
        "src/cost/new.hpp:1: 6 becomes 7", "src/cost/new.hpp:2: 7 becomes 8",
        "src/cost/old.cpp:2: 4 becomes 5", "src/cost/old.cpp:4: 5 becomes 6",
    ]
    assert all(mutants.places(it, tree) == 1 and it.new != it.old for it in all_of_them)
    assert {str(test) for it in all_of_them for test in it.tests} == {"unit"}
    assert [str(test) for test in mutants.read_tests(["pytest test_reasons.py"])] == ["pytest test_reasons.py"]
    assert mutants.make_mutants("HEAD", [], 2, []) == all_of_them[::2]
    file = str(tree / "src/cost/old.cpp")
    assert mutants.make_mutants("HEAD", [file], 20, []) == all_of_them[2:]
    whole = mutants.make_mutants(None, [file], 20, ["unit price", "engine halo @ 4"])
    assert [it.name.partition(" ")[2] for it in whole] == ["0 becomes 1", "4 becomes 5", "2 becomes 3", "5 becomes 6"]
    assert [str(test) for test in whole[0].tests] == ["unit price", "engine halo on 4 ranks"]


def test_tests_follow_from_the_file(maker: ModuleType) -> None:
    layers = {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert all(maker.tests_of(ROOT, f"src/{layer}/a.cpp") for layer in layers)
    assert maker.tests_of(ROOT, "src/execute/slots.cpp") == ["engine @ 4"]
    assert maker.tests_of(ROOT, "python/vicinal_command/reasons.py") == ["pytest test_reasons.py"]
    assert maker.tests_of(ROOT, "python/vicinal_command/new.py") == ["pytest test_command.py"]
    assert maker.tests_of(ROOT, "bench/vicinal_bench/benchmarks/verdicts.py") == ["pytest test_bench_choice.py"]
    with pytest.raises(SystemExit, match="--tests"):
        maker.tests_of(ROOT, "bench/a.cpp")


def test_a_mutant_that_does_not_compile_is_no_survivor(maker: ModuleType, tree: Path) -> None:
    import mutants

    class Builder:
        """A copy of the tree whose compiler rejects everything."""

        def __init__(self) -> None:
            self.tree = tree

        def make(self, test: object) -> str:
            assert "int a = 9;" in (tree / "src/cost/old.cpp").read_text()
            return "error"

    sound = (tree / "src/cost/old.cpp").read_text()
    tests = mutants.read_tests(["unit"])
    mutant = mutants.Mutant("a", "", "src/cost/old.cpp", sound, sound.replace("int a = 0;", "int a = 9;"), tests)
    verdict = mutants.judge(mutant, Builder(), tests)
    assert (verdict.unbuilt, verdict.caught, verdict.error) == ("error", "", "")
    assert (tree / "src/cost/old.cpp").read_text() == sound
