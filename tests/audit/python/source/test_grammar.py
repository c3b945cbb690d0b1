"""Python through tree-sitter gives the trees that `ast` gives, and reads what `ast` cannot."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kontend.audit.python.source.grammar import parse_any
from kontend.audit.python.source.module import Unparsable, parse

SOURCE = Path(__file__).parents[4] / "src" / "kontend"


def _dump(tree: ast.Module) -> str:
    """Dump a tree without what the auditor never looks at: parts of f-strings and messages of asserts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            node.msg = None
        if isinstance(node, ast.Constant):
            node.kind = None
        if isinstance(node, ast.FormattedValue):
            node.conversion, node.format_spec = -1, None
        if isinstance(node, ast.JoinedStr):
            node.values = [value for value in node.values if isinstance(value, ast.FormattedValue)]
    return ast.dump(tree)


@pytest.mark.parametrize("package", ["audit", "cli", "runtime"])
def test_both_parsers_agree_about_the_sources_of_this_project(package: str) -> None:
    compared = 0
    for path in sorted((SOURCE / package).rglob("*.py")):
        source = path.read_bytes()
        tree = ast.parse(source)
        if any(isinstance(node, ast.Match) for node in ast.walk(tree)) or b'rb"' in source:
            continue  # a match statement becomes its parts, and joined bytes an empty string
        again, broken = parse_any(source)
        assert broken == 0
        assert _dump(again) == _dump(tree), path
        compared += 1
    assert compared > 5


@pytest.mark.parametrize(
    "source",
    [
        'f"{", ".join(f"{a["b"]}" for a in x)}"',
        "type Name = dict[str, int]\ncall(1)",
        "def f[T](x: T) -> T:\n    return call(x)",
        "try:\n    call(1)\nexcept* ValueError:\n    pass",
        "print 'python 2'\ncall(1)",
        "match x:\n    case {'a': y}:\n        call(y)",
    ],
)
def test_calls_are_found_in_the_syntax_of_any_version(source: str) -> None:
    tree, broken = parse_any(source.encode())
    assert broken == 0
    assert any(isinstance(node, ast.Call) for node in ast.walk(tree))


def test_positions_are_those_of_the_source() -> None:
    tree, _ = parse_any(b"x = 1\n\nif x:\n    call(\n        x,\n    )\n")
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset) == (4, 4, 6, 5)


def test_what_is_no_python_of_any_version_is_unparsable() -> None:
    with pytest.raises(Unparsable, match="line 2: does not parse as Python"):
        parse("a.py", b"import kopf\ndef f(:\n")
    with pytest.raises(Unparsable, match="line 4: does not parse as Python: '\\(' was never closed"):
        parse("a.py", b"import kopf\nclass A:\n    def f(self):\n        return (\n")
