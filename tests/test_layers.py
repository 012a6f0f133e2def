"""Checks the layers of docs/architecture.md and the Python packages by reading the sources.

A single upward include breaks a layer. A single MPI call outside src/mpi breaks the promise that
all other code runs on virtual ranks.
"""

from __future__ import annotations

import ast
import pydoc
import re
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest
import vicinal

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PYTHON = ROOT / "python"
PACKAGES = {"vicinal": PYTHON, "vicinal_command": PYTHON, "vicinal_bench": ROOT / "bench"}
"""The folder of each Python package."""

# Each layer, and the layers that it may include besides itself. The first group knows nothing of
# MPI.
CORE = {
    "base": set(),
    "memory": {"base"},
    "locality": {"base", "memory"},
    "pattern": {"base", "memory", "locality"},
    "plan": {"base", "memory", "locality", "pattern"},
    "cost": {"base", "memory", "locality", "pattern", "plan"},
    "negotiate": {"base", "memory", "locality", "pattern", "plan", "cost"},
    "planners": {"base", "memory", "locality", "pattern", "plan", "cost", "negotiate"},
}
# The MPI layer transports the planners' messages and shares the arena. It sees their data types,
# but no code that decides what to send.
OVER_MPI = {
    "mpi": {"base", "memory", "locality"},
    "progress": {"mpi"},
    "discovery": {"mpi", "progress"},
    "execute": {"mpi", "progress", "discovery"},
    "choose": {"mpi", "progress", "discovery", "execute"},
    "calibrate": {"mpi", "progress"},
    "collectives": {"mpi", "progress", "discovery", "execute", "choose"},
    "api": {"mpi", "progress", "discovery", "execute", "choose", "calibrate", "collectives"},
    "interpose": {"mpi", "progress", "discovery", "execute", "choose", "collectives", "api"},
}
ALLOWED = CORE | {
    layer: below if layer == "mpi" else below | set(CORE) for layer, below in OVER_MPI.items()
}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"/]+)/', re.MULTILINE)
MPI_HEADER = re.compile(r"^\s*#\s*include\s*[<\"](mpi\.h|vicinal/vicinal\.h\w*)[>\"]", re.MULTILINE)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# A definition at the left margin is in the namespace itself.
TYPE_OR_NAMESPACE = re.compile(
    r"^namespace (?P<opened>[\w:]+) *\{|^(?P<closed>\})  // namespace [\w:]+$"
    r"|^(?:enum class|enum|struct|class|union) (?:alignas\(.*?\) )?(?P<type>\w+)(?: final)?(?: : [^;{]+)? *\{",
    re.MULTILINE,
)
UNNAMED = re.compile(r"^namespace \{.*?^\}(?:  // namespace)?$", re.MULTILINE | re.DOTALL)
HANDLES = "Aint|Comm|Count|Datatype|Errhandler|File|Fint|Group|Info|Message|Offset|Op|Request|Session|Status|Win"
MPI_CALL = re.compile(rf"\bP?MPI_(?!(?:{HANDLES})\b)[A-Z][a-z_]+\w*\s*\(")


def sources() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*") if path.suffix in {".hpp", ".cpp", ".h", ".c"})


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_of(text: str) -> str:
    """Returns the text without comments and strings, with its line numbers kept."""
    return COMMENT_OR_STRING.sub(lambda match: "\n" * match.group().count("\n"), text)


@pytest.mark.parametrize("path", sources(), ids=identify)
def test_includes_only_layers_below(path: Path) -> None:
    layer = layer_of(path)
    assert layer in ALLOWED, f"src/{layer} is no layer this test knows: add it to its place in the order"
    text = path.read_text()
    reached = {name for name in INCLUDE.findall(text) if name in ALLOWED}
    forbidden = reached - ALLOWED[layer] - {layer}
    assert not forbidden, f"{layer} must not include {', '.join(sorted(forbidden))}"
    if layer in CORE:
        assert not MPI_HEADER.search(text), f"{layer} is MPI-free and must not include MPI's or the public header"


@pytest.mark.parametrize("path", [p for p in sources() if layer_of(p) != "mpi"], ids=identify)
def test_calls_mpi_only_in_its_layer(path: Path) -> None:
    code = code_of(path.read_text())
    calls = [f"line {code[:call.start()].count(chr(10)) + 1}: {call.group()}" for call in MPI_CALL.finditer(code)]
    assert not calls, "MPI is called outside src/mpi:\n" + "\n".join(calls)


