"""Docstrings start with a verb or with the noun that they define."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "kontend"
#: Packages and modules whose prose has been reviewed.
REVIEWED = [
    "__init__.py",
    "plans.py",
    "predicates.py",
    "pytest_plugin.py",
    "testing.py",
    "audit",
    "cli",
    "cluster",
    "controllers",
    "explore",
    "kube",
    "runtime",
]
OPENINGS = ("What ", "Whatever ", "Whether ", "Who ", "Whoever ", "How ", "Which ", "Where ", "When ")


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text is not None:
                yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("name", REVIEWED)
def test_docstrings_do_not_start_with_a_question_word(name: str) -> None:
    path = ROOT / name
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    assert files
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for file in files
        for line, text in docstrings(file)
        if text.startswith(OPENINGS)
    ]
    assert found == []
