"""The mutants that `tools/mutants.py` makes by itself, in the lines of a change.

A parser (tree-sitter) identifies the syntax, so an operator is never the bracket of a template, and
never part of a comment or a string. A mutant changes one of

    an operator      < becomes <=, == becomes !=, + becomes -, && becomes ||, `and` becomes `or`; `!` and `not` are removed
    a constant       0 becomes 1, 7 becomes 8, true becomes false
    a statement      a call, an assignment, a throw, `return;`, `break` or `continue` is removed

Declarations stay, because later code would not compile without them. C++ sources are in src, Python
sources in the package.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter
import tree_sitter_cpp
import tree_sitter_python

FOLDERS = {"src": {".cpp", ".hpp"}, "python": {".py"}, "bench": {".py"}}
"""The folders in which mutants are made, with the suffixes of their files."""
OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
    "&&": "||", "||": "&&", "and": "or", "or": "and", "+=": "-=", "-=": "+=",
}
OPERATIONS = {
    "binary_expression", "assignment_expression",  # C++
    "comparison_operator", "boolean_operator", "binary_operator", "augmented_assignment",  # Python
}
NEGATIONS = {"!", "not"}
TRUTHS = {"true": "false", "false": "true", "True": "False", "False": "True"}
STATEMENTS = {"expression_statement", "throw_statement", "raise_statement", "break_statement", "continue_statement"}
LEFT_ALONE = {
    "template_argument_list", "template_parameter_list", "static_assert_declaration", "array_declarator",
    "pure_virtual_clause", "bitfield_clause", "type", "decorator",
}
"""Parts of types and declarations: a change would not compile, or would not change the meaning."""
TESTS_OF = {
    "src/(base|pattern|locality|memory|plan|negotiate|planners|cost)/": ["unit"],
    "src/(mpi|progress|execute|discovery|choose|calibrate|collectives|api)/": ["engine @ 4"],
    "src/interpose/": [
        "preload topologies VICINAL_REGIONS=blocks:2 @ 4",
        "preload requests VICINAL_REGIONS=blocks:2 WITH_VICINAL=1 @ 4",
        "preload allgathers VICINAL_REGIONS=blocks:2 VICINAL_ALLGATHER=hierarchical WITH_VICINAL=1 @ 4",
        "preload waiting VICINAL_REGIONS=blocks:4 VICINAL_STRATEGY=aggregate @ 8",
    ],
    "python/vicinal/": ["pytest test_python_mpi.py"],
    "python/": ["pytest test_command.py"],
    "bench/vicinal_bench/": ["pytest test_bench_neighbor_allgather.py"],
}
"""Tests that must detect a bug in a file, by the first pattern that matches the beginning of its
path."""
CONSTANT = re.compile(r"(\d[\d']*)([uUlLzZ]*)")


@dataclass(frozen=True)
class Edit:
    """One mutant of a file: the bytes from `begin` to `end` become `new`."""

    begin: int
    end: int
    new: str
    line: int
    """The first line of the change, from 1."""
    what: str
    """The change in words."""

    def apply(self, source: bytes) -> bytes:
        """Returns the mutated source."""
        return source[: self.begin] + self.new.encode() + source[self.end :]


def parser(suffix: str) -> tree_sitter.Parser:
    language = tree_sitter_python.language() if suffix == ".py" else tree_sitter_cpp.language()
    return tree_sitter.Parser(tree_sitter.Language(language))


def text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def replaced(node: tree_sitter.Node, new: str) -> Edit:
    what = f"{text(node)} becomes {new}" if new else f"{text(node)} is gone"
    return Edit(node.start_byte, node.end_byte, new, node.start_point.row + 1, what)


def deleted(node: tree_sitter.Node, python: bool) -> Edit:
    """Replaces a statement by an empty one, because the body of an `if` needs a statement."""
    what = f"deleted: {textwrap.shorten(text(node), 60, placeholder='...')}"
    return Edit(node.start_byte, node.end_byte, "pass" if python else "{}", node.start_point.row + 1, what)


def can_go(node: tree_sitter.Node) -> bool:
    """Returns whether `node` is a statement that can be removed from valid code."""
    if node.type == "return_statement":
        return not node.named_children  # with a value, the function needs it
    if node.type not in STATEMENTS:
        return False
    inner = node.named_children[0] if node.named_children else None
    # in Python; an assignment to a name declares it
    if inner is not None and inner.type == "assignment":
        target = inner.child_by_field_name("left")
        return target is not None and target.type in ("attribute", "subscript")
    return inner is None or inner.type not in ("string", "ellipsis", "concatenated_string")


def own_edits(node: tree_sitter.Node, python: bool) -> Iterator[Edit]:
    """Yields the mutants of `node` itself, without those of its children."""
    if node.type in OPERATIONS:
        for child in node.children:
            if not child.is_named and child.type in OPERATORS:
                yield replaced(child, OPERATORS[child.type])
    elif node.type in ("unary_expression", "not_operator") and node.children[0].type in NEGATIONS:
        yield replaced(node.children[0], "")
    elif node.type in ("true", "false"):
        yield replaced(node, TRUTHS[text(node)])
    elif node.type in ("number_literal", "integer"):
        number = CONSTANT.fullmatch(text(node))
        if number:
            yield replaced(node, f"{int(number[1].replace(chr(39), '')) + 1}{number[2]}")
    elif can_go(node):
        yield deleted(node, python)


def edits(source: bytes, suffix: str, lines: set[int] | None = None) -> list[Edit]:
    """Returns all mutants of a source that begin in one of `lines`, counted from 1; None means all
    lines."""
    python = suffix == ".py"
    found: list[Edit] = []

    def visit(node: tree_sitter.Node) -> None:
        found.extend(own_edits(node, python))
        for child in node.children:
            # The line of a directive (#include, #if with its condition) is no code.
            directive = node.type.startswith("preproc_") and child.start_point.row == node.start_point.row
            if child.type not in LEFT_ALONE and not directive:
                visit(child)

    visit(parser(suffix).parse(source).root_node)
    return sorted((it for it in found if lines is None or it.line in lines), key=lambda it: (it.begin, it.end))


def is_source(name: str) -> bool:
    return Path(name).suffix in FOLDERS.get(Path(name).parts[0], set())


def changed_lines(root: Path, base: str) -> dict[str, set[int] | None]:
    """Returns the lines that the working tree adds or modifies since the commit `base`, by file.

    None means that the file is new.
    """
    def git(*words: str) -> str:
        result = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
        return result.stdout if result.returncode == 0 else sys.exit(f"vicinal: {result.stderr.strip()}")

    modified: dict[str, set[int]] = {}
    name = ""
    how = ["--no-ext-diff", "--no-color", "--unified=0", "--dst-prefix=b/", "--diff-filter=d"]
    for line in git("diff", *how, base, "--", *FOLDERS).splitlines():
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
        elif hunk and is_source(name):
            begin, count = int(hunk[1]), int(hunk[2] or 1)
            modified.setdefault(name, set()).update(range(begin, begin + count))
    new = git("ls-files", "--others", "--exclude-standard", "--", *FOLDERS).splitlines()
    return {**modified, **dict.fromkeys(filter(is_source, new))}


def tests_of(root: Path, file: str) -> list[str]:
    """Returns the tests that must detect a bug in `file`; for a Python module those that name it,
    if any."""
    module = re.compile(rf"\bvicinal_(command|bench)[.\w]*(\.| import [^\n]*\b){Path(file).stem}\b")
    naming = [path.name for path in sorted((root / "tests").glob("test_*.py")) if module.search(path.read_text())]
    if re.match("python/vicinal_command/|bench/vicinal_bench/", file) and naming:
        return [f"pytest {' '.join(naming)}"]
    for pattern, tests in TESTS_OF.items():
        if re.match(pattern, file):
            return tests
    sys.exit(f"vicinal: no tests are known for {file}; give them with --tests")