def test_types_have_names_of_their_own() -> None:
    """Two types of one name break the one-definition rule: the linker keeps one of their functions.

    Compilers report this only if one source sees both types. Otherwise a vector of one type may run
    the functions of the other.
    """
    definitions: dict[str, list[str]] = {}
    for path in sources():
        spaces: list[str] = []
        for found in TYPE_OR_NAMESPACE.finditer(UNNAMED.sub("", path.read_text())):
            if found["opened"]:
                spaces.append(found["opened"])
            elif found["closed"]:
                spaces.pop()
            else:
                definitions.setdefault("::".join([*spaces, found["type"]]), []).append(identify(path))
    assert len(definitions) > 100, "the pattern no longer finds the sources' types"
    twice = {name: files for name, files in definitions.items() if len(files) > 1}
    assert not twice, "\n".join(f"{name} is defined in {', '.join(files)}" for name, files in twice.items())


def test_documentation_names_every_layer() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    named = {name for block in blocks for name in re.findall(r"\bsrc/(\w+)/", block)}
    folders = {layer_of(path) for path in sources()}
    assert named == folders, (
        f"docs/architecture.md's list and src/ differ: only in the list {sorted(named - folders)}, "
        f"only in src/ {sorted(folders - named)}"
    )
    assert folders <= set(ALLOWED)


def python_modules() -> dict[str, Path]:
    """Returns the modules of all packages by name."""
    names = {
        path: ".".join(path.relative_to(folder).with_suffix("").parts)
        for package, folder in PACKAGES.items()
        for path in (folder / package).rglob("*.py")
    }
    return {name.removesuffix(".__init__"): path for path, name in sorted(names.items())}


MODULES = python_modules()
OVER_LIBRARY = [name for name in MODULES if name.partition(".")[0] != "vicinal"]


def imports_of(name: str) -> set[str]:
    """Returns the full names of a module's imports from the tree's packages, also inside functions
    and for types."""
    path = MODULES[name]
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return {each for each in found if each.partition(".")[0] in MODULES}


def module_of(name: str) -> str:
    """Returns the module that defines this name, or has it."""
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def test_python_modules_import_in_no_circle() -> None:
    imported = {name: {module_of(each) for each in imports_of(name)} - {name} for name in MODULES}
    assert sum(map(len, imported.values())) > 100, "the sources' imports are no longer found"
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        pytest.fail(f"each is imported by the next: {', '.join(error.args[1])}")


def test_library_does_not_know_the_command() -> None:
    paths = [*(PYTHON / "vicinal").rglob("*.py"), *(PYTHON / "bindings").iterdir()]
    assert not [identify(path) for path in paths if re.search("vicinal_(command|bench)", path.read_text())]


def test_command_works_without_benchmarks() -> None:
    """The wheel has the command without the benchmarks, and only cli.py looks for them."""
    of_command = [name for name in MODULES if name.startswith("vicinal_command")]
    users = [name for name in of_command if any(each.startswith("vicinal_bench") for each in imports_of(name))]
    assert users == ["vicinal_command.cli"]


@pytest.mark.parametrize("name", OVER_LIBRARY)
def test_command_uses_what_programs_may(name: str) -> None:
    """Besides the public interface, command and benchmarks use virtual ranks and calibration, which
    programs do not need."""
    public = {f"vicinal.{each}" for each in (*vicinal.__all__, "__version__", "_core")}
    public |= {f"vicinal._calibration.{each}" for each in ("Pair", "calibrator", "effort")}
    scatters = ("ApplicationWay", "Contestant", "Gpu", "Vectors", "count_gpus", "gpu")
    public |= {f"vicinal._scatters.{each}" for each in scatters}
    of_library = {each for each in imports_of(name) if each.partition(".")[0] == "vicinal"}
    internal = {each for each in of_library - public if not each.startswith("vicinal._core.")}
    assert not internal, f"{', '.join(sorted(internal))}: not for programs, nor for the command"


@pytest.mark.parametrize("name", [name for name in OVER_LIBRARY if ".ranks." in name])
def test_ranks_of_the_command_need_little_of_it(name: str) -> None:
    """These modules are imported by many processes, and must not disturb a measurement."""
    others = {module_of(each) for each in imports_of(name) if module_of(each) in OVER_LIBRARY}
    assert all(".ranks." in each for each in others), others


def test_help_shows_no_internal_module() -> None:
    [contents] = re.findall(r"^PACKAGE CONTENTS\n(.*?)\n\n", pydoc.plain(pydoc.render_doc(vicinal)), re.M | re.S)
    names = [line.strip() for line in contents.splitlines()]
    assert "_halo" in names
    assert not [name for name in names if not name.startswith("_")]
